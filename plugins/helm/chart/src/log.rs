//! Lines of Helm's log, as Go's `slog.TextHandler` writes them without the time.

use helm_template::fmt::quote;
use std::fmt;

/// A remark that Helm writes to its log and goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    level: Level,
    message: String,
    attributes: Vec<(&'static str, String)>,
}

/// How much a remark matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For who looks for an error (`--debug`).
    Debug,
    /// For everybody, which is also what Go's own log writes.
    Info,
    /// Something is not as it should be.
    Warn,
}

impl Remark {
    /// A remark.
    pub fn new(level: Level, message: &str, attributes: &[(&'static str, &str)]) -> Self {
        let attributes = attributes.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
        Self { level, message: message.to_owned(), attributes }
    }

    /// How much it matters.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The line of the log.
    #[must_use]
    pub fn line(&self) -> String {
        let level = match self.level {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
        };
        let attributes: Vec<(&str, &[u8])> =
            self.attributes.iter().map(|(key, text)| (*key, text.as_bytes())).collect();
        line(level, self.message.as_bytes(), &attributes)
    }
}

/// What Go's own log writes.
impl From<String> for Remark {
    fn from(message: String) -> Self {
        Self { level: Level::Info, message, attributes: Vec::new() }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.attributes.iter().try_for_each(|(key, text)| write!(f, " {key}={text}"))
    }
}

/// A line: `level=WARN msg="missing required value" message=…`.
#[must_use]
pub fn line(level: &str, message: &[u8], attributes: &[(&str, &[u8])]) -> String {
    let mut line = format!("level={level} msg={}", value(message));
    for (key, text) in attributes {
        line.push(' ');
        line.push_str(key);
        line.push('=');
        line.push_str(&value(text));
    }
    line
}

/// Quoted, unless it is a plain word.
fn value(text: &[u8]) -> String {
    let quoted = quote(text);
    match std::str::from_utf8(text) {
        Ok(word) if !word.is_empty() && !word.chars().any(needs_quotes) => word.to_owned(),
        _ => quoted,
    }
}

fn needs_quotes(c: char) -> bool {
    match c {
        '\\' => false,
        ' ' | '=' | '"' => true,
        c if c.is_ascii() => c < ' ',
        // What Go cannot print is escaped when quoted.
        c => c.is_whitespace() || quote(c.encode_utf8(&mut [0; 4]).as_bytes()).starts_with("\"\\"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_is_a_line_with_its_level() {
        let remark = Remark::new(Level::Warn, "returned non-bool value", &[("path", "a.b"), ("chart", "c")]);
        assert_eq!(remark.line(), "level=WARN msg=\"returned non-bool value\" path=a.b chart=c");
        assert_eq!(remark.to_string(), "returned non-bool value path=a.b chart=c");
        assert_eq!(Remark::from("x".to_owned()).line(), "level=INFO msg=x");
    }

    #[test]
    fn only_what_is_no_plain_word_is_quoted() {
        for (text, want) in [
            ("word", "word"),
            ("a\\b", "a\\b"),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("a=b", "\"a=b\""),
            ("a\nb", "\"a\\nb\""),
            ("wörd", "wörd"),
            ("a\u{a0}b", "\"a\\u00a0b\""),
        ] {
            assert_eq!(line("INFO", b"x", &[("k", text.as_bytes())]), format!("level=INFO msg=x k={want}"));
        }
    }
}
