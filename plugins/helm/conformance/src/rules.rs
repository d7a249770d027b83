//! A corpus that lies open: a directory for each rule, with a small chart, the flags of `helm template` that it takes
//! and what helm wrote.

use crate::cases::{FLAGS, RELEASE};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Name of the chart's directory in that of a rule.
const CHART: &str = "chart";
/// Name of the chart's archive, where the rule is about archives.
const ARCHIVE: &str = "chart.tgz";
/// What helm wrote: manifests, or its error from `Error: ` on.
const GOLDEN: &str = "golden.txt";
/// Flags of `helm template`, one in a line; optional.
const COMMAND: &str = "command";

/// How an error begins in what helm writes.
pub const ERROR: &str = "Error: ";

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it shows; the name of its directory.
    pub name: String,
    /// Its directory. The program runs there, so flags name files relative to it.
    pub directory: PathBuf,
    /// Flags beside those that all cases have.
    pub flags: Vec<String>,
}

/// The rules in a directory, by their names.
///
/// # Errors
/// Reading the directory.
pub fn rules(directory: &Path) -> io::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for entry in fs::read_dir(directory)? {
        let directory = entry?.path();
        if !directory.join(CHART).is_dir() && !directory.join(ARCHIVE).is_file() {
            continue;
        }
        let command = match fs::read_to_string(directory.join(COMMAND)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            command => command?,
        };
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        rules.push(Rule { name, directory, flags: command.lines().map(str::to_owned).collect() });
    }
    rules.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(rules)
}

impl Rule {
    /// Its chart: a directory, or an archive.
    #[must_use]
    pub fn chart(&self) -> PathBuf {
        self.directory.join(self.chart_name())
    }

    fn chart_name(&self) -> &'static str {
        if self.directory.join(ARCHIVE).is_file() { ARCHIVE } else { CHART }
    }

    /// The arguments of helm, to be run in [`Rule::directory`].
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let fixed = ["template", RELEASE, self.chart_name()].into_iter().chain(FLAGS).map(str::to_owned);
        fixed.chain(self.flags.iter().cloned()).collect()
    }

    /// What helm wrote.
    ///
    /// # Errors
    /// Reading the file.
    pub fn golden(&self) -> io::Result<String> {
        fs::read_to_string(self.directory.join(GOLDEN))
    }

    /// Keeps what helm wrote.
    ///
    /// # Errors
    /// Writing the file.
    pub fn write_golden(&self, text: &str) -> io::Result<()> {
        fs::write(self.directory.join(GOLDEN), text)
    }
}
