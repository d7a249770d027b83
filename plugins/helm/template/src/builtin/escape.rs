//! `html`, `js` and `urlquery` (text/template/funcs.go).

use crate::error::TooDeep;
use crate::fmt;
use crate::runes;
use crate::value::{Kind, Str, Value};

/// The text of the arguments, as an action prints them rather than as `print` does.
pub(super) fn arguments(args: &[Value]) -> Result<Str, TooDeep> {
    if let [Value::String(text)] = args {
        return Ok(text.clone());
    }
    let (mut out, mut after_string) = (Vec::new(), false);
    for (index, value) in args.iter().enumerate() {
        // What has no value is printed as a string, so no space comes beside it.
        let is_string = matches!(value, Value::Nil) || value.kind() == Kind::String;
        if index > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        match value {
            Value::Nil => out.extend_from_slice(b"<no value>"),
            value => fmt::append_printable(&mut out, value)?,
        }
        after_string = is_string;
    }
    Ok(Str::from(out))
}

/// Escapes the characters that have a meaning in HTML.
pub(super) fn html(text: &Str) -> Str {
    replace(text, |byte| {
        Some(match byte {
            0 => "\u{FFFD}",
            b'"' => "&#34;",
            b'\'' => "&#39;",
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            _ => return None,
        })
    })
}

fn replace(text: &Str, replacement: impl Fn(u8) -> Option<&'static str>) -> Str {
    if !text.as_bytes().iter().any(|&byte| replacement(byte).is_some()) {
        return text.clone();
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for &byte in text.as_bytes() {
        match replacement(byte) {
            Some(escaped) => out.extend_from_slice(escaped.as_bytes()),
            None => out.push(byte),
        }
    }
    Str::from(out)
}

/// Escapes text for a JavaScript string.
pub(super) fn js(text: &Str) -> Str {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut rest = text.as_bytes();
    while let Some(&byte) = rest.first() {
        let (rune, width) = runes::decode(rest);
        match byte {
            b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'<' | b'>' | b'&' | b'=' | 0..=0x1F => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(byte)).as_bytes());
            }
            0x80.. if !runes::is_print(rune) => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(rune)).as_bytes());
            }
            _ => out.extend_from_slice(rest.get(..width).unwrap_or_default()),
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    Str::from(out)
}

/// Escapes text for the query of a URL (`url.QueryEscape`).
pub(super) fn url_query(text: &Str) -> Str {
    let mut out = String::with_capacity(text.len() + 16);
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Str::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_is_escaped() {
        assert_eq!(
            html(&Str::from("<a href=\"x\">&'\0</a>")).as_str().unwrap(),
            "&lt;a href=&#34;x&#34;&gt;&amp;&#39;\u{FFFD}&lt;/a&gt;"
        );
        assert_eq!(
            js(&Str::from("<\"it's\\\n=é\u{2028}😀>")).as_str().unwrap(),
            "\\u003C\\\"it\\'s\\\\\\u000A\\u003Dé\\u2028😀\\u003E"
        );
        assert_eq!(url_query(&Str::from("a b&c=é~")).as_str().unwrap(), "a+b%26c%3D%C3%A9~");
    }

    #[test]
    fn invalid_bytes_pass_through_javascript_escaping() {
        assert_eq!(js(&Str::from_bytes(b"\xff<")).as_bytes(), b"\xff\\u003C");
    }

    #[test]
    fn no_value_among_arguments_is_a_string() {
        let args = [Value::from(1), Value::Nil, Value::from(2), Value::from(3)];
        assert_eq!(arguments(&args).unwrap(), "1<no value>2 3");
    }
}
