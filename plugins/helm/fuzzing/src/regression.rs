//! The cases that once differed, with Go's answers: `regressions/AREA.txt`.
//!
//! Cases are separated by empty lines. The first line of each names the operation, one `in NAME TEXT` follows for each
//! part, then `out TEXT` or `error TEXT` or both; where Go has several answers, because it goes through maps in any
//! order, `or` stands between them. In texts `\n`, `\\` and `\xHH` stand for what a line cannot hold.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::generate::Area;
use crate::generate::pipelines::VALUES;
use crate::{Answer, Question};

/// Where the cases of an area are kept.
pub fn file(area: Area) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(format!("{}.txt", area.name()))
}

/// All cases of a file; none where there is no file.
///
/// # Errors
/// The file is not of the form.
pub fn read(path: &Path) -> Result<Vec<(Question, Vec<Answer>)>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(path)?;
    let cases = text.split("\n\n").map(str::trim_start).filter(|case| !case.is_empty());
    cases.map(|case| parse(case).with_context(|| format!("{}: {case}", path.display()))).collect()
}

/// Adds a case, unless it is there.
///
/// # Errors
/// The file cannot be read or written.
pub fn add(path: &Path, question: &Question, theirs: &[Answer]) -> Result<()> {
    let known = read(path)?;
    if known.iter().any(|(known, _)| known == question) {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    let space = if known.is_empty() { "" } else { "\n" };
    Ok(write!(file, "{space}{}", spell(question, theirs))?)
}

fn spell(question: &Question, answers: &[Answer]) -> String {
    let mut out = format!("{}\n", question.op);
    for (name, data) in &question.parts {
        // What all templates get is not repeated.
        if !(name == "data" || name == "values" && data == VALUES.as_bytes()) {
            out.push_str(&format!("in {name} {}\n", escape(data)));
        }
    }
    let spelled: Vec<String> = answers.iter().map(spell_answer).collect();
    out + &spelled.join("or\n")
}

fn spell_answer(answer: &Answer) -> String {
    let mut out = String::new();
    if !answer.out.is_empty() || answer.error.is_empty() {
        out.push_str(&format!("out {}\n", escape(&answer.out)));
    }
    if !answer.error.is_empty() {
        out.push_str(&format!("error {}\n", escape(&answer.error)));
    }
    out
}

fn parse(case: &str) -> Result<(Question, Vec<Answer>)> {
    let mut lines = case.split('\n').filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut question = Question { op: lines.next().context("no operation")?.to_owned(), parts: Vec::new() };
    let (mut answers, mut answer) = (Vec::new(), Answer::default());
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "in" => {
                let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
                question.parts.push((name.to_owned(), unescape(text)?));
            }
            "out" => answer.out = unescape(rest)?,
            "error" => answer.error = unescape(rest)?,
            "or" => answers.push(std::mem::take(&mut answer)),
            other => bail!("what is {other:?}?"),
        }
    }
    if question.op == "text" {
        question.parts.push(("data".to_owned(), crate::generate::templates::data()));
    }
    if question.op == "template" && question.parts.iter().all(|(name, _)| name != "values") {
        question.parts.push(("values".to_owned(), VALUES.as_bytes().to_vec()));
    }
    answers.push(answer);
    Ok((question, answers))
}

fn escape(data: &[u8]) -> String {
    let mut out = String::new();
    for chunk in data.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\\' => out.push_str("\\\\"),
                // Others than the plain space are lost, or not seen, in editors.
                ' ' => out.push(' '),
                c if c.is_control()
                    || c.is_whitespace()
                    || matches!(c, '\u{FEFF}' | '\u{200B}'..='\u{200F}') =>
                {
                    let mut bytes = [0; 4];
                    c.encode_utf8(&mut bytes)
                        .bytes()
                        .for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    // Editors take spaces away at the end of a line.
    if let Some(rest) = out.strip_suffix(' ') {
        out = format!("{rest}\\x20");
    }
    out
}

fn unescape(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b'\\') => out.push(b'\\'),
            Some(b'x') => {
                let digits: Vec<u8> = bytes.by_ref().take(2).collect();
                out.push(u8::from_str_radix(std::str::from_utf8(&digits)?, 16)?);
            }
            other => bail!("no escape: {other:?}"),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_as_it_was_written() {
        let data = b"a \\ b\n\t\xff \xc3\xa9 \xe2\x80\xa8 ";
        let question = Question::new("chart", [("file:a/b.yaml", data.as_slice()), ("values", b"")]);
        let answer = Answer { out: b"x\n\nin y z".to_vec(), error: data.to_vec(), unstable: false };
        let answers = vec![answer, Answer::of("y"), Answer::failed(&"z")];
        assert_eq!(
            parse(&spell(&question, &answers[..1])).unwrap(),
            (question.clone(), answers[..1].to_vec())
        );
        assert_eq!(parse(&spell(&question, &answers)).unwrap(), (question, answers));
    }
}
