//! Lines of Helm's log, as Go's `slog.TextHandler` writes them without the time.

use helm_template::fmt::quote;

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
