//! A project's files, as they are on disk, and with others laid over them.

use std::path::{Path, PathBuf};

use crate::project::{File, Files};

/// Files below a directory.
#[derive(Debug)]
pub(super) struct OnDisk {
    root: PathBuf,
    /// In the place of what is on disk.
    over: Vec<File>,
}

impl OnDisk {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), over: Vec::new() }
    }

    pub(super) fn with(root: &Path, over: Vec<File>) -> Self {
        Self { root: root.to_owned(), over }
    }
}

impl Files for OnDisk {
    fn text(&self, path: &str) -> Option<String> {
        let over = self.over.iter().find(|file| file.path == path);
        over.map(|file| file.text.clone()).or_else(|| std::fs::read_to_string(self.root.join(path)).ok())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.extend(self.over.names(directory));
        names.sort();
        names.dedup();
        names
    }
}
