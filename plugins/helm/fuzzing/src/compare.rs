//! When two answers are the same.

use helm_template::fmt;

use crate::{Answer, Question};

/// Whether we answer a question differently from Go, and should not.
pub fn differ(question: &Question, ours: &Answer, theirs: &Answer) -> bool {
    // Where Go breaks down, or does not know itself, there is nothing to be equal to.
    if theirs.unstable || theirs.error.starts_with(b"PANIC: ") || theirs.error.starts_with(b"panic: ") {
        return false;
    }
    if ours.out == theirs.out && ours.error == theirs.error {
        return false;
    }
    if mask(&ours.out) == mask(&theirs.out) && mask(&ours.error) == mask(&theirs.error) {
        return false;
    }
    !is_deviation(question, ours, theirs)
}

/// Where Go's answer is not reached on purpose.
fn is_deviation(_question: &Question, ours: &Answer, theirs: &Answer) -> bool {
    let has = |text: &[u8], part: &str| text.windows(part.len()).any(|window| window == part.as_bytes());
    // Limits are ours: Go goes on until memory or patience ends.
    if ours.error.ends_with(b"steps") || has(&ours.error, "exceeds the limit") {
        return true;
    }
    // Of two references that lead nowhere Go says the one to another file when it meets it, the other when its turn
    // comes; our library both in turn.
    if has(&theirs.error, "failing loading \"") && has(&ours.error, "json-pointer in ") {
        return true;
    }
    // Pointers print as addresses, of which we have none.
    !theirs.out.is_empty() && has(&theirs.out, "0xc0")
}

/// The text, lossily where it is none, without addresses.
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
    without_overwritten_places(&without_locations(&(out + rest)))
}

/// Where a name of a property is wrong, Helm's library keeps the place in memory that it goes on using: what it says is
/// where it was later, which depends on the order of a map.
fn without_overwritten_places(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        match (line.split_once("- at '"), line.split_once("': invalid propertyName")) {
            (Some((before, _)), Some((_, after))) => {
                format!("{before}- at PLACE: invalid propertyName{after}")
            }
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Under `%d` a time is three numbers, the last of which is an address.
fn without_locations(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split('}').peekable();
    while let Some(part) = parts.next() {
        let (before, inner) = part.rsplit_once('{').unwrap_or(("", part));
        let numbers: Vec<&str> = inner.split(' ').collect();
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        match numbers.as_slice() {
            [_, _, address] if numbers.iter().all(is_number) && address.len() >= 8 => {
                out.push_str(&format!("{before}{{{} {} ADDRESS", numbers[0], numbers[1]));
            }
            _ => out.push_str(part),
        }
        out.push_str(if parts.peek().is_some() { "}" } else { "" });
    }
    out
}

/// A text of lines for people: nothing in it moves the cursor elsewhere.
pub(crate) fn printable(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    let hidden = |c: char| c.is_control() && c != '\n';
    text.chars().map(|c| if hidden(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// An answer for people.
pub fn shown(answer: &Answer) -> String {
    let mut out = String::new();
    if !answer.error.is_empty() {
        out = format!("ERROR {}", String::from_utf8_lossy(&answer.error));
    }
    if !answer.out.is_empty() || answer.error.is_empty() {
        let space = if out.is_empty() { "" } else { " " };
        out = format!("{out}{space}{}", fmt::quote(&answer.out));
    }
    out
}
