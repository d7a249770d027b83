//! Operator projects as `operator-sdk` lays them out: which files they have, and what becomes of them when a kind is added,
//! when an older project comes over, or when a bundle for OLM is made.
//!
//! All of it is pure: text and descriptions in, text out. `cli::project` reads, asks and writes.

pub mod adopt;
pub mod api;
pub mod bundle;
pub mod diff;
pub mod naming;
pub mod project_file;
pub mod rbac;
pub mod skeleton;
pub mod survey;
pub mod yaml_edit;
pub mod yaml_text;

/// The directory of charts.
pub const CHARTS: &str = "helm-charts";
/// The file that says which chart reconciles which kind.
pub const WATCHES: &str = "watches.yaml";

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the project, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl File {
    /// A file.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

/// What a project has, by path.
pub trait Files {
    /// The text of a file; none: there is no such file, or it is no text.
    fn text(&self, path: &str) -> Option<String>;
    /// The names of the files of a directory, sorted; none of its directories.
    fn names(&self, directory: &str) -> Vec<String>;
}

/// A project in memory.
impl Files for Vec<File> {
    fn text(&self, path: &str) -> Option<String> {
        self.iter().find(|file| file.path == path).map(|file| file.text.clone())
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let below = |file: &File| {
            let name = file.path.strip_prefix(directory)?.strip_prefix('/')?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        let mut names: Vec<String> = self.iter().filter_map(below).collect();
        names.sort();
        names
    }
}
