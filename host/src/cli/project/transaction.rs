//! Many files at once: all of them, or none.
//!
//! They are written into a directory beside their places and moved from there; what stood in a place is kept until all are
//! moved. When a move fails, those before it are taken back.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use super::ProjectCommandError;

/// Files on their way.
#[derive(Debug)]
pub(super) struct Transaction {
    root: PathBuf,
    staging: TempDir,
    moves: Vec<(PathBuf, String)>,
}

/// What has to be done to take a step back.
enum Undo {
    Remove(PathBuf),
    RemoveDirectory(PathBuf),
    Restore { from: PathBuf, to: PathBuf },
}

impl Transaction {
    /// Begins. Where nobody may write, this says so before anything is done.
    pub(super) fn begin(root: &Path) -> Result<Self, ProjectCommandError> {
        let staging = tempfile::Builder::new().prefix(".pilothouse-").tempdir_in(root);
        let staging = staging.map_err(|source| ProjectCommandError::file(root, source))?;
        Ok(Self { root: root.to_owned(), staging, moves: Vec::new() })
    }

    /// A new directory beside the project, in which something can be prepared.
    pub(super) fn workshop(&self, name: &str) -> Result<PathBuf, ProjectCommandError> {
        let path = self.staging.path().join(name);
        fs::create_dir_all(&path).map_err(|source| ProjectCommandError::file(&path, source))?;
        Ok(path)
    }

    /// A text for a place.
    pub(super) fn file(&mut self, path: &str, text: &str) -> Result<(), ProjectCommandError> {
        self.check(path)?;
        let staged = self.staging.path().join(format!("file-{}", self.moves.len()));
        let failed = |source| ProjectCommandError::file(&self.root.join(path), source);
        fs::write(&staged, text).map_err(failed)?;
        if let Ok(old) = fs::metadata(self.root.join(path)) {
            fs::set_permissions(&staged, old.permissions()).map_err(failed)?;
        }
        self.moves.push((staged, path.to_owned()));
        Ok(())
    }

    /// A directory, prepared in the [workshop](Self::workshop), for a place.
    pub(super) fn directory(&mut self, from: PathBuf, path: &str) -> Result<(), ProjectCommandError> {
        self.check(path)?;
        self.moves.push((from, path.to_owned()));
        Ok(())
    }

    /// Refuses places outside of the project.
    fn check(&self, path: &str) -> Result<(), ProjectCommandError> {
        let is_name = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if Path::new(path).components().all(is_name) {
            return Ok(());
        }
        let source = io::Error::other("leads out of the project");
        Err(ProjectCommandError::file(&self.root.join(path), source))
    }

    /// Moves everything to its place.
    pub(super) fn commit(self) -> Result<(), ProjectCommandError> {
        let mut undo: Vec<Undo> = Vec::new();
        for (index, (from, path)) in self.moves.iter().enumerate() {
            let target = self.root.join(path);
            let old = self.staging.path().join(format!("old-{index}"));
            if let Err(source) = place(from, &target, &old, &mut undo) {
                for step in undo.into_iter().rev() {
                    take_back(step);
                }
                return Err(ProjectCommandError::file(&target, source));
            }
        }
        Ok(())
    }
}

fn place(from: &Path, target: &Path, old: &Path, undo: &mut Vec<Undo>) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        make_directories(parent, undo)?;
    }
    match fs::symlink_metadata(target) {
        Ok(there) if there.is_symlink() => {
            return Err(io::Error::other("a symbolic link: what it leads to is not changed"));
        }
        Ok(there) if there.is_dir() != from.is_dir() => {
            let what = if there.is_dir() { "a directory" } else { "a file" };
            return Err(io::Error::other(format!("{what} stands in its place")));
        }
        Ok(_) => {
            fs::rename(target, old)?;
            undo.push(Undo::Restore { from: old.to_owned(), to: target.to_owned() });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            undo.push(Undo::Remove(target.to_owned()));
        }
        Err(error) => return Err(error),
    }
    fs::rename(from, target)
}

fn make_directories(path: &Path, undo: &mut Vec<Undo>) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_directories(parent, undo)?;
    }
    fs::create_dir(path)?;
    undo.push(Undo::RemoveDirectory(path.to_owned()));
    Ok(())
}

/// As far as it goes: whoever reads of the failure has to look anyway.
fn take_back(step: Undo) {
    let _ = match step {
        Undo::Remove(path) if path.is_dir() => fs::remove_dir_all(path),
        Undo::Remove(path) => fs::remove_file(path),
        Undo::RemoveDirectory(path) => fs::remove_dir(path),
        Undo::Restore { from, to } => {
            let _ = if to.is_dir() { fs::remove_dir_all(&to) } else { fs::remove_file(&to) };
            fs::rename(from, to)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(root: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_failure_at_the_last_file_leaves_everything_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("watches.yaml"), "old").unwrap();
        fs::write(root.path().join("config"), "a file where a directory should be").unwrap();
        let mut transaction = Transaction::begin(root.path()).unwrap();
        let chart = transaction.workshop("chart").unwrap();
        fs::write(chart.join("Chart.yaml"), "name: a").unwrap();
        transaction.directory(chart, "helm-charts/a").unwrap();
        transaction.file("watches.yaml", "new").unwrap();
        transaction.file("new/deep/file", "new").unwrap();
        transaction.file("config/role.yaml", "new").unwrap();
        let said = transaction.commit().unwrap_err().to_string();
        assert!(said.contains("config/role.yaml"), "{said}");
        assert_eq!(listing(root.path()), ["config", "watches.yaml"]);
        assert_eq!(fs::read_to_string(root.path().join("watches.yaml")).unwrap(), "old");
    }

    #[test]
    fn files_and_directories_are_replaced_and_nothing_is_left_beside_them() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("helm-charts/a/gone")).unwrap();
        fs::write(root.path().join("Makefile"), "old").unwrap();
        let mut transaction = Transaction::begin(root.path()).unwrap();
        let chart = transaction.workshop("chart").unwrap();
        fs::write(chart.join("Chart.yaml"), "name: a").unwrap();
        transaction.directory(chart, "helm-charts/a").unwrap();
        transaction.file("Makefile", "new").unwrap();
        transaction.commit().unwrap();
        assert_eq!(listing(root.path()), ["Makefile", "helm-charts"]);
        assert_eq!(listing(&root.path().join("helm-charts/a")), ["Chart.yaml"]);
        assert_eq!(fs::read_to_string(root.path().join("Makefile")).unwrap(), "new");
    }

    #[test]
    fn nothing_is_written_outside_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        for path in ["../out", "/etc/out", "config/../../out"] {
            let mut transaction = Transaction::begin(root.path()).unwrap();
            let said = transaction.file(path, "x").unwrap_err().to_string();
            assert!(said.contains("leads out of the project"), "{said}");
            assert!(transaction.directory(root.path().to_owned(), path).is_err());
        }
    }

    #[test]
    fn a_directory_where_a_file_should_go_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("Makefile/inner")).unwrap();
        let mut transaction = Transaction::begin(root.path()).unwrap();
        transaction.file("Makefile", "new").unwrap();
        assert!(transaction.commit().unwrap_err().to_string().contains("a directory stands in its place"));
        assert!(root.path().join("Makefile/inner").is_dir());
    }
}
