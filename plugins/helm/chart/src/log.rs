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

    /// The line of Helm 3's log, which tells where in Helm's source it was written; none: Helm 3 did not say it.
    #[must_use]
    pub fn line_of_helm3(&self) -> Option<String> {
        let attribute = |wanted: &str| {
            self.attributes.iter().find(|(key, _)| *key == wanted).map_or("", |(_, text)| text.as_str())
        };
        let (chart, error) = (attribute("chart"), attribute("error"));
        Some(match self.message.as_str() {
            _ if self.level == Level::Debug => return None,
            "returned non-bool value" => match (attribute("tag"), attribute("path")) {
                ("", path) => format!(
                    "dependencies.go:64: Warning: Condition path '{path}' for chart {chart} returned non-bool value"
                ),
                (tag, _) => {
                    format!(
                        "dependencies.go:95: Warning: Tag '{tag}' for chart {chart} returned non-bool value"
                    )
                }
            },
            "ImportValues missing table from chart" => {
                format!(
                    "dependencies.go:270: Warning: ImportValues missing table from chart {chart}: {error}"
                )
            }
            "ImportValues missing table" => {
                format!("dependencies.go:287: Warning: ImportValues missing table: {error}")
            }
            "skipping unknown hooks" => {
                let hooks = quote(attribute("hookTypes").as_bytes());
                format!("manifest_sorter.go:199: info: skipping unknown hook: {hooks}")
            }
            message => {
                let place = PLACES_IN_HELM3.iter().find(|(start, _)| message.starts_with(start));
                place.map_or_else(|| message.to_owned(), |(_, place)| format!("{place}: {message}"))
            }
        })
    }
}

/// Where Helm 3.19.0 says what Helm 4 says in the same words.
const PLACES_IN_HELM3: [(&str, &str); 9] = [
    ("Warning: Dependencies are handled", "load.go:120"),
    ("Warning: Dependency locking", "load.go:138"),
    ("warning: skipping globals because destination", "coalesce.go:138"),
    ("warning: skipping globals because source", "coalesce.go:145"),
    ("Conflict: cannot merge map", "coalesce.go:161"),
    ("key ", "coalesce.go:175"),
    ("warning: skipped value for", "coalesce.go:237"),
    ("warning: cannot overwrite table", "coalesce.go:298"),
    ("warning: destination for", "coalesce.go:301"),
];

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
    fn helm_3_tells_where_its_log_was_written() {
        let line = |message: &str, attributes: &[(&'static str, &str)]| {
            Remark::new(Level::Warn, message, attributes).line_of_helm3().unwrap()
        };
        assert_eq!(
            line("returned non-bool value", &[("path", "a.b"), ("chart", "c")]),
            "dependencies.go:64: Warning: Condition path 'a.b' for chart c returned non-bool value"
        );
        assert_eq!(
            line("returned non-bool value", &[("tag", "t"), ("chart", "c")]),
            "dependencies.go:95: Warning: Tag 't' for chart c returned non-bool value"
        );
        assert_eq!(
            line("skipping unknown hooks", &[("hookTypes", "a,b")]),
            "manifest_sorter.go:199: info: skipping unknown hook: \"a,b\""
        );
        let table = "warning: cannot overwrite table with non table for c.a (map[])";
        assert_eq!(
            Remark::from(table.to_owned()).line_of_helm3().unwrap(),
            format!("coalesce.go:298: {table}")
        );
        assert_eq!(Remark::new(Level::Debug, "chart name", &[]).line_of_helm3(), None);
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
