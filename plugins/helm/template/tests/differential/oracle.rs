//! Runs cases through Go and through ourselves.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::{Execution, MissingKey, TemplateSet};
use serde_json::{Value as Json, json};

use crate::functions::functions;
use crate::types::decode;

/// Texts to be parsed in order, of which the last is executed.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) texts: Vec<(String, Vec<u8>)>,
    pub(crate) data: Rc<Json>,
    pub(crate) missing_key: &'static str,
}

impl Case {
    /// One text, executed with the given data.
    pub(crate) fn of(text: impl Into<Vec<u8>>, data: &Rc<Json>) -> Self {
        Self { texts: vec![("t".to_owned(), text.into())], data: data.clone(), missing_key: "default" }
    }

    fn json(&self) -> Json {
        let texts: Vec<_> = self
            .texts
            .iter()
            .map(|(name, text)| json!({"name": name, "text": STANDARD.encode(text)}))
            .collect();
        json!({"texts": texts, "data": *self.data, "missingkey": self.missing_key})
    }
}

/// The Go program, built once.
pub(crate) struct Oracle {
    program: PathBuf,
    _directory: tempfile::TempDir,
}

impl Oracle {
    /// Builds it; `None`, said aloud, when there is no Go.
    pub(crate) fn build() -> Option<Self> {
        if Command::new("go").arg("version").output().is_err() {
            eprintln!("SKIPPED: no `go` to compare with");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("oracle");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
        let built =
            Command::new("go").arg("build").arg("-o").arg(&program).arg(".").current_dir(source).status();
        assert!(built.unwrap().success(), "the oracle does not build");
        Some(Self { program, _directory: directory })
    }

    /// What Go makes of the cases, in order.
    pub(crate) fn answers(&self, cases: &[Case]) -> Vec<Result<Vec<u8>, String>> {
        let input = self.program.with_extension("in");
        let mut file = fs::File::create(&input).unwrap();
        for case in cases {
            writeln!(file, "{}", case.json()).unwrap();
        }
        let output = Command::new(&self.program)
            .stdin(Stdio::from(fs::File::open(&input).unwrap()))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "the oracle failed");
        let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Json>();
        let answers: Vec<_> = answers.map(|answer| parse(&answer.unwrap())).collect();
        assert_eq!(answers.len(), cases.len(), "the oracle left cases unanswered");
        answers
    }
}

fn parse(answer: &Json) -> Result<Vec<u8>, String> {
    match answer["error"].as_str().unwrap() {
        "" => Ok(STANDARD.decode(answer["out"].as_str().unwrap()).unwrap()),
        error => Err(error.to_owned()),
    }
}

/// What we make of a case.
pub(crate) fn our_answer(case: &Case) -> Result<Vec<u8>, String> {
    let mut set = TemplateSet::new("root", functions());
    for (name, text) in &case.texts {
        set.parse(name.as_str(), text.clone()).map_err(|error| error.to_string())?;
    }
    let missing_key = match case.missing_key {
        "zero" => MissingKey::Zero,
        "error" => MissingKey::Error,
        _ => MissingKey::Default,
    };
    let how = Execution { missing_key, ..Execution::default() };
    let last = &case.texts.last().unwrap().0;
    set.execute(last, decode(&case.data), &how).map_err(|error| error.to_string())
}

/// Compares all cases and shows every difference.
pub(crate) fn compare(oracle: &Oracle, cases: &[Case]) -> usize {
    let mut differences = 0;
    for (case, theirs) in cases.iter().zip(oracle.answers(cases)) {
        let ours = our_answer(case);
        if !same(&ours, &theirs) {
            differences += 1;
            if differences <= 12 {
                let texts = case
                    .texts
                    .iter()
                    .map(|(name, text)| format!("{name}: {}", String::from_utf8_lossy(text)));
                let (ours, theirs) = differing_lines(&ours, &theirs);
                eprintln!(
                    "\n{}\n  (missingkey={})\n  Go:  {}\n  we:  {}",
                    texts.collect::<Vec<_>>().join("\n"),
                    case.missing_key,
                    shown(&theirs),
                    shown(&ours)
                );
            }
        }
    }
    differences
}

/// Of long texts only the first line that differs.
fn differing_lines(
    ours: &Result<Vec<u8>, String>,
    theirs: &Result<Vec<u8>, String>,
) -> (Result<Vec<u8>, String>, Result<Vec<u8>, String>) {
    if let (Ok(a), Ok(b)) = (ours, theirs)
        && a.len() + b.len() > 400
    {
        let mut lines = a.split(|&byte| byte == b'\n').zip(b.split(|&byte| byte == b'\n'));
        if let Some((a, b)) = lines.find(|(a, b)| mask(a) != mask(b)) {
            return (Ok(a.to_vec()), Ok(b.to_vec()));
        }
    }
    (ours.clone(), theirs.clone())
}

/// Addresses differ from run to run, and what we refuse on purpose is refused in other words.
fn same(ours: &Result<Vec<u8>, String>, theirs: &Result<Vec<u8>, String>) -> bool {
    match (ours, theirs) {
        (Ok(a), Ok(b)) => a == b || mask(a) == mask(b),
        (Err(a), Err(b)) => a == b || mask(a.as_bytes()) == mask(b.as_bytes()),
        _ => false,
    }
}

/// Replaces addresses.
fn mask(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(&rest[..at]);
        out.push_str(if digits >= 5 { "ADDRESS" } else { &rest[at..at + 2 + digits] });
        rest = &rest[at + 2 + digits..];
    }
    out + rest
}

fn shown(answer: &Result<Vec<u8>, String>) -> String {
    match answer {
        Ok(text) => format!("{:?}", String::from_utf8_lossy(text)),
        Err(error) => format!("ERROR {error}"),
    }
}
