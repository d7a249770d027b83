//! A corpus: a directory with `cases.jsonl`, `charts.tar.gz` and `expected.tar.gz`.

use flate2::read::GzDecoder;
use helm_yaml::Duplicates;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// What every case is rendered with, after `helm template RELEASE CHART`.
pub const FLAGS: [&str; 4] = ["--namespace", "demo", "--kube-version", "1.31.0"];

/// Name of the release.
pub const RELEASE: &str = "rel";

/// Why a corpus cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file of it cannot be read.
    #[error("cannot read {file}: {error}")]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A line of `cases.jsonl` is not a case.
    #[error("line {line} of cases.jsonl is no case: {why}")]
    Case {
        /// Its number, from one.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// One call of `helm template`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name; what helm wrote is in `ID.txt`.
    pub id: String,
    /// Directory of the chart among the charts.
    pub chart: String,
    /// Values files, relative to the chart.
    pub values: Vec<String>,
    /// Whether helm refused it; the expected text is then that of the error.
    pub fails: bool,
    /// Whether helm writes something else each time.
    pub random: bool,
}

/// Files by their paths.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// Cases with their charts and what helm wrote.
#[derive(Debug)]
pub struct Corpus {
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// Files of all charts.
    pub charts: Tree,
    expected: Tree,
}

impl Corpus {
    /// Reads a corpus.
    ///
    /// # Errors
    /// [`CorpusError`].
    pub fn open(directory: &Path) -> Result<Self, CorpusError> {
        let file = directory.join("cases.jsonl");
        let text = fs::read_to_string(&file).map_err(|error| CorpusError::Io { file, error })?;
        Ok(Self {
            cases: parse_cases(&text)?,
            charts: unpack(&directory.join("charts.tar.gz"))?,
            expected: unpack(&directory.join("expected.tar.gz"))?,
        })
    }

    /// What helm wrote for a case: manifests, or the text of its error.
    #[must_use]
    pub fn expected(&self, case: &Case) -> Option<&[u8]> {
        self.expected.get(&format!("{}.txt", case.id)).map(Vec::as_slice)
    }

    /// The files of a chart, with paths relative to it.
    pub fn chart<'a>(&'a self, chart: &str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let prefix = format!("{chart}/");
        let files = self.charts.range(prefix.clone()..);
        files.map_while(move |(path, data)| Some((path.strip_prefix(&prefix)?, data.as_slice())))
    }
}

impl Corpus {
    /// The texts in a case's values, any of which a chart may have hashed.
    #[must_use]
    pub fn passwords(&self, case: &Case) -> Vec<String> {
        let mut passwords = Vec::new();
        for name in case.values.iter().map(String::as_str).chain(["values.yaml"]) {
            let data =
                self.charts.get(&format!("{}/{name}", case.chart)).map(Vec::as_slice).unwrap_or_default();
            if let Ok(values) = helm_yaml::yaml_to_json(data, Duplicates::LastWins) {
                collect(&values, &mut passwords);
            }
        }
        passwords.truncate(PASSWORDS);
        passwords
    }
}

/// More are not tried: each takes as long as bcrypt is meant to take.
const PASSWORDS: usize = 100;

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() && !texts.contains(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(values) => values.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

impl Case {
    /// The repository a chart comes from: the first part of its path.
    #[must_use]
    pub fn family(&self) -> &str {
        self.chart.split('/').next().unwrap_or_default()
    }
}

fn parse_cases(text: &str) -> Result<Vec<Case>, CorpusError> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(index, line)| parse_case(line).map_err(|why| CorpusError::Case { line: index + 1, why }))
        .collect()
}

fn parse_case(line: &str) -> Result<Case, String> {
    let json: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let text = |key: &str| {
        json.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("it has no {key}"))
    };
    let values = json.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let exit = json.get("exit").and_then(Value::as_i64).ok_or("it has no exit")?;
    Ok(Case {
        id: text("id")?,
        chart: text("chart")?,
        values: values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
        fails: exit != 0,
        random: json.get("random").and_then(Value::as_bool).unwrap_or_default(),
    })
}

fn unpack(file: &Path) -> Result<Tree, CorpusError> {
    let read = || -> std::io::Result<Tree> {
        let mut tree = Tree::new();
        let archive = GzDecoder::new(fs::File::open(file)?);
        for entry in tar::Archive::new(archive).entries()? {
            let mut entry = entry?;
            if entry.header().entry_type().is_file() {
                let mut data = Vec::new();
                entry.read_to_end(&mut data)?;
                tree.insert(entry.path()?.to_string_lossy().into_owned(), data);
            }
        }
        Ok(tree)
    };
    read().map_err(|error| CorpusError::Io { file: file.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_without_an_exit_is_refused_with_its_line() {
        let text = "{\"id\":\"a\",\"chart\":\"r/c\",\"exit\":1}\n\n{\"id\":\"b\",\"chart\":\"r/c\"}\n";
        assert_eq!(
            parse_cases(text).unwrap_err().to_string(),
            "line 3 of cases.jsonl is no case: it has no exit"
        );
    }

    #[test]
    fn charts_whose_names_begin_alike_keep_their_files_apart() {
        let file = |path: &str| (path.to_owned(), Vec::new());
        let charts = Tree::from([file("r/a/Chart.yaml"), file("r/a-b/Chart.yaml"), file("r/a/x/y")]);
        let corpus = Corpus { cases: Vec::new(), charts, expected: Tree::new() };
        let names: Vec<&str> = corpus.chart("r/a").map(|(path, _)| path).collect();
        assert_eq!(names, ["Chart.yaml", "x/y"]);
    }
}
