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
    !same_but_for_addresses(ours, theirs) && !is_deviation(question, ours, theirs)
}

/// Whether two answers are the same when nobody looks where in memory things lie.
pub(crate) fn same_but_for_addresses(one: &Answer, other: &Answer) -> bool {
    mask(&one.out) == mask(&other.out) && mask(&one.error) == mask(&other.error)
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
    let inside = ["json-pointer in ", "anchor in "];
    if has(&theirs.error, "failing loading \"") && inside.iter().any(|place| has(&ours.error, place)) {
        return true;
    }
    // Helm looks for the file in the directory, of which the engine knows nothing.
    theirs.error.starts_with(b"unable to detect chart at Chart.yaml: ")
        && ours.error == b"Chart.yaml file is missing"
}

/// The text, lossily where it is none, without addresses. Where there is one, what else begins like one may be the rest
/// of one that was cut.
fn mask(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let numbers = || text.match_indices("0x").map(|(at, _)| (at, at + number_length(&text[at..])));
    let least = if numbers().any(|(start, end)| end - start >= ADDRESS) { 2 } else { ADDRESS };
    let mut out = String::new();
    let mut done = 0;
    for (start, end) in numbers().filter(|(start, end)| end - start >= least) {
        out.push_str(&text[done..start]);
        out.push_str("ADDRESS");
        done = end;
    }
    without_overwritten_places(&without_locations(&(out + &text[done..])))
}

/// How many digits an address has at least, with what stands in front of them.
const ADDRESS: usize = 7;

/// The length of the number that begins with `0x`.
fn number_length(text: &str) -> usize {
    let digits = text.bytes().skip(2).take_while(u8::is_ascii_hexdigit).count();
    // Its last digit may begin another.
    let next = digits > 0 && text[1 + digits..].starts_with("0x");
    2 + digits - usize::from(next)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn differ_in(ours: &str, theirs: &str) -> bool {
        differ(&Question::call(""), &Answer::of(ours), &Answer::of(theirs))
    }

    #[test]
    fn addresses_are_alike_and_so_are_their_beginnings_beside_them() {
        assert!(!differ_in("a 0x7f8b140e4920 b", "a 0x1373819d2f20 b"));
        assert!(!differ_in("0x7f8b140e4920 as 0x7f8b\"", "0x1373819d2f20 as 0x\""));
        assert!(!differ_in("0x0x7f8b140e4920", "0x0x1373819d2f20"));
    }

    #[test]
    fn small_numbers_and_what_stands_beside_addresses_are_compared() {
        assert!(differ_in("0x7f8b", "0x1373"));
        assert!(differ_in("0x7f8b140e4920 b", "0x1373819d2f20 c"));
        assert!(differ_in("0xc000123456", ""));
    }
}
