//! The Go program of `tests/oracle`: Helm's own functions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer};

/// The Go version Helm 4.3.1 is built with.
const GO: &str = "go1.27.2";

/// What Go makes of a template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Answer {
    #[serde(deserialize_with = "from_base64")]
    pub(crate) out: Vec<u8>,
    #[serde(deserialize_with = "from_base64")]
    pub(crate) error: Vec<u8>,
    /// Go does not always answer this way.
    #[serde(default)]
    pub(crate) unstable: bool,
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
}

/// The answers to templates, in their order; `None`, and a word about it, where the program cannot be had.
pub(crate) fn ask(templates: &[Vec<u8>]) -> Option<Vec<Answer>> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match PROGRAM.get_or_init(|| build().map_err(|error| format!("{error:#}"))) {
        Ok(program) => Some(run(program, templates).expect("the oracle answers")),
        Err(reason) => {
            eprintln!("SKIPPED: nothing was compared with Helm: {reason}");
            None
        }
    }
}

fn build() -> Result<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("functions-oracle");
    let built = Command::new("go")
        .args(["test", "-c", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"))
        .env("GOTOOLCHAIN", GO)
        .output()
        .context("go cannot be run")?;
    if !built.status.success() {
        bail!("go test -c: {}", String::from_utf8_lossy(&built.stderr).trim());
    }
    Ok(program)
}

fn run(program: &Path, templates: &[Vec<u8>]) -> Result<Vec<Answer>> {
    let directory = tempfile::tempdir()?;
    let (cases, answers) = (directory.path().join("cases"), directory.path().join("answers"));
    let lines: Vec<String> =
        templates.iter().map(|text| format!("{{\"text\":\"{}\"}}\n", BASE64_STANDARD.encode(text))).collect();
    fs::write(&cases, lines.concat())?;
    let done = Command::new(program)
        .args(["-test.run", "TestOracle"])
        .env("ORACLE_CASES", &cases)
        .env("ORACLE_ANSWERS", &answers)
        .env("TZ", "UTC")
        .current_dir(directory.path())
        .output()?;
    ensure!(done.status.success(), "the oracle failed: {}", String::from_utf8_lossy(&done.stdout));
    let text = fs::read_to_string(&answers)?;
    let answers = text.lines().map(serde_json::from_str).collect::<Result<Vec<Answer>, _>>()?;
    ensure!(answers.len() == templates.len(), "{} answers to {}", answers.len(), templates.len());
    Ok(answers)
}
