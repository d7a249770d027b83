//! The Go program of `tests/oracle`, which answers what Helm's own libraries make of an input.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

/// The Go version Helm 4.3.1 is built with: encoding/json has other texts in older ones.
const GO: &str = "go1.27.2";

/// One question: an operation of the program and its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Question {
    pub(crate) op: &'static str,
    #[serde(serialize_with = "to_base64")]
    pub(crate) r#in: Vec<u8>,
}

impl Question {
    pub(crate) fn new(op: &'static str, input: impl Into<Vec<u8>>) -> Self {
        Self { op, r#in: input.into() }
    }
}

/// What came out: text, a value, an error. `value` is spelled with its Go types, see `main.go`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Answer {
    #[serde(deserialize_with = "from_base64")]
    pub(crate) out: Vec<u8>,
    pub(crate) value: serde_json::Value,
    pub(crate) err: String,
}

fn to_base64<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn from_base64<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
}

/// The answers to `questions`, in their order; `None`, and a word about it, where the program cannot be had.
pub(crate) fn ask(questions: &[Question]) -> Option<Vec<Answer>> {
    match program() {
        Ok(program) => Some(run(program, questions).expect("the oracle answers")),
        Err(reason) => {
            eprintln!("SKIPPED: nothing was compared with Go: {reason}");
            None
        }
    }
}

/// The program, built on first use.
fn program() -> Result<&'static PathBuf, &'static String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(|| build().map_err(|error| format!("{error:#}"))).as_ref()
}

fn build() -> Result<PathBuf> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("yaml-oracle");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"))
        .env("GOTOOLCHAIN", GO)
        .output()
        .context("go cannot be run")?;
    if !built.status.success() {
        bail!("go build: {}", String::from_utf8_lossy(&built.stderr).trim());
    }
    Ok(program)
}

fn run(program: &PathBuf, questions: &[Question]) -> Result<Vec<Answer>> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let stdout = child.stdout.take().context("no stdout")?;
    let lines: Vec<Vec<u8>> = questions.iter().map(serde_json::to_vec).collect::<Result<_, _>>()?;
    let writer = std::thread::spawn(move || {
        for line in lines {
            // When the program is gone its answers are missing, which is what the test then reports.
            if stdin.write_all(&line).and_then(|()| stdin.write_all(b"\n")).is_err() {
                return;
            }
        }
    });
    let answers = BufReader::new(stdout)
        .split(b'\n')
        .map(|line| Ok(serde_json::from_slice(&line?)?))
        .collect::<Result<Vec<Answer>>>()?;
    writer.join().ok().context("the questions could not be written")?;
    ensure!(child.wait()?.success(), "the oracle failed");
    ensure!(answers.len() == questions.len(), "{} answers to {}", answers.len(), questions.len());
    Ok(answers)
}
