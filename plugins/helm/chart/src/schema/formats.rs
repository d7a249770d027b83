//! Formats whose errors the two libraries put in different words.

use boon::{Compiler, Format};
use helm_functions::check_url;
use helm_template::fmt::quote;
use serde_json::Value;
use std::error::Error;

type Result = std::result::Result<(), Box<dyn Error>>;
/// A check of values, which passes what is no text.
type Check = fn(&Value) -> Result;

/// Replaces the library's checks.
pub(super) fn register(compiler: &mut Compiler) {
    let formats: [(&'static str, Check); 5] = [
        ("ipv4", ipv4),
        ("iri", absolute_url),
        ("iri-reference", url),
        ("uri", absolute_url),
        ("uri-reference", url),
    ];
    for (name, func) in formats {
        compiler.register_format(Format { name, func });
    }
}

fn absolute_url(value: &Value) -> Result {
    let Value::String(text) = value else { return Ok(()) };
    if parse_url(text)? { Ok(()) } else { Err("relative url".into()) }
}

fn url(value: &Value) -> Result {
    let Value::String(text) = value else { return Ok(()) };
    if text.contains('\\') {
        return Err("contains \\".into());
    }
    parse_url(text).map(drop)
}

/// Whether it is absolute.
fn parse_url(text: &str) -> std::result::Result<bool, Box<dyn Error>> {
    let (absolute, host) = check_url(text)?;
    if host.contains(':') && !(host.contains('[') && host.contains(']')) {
        return Err("ipv6 address not enclosed in brackets".into());
    }
    Ok(absolute)
}

fn ipv4(value: &Value) -> Result {
    let Value::String(text) = value else { return Ok(()) };
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return Err("expected four decimals".into());
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return Err("leading zeros".into());
        }
        let digits = group.strip_prefix(['+', '-']).unwrap_or(group);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let group = quote(group.as_bytes());
            return Err(format!("strconv.Atoi: parsing {group}: invalid syntax").into());
        }
        // What is too long for Go's `int` is told in other words.
        match group.parse::<i64>() {
            Ok(0..=255) => {}
            Ok(_) => return Err("decimal must be between 0 and 255".into()),
            Err(_) => {
                let group = quote(group.as_bytes());
                return Err(format!("strconv.Atoi: parsing {group}: value out of range").into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_what_go_takes_for_them() {
        let error = |check: Check, text: &str| {
            check(&text.into()).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(error(absolute_url, "https://example.com/{id}?a b"), "");
        assert_eq!(error(absolute_url, "not a uri"), "relative url");
        assert_eq!(error(url, "a/b#c"), "");
        assert_eq!(error(url, "a\\b"), "contains \\");
        assert_eq!(error(url, "http://[::1]:80/"), "");
        assert_eq!(error(url, "http://a b"), "parse \"http://a b\": invalid character \" \" in host name");
    }

    #[test]
    fn addresses_are_refused_in_the_words_of_go() {
        let error = |text: &str| ipv4(&text.into()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(error("10.0.0.255"), "");
        assert_eq!(error("10.0.0"), "expected four decimals");
        assert_eq!(error("10.0.0.01"), "leading zeros");
        assert_eq!(error("10.0.0.256"), "decimal must be between 0 and 255");
        assert_eq!(error("10.0.x.1"), "strconv.Atoi: parsing \"x\": invalid syntax");
        assert_eq!(
            error("10.0.1.99999999999999999999"),
            "strconv.Atoi: parsing \"99999999999999999999\": value out of range"
        );
    }
}
