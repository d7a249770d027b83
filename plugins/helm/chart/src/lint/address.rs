//! Addresses of people as govalidator, the library Helm uses, knows them. What its patterns accept by accident is
//! accepted here as well.

use regex::Regex;
use std::cell::OnceCell;

/// Letters beyond ASCII in addresses of mail.
const WIDE: &str = r"\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}";
/// Letters beyond ASCII in names of hosts.
const WIDE_HOST: &str = r"\x{A1}-\x{FFFF}";
/// Addresses of this length and longer are none.
const MOST_CHARACTERS: usize = 2083;
/// Addresses of this length and shorter are none.
const LEAST_BYTES: usize = 3;

/// The patterns, compiled when they are first needed.
#[derive(Default)]
pub(super) struct Addresses {
    email: OnceCell<Option<Regex>>,
    url: OnceCell<Option<Regex>>,
}

impl Addresses {
    /// `govalidator.IsEmail`.
    pub(super) fn is_email(&self, text: &str) -> bool {
        let pattern = self.email.get_or_init(|| Regex::new(&email_pattern()).ok());
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    /// `govalidator.IsURL`.
    pub(super) fn is_url(&self, text: &str) -> bool {
        if text.chars().count() >= MOST_CHARACTERS || text.len() <= LEAST_BYTES || text.starts_with('.') {
            return false;
        }
        // A port without a scheme would be taken for the rest of a scheme.
        let without_scheme = text.contains(':') && !text.contains("://");
        let with_scheme = if without_scheme { format!("http://{text}") } else { text.to_owned() };
        let Some((host, path)) = helm_functions::url::host_and_path(&with_scheme) else { return false };
        if host.starts_with(b".") || (host.is_empty() && !path.is_empty() && !path.contains(&b'.')) {
            return false;
        }
        let pattern = self.url.get_or_init(|| Regex::new(&url_pattern()).ok());
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}

fn email_pattern() -> String {
    let atom = format!(r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{{|}}~{WIDE}]+");
    let space = r"(?:(?:[\x20\x09]*\x0D\x0A)?[\x20\x09]+)?";
    let quotable = format!(
        r"(?:[\x01-\x08\x0B\x0C\x0E-\x1F\x7F\x21\x23-\x5B\x5D-\x7E{WIDE}]|\([\x01-\x09\x0B\x0C\x0D-\x7F])"
    );
    // Each character has a quotation mark of its own in front.
    let quoted = format!(r"(?:\x22{space}{quotable})*{space}\x22");
    let label = format!(r"[a-zA-Z0-9{WIDE}](?:[a-zA-Z0-9\-._~{WIDE}]*[a-zA-Z0-9{WIDE}])?");
    let top = format!(r"[a-zA-Z{WIDE}](?:[a-zA-Z0-9\-_~{WIDE}]*[a-zA-Z{WIDE}])?");
    format!(r"^(?:{atom}(?:\.{atom})*|{quoted})@(?:{label}\.)+{top}\.?$")
}

fn url_pattern() -> String {
    let scheme = "(?:ftp|tcp|udp|wss?|https?)://";
    let blank = r"\t\n\x0C\r\x20";
    let user = format!(r"[^{blank}]+(?::[^{blank}]*)?@");
    let path = format!(r"[/?#][^{blank}]*");
    let low = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[0-9]{1,2})";
    let first = "(?:[1-9][0-9]?|1[0-9][0-9]|2[01][0-9]|22[0-3]|24[0-9]|25[0-5])";
    let last = "(?:[0-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
    let v4 = format!(r"{first}(?:\.{low}){{2}}\.{last}");
    let v6 = v6_pattern();
    let host = r"[a-zA-Z0-9](?:[a-zA-Z0-9\-_]+)?[a-zA-Z0-9](?:[-.][a-zA-Z0-9]+)*";
    let subdomain = r"(?:www\.|[a-zA-Z0-9]+(?:[-_.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+)?";
    let word = format!("[a-zA-Z0-9{WIDE_HOST}]+");
    let name = format!(r"(?:{host}|{subdomain})?(?:{word}-?-?)*{word}(?:\.[a-zA-Z{WIDE_HOST}]+)?");
    format!(r"^(?:{scheme})?(?:{user})?(?:{v4}|\[(?:{v6})\]|{name})\.?(?::[0-9]{{1,5}})?(?:{path})?$")
}

fn v6_pattern() -> String {
    let group = "[0-9a-fA-F]{1,4}";
    let byte = "(?:25[0-5]|(?:2[0-4]|1?[0-9])?[0-9])";
    let v4 = format!(r"(?:{byte}\.){{3}}{byte}");
    let mut forms = vec![format!("(?:{group}:){{7}}{group}"), format!("(?:{group}:){{1,7}}:")];
    // Some groups, one gap, some groups: seven of them together at most.
    forms.extend((1..=6).map(|behind| format!("(?:{group}:){{1,{}}}(?::{group}){{1,{behind}}}", 7 - behind)));
    forms.push(format!(":(?:(?::{group}){{1,7}}|:)"));
    forms.push("fe80:(?::[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]+".to_owned());
    forms.push(format!("::(?:ffff(?::0{{1,4}})?:)?{v4}"));
    forms.push(format!("(?:{group}:){{1,4}}:{v4}"));
    forms.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_mail_are_those_of_govalidator() {
        let addresses = Addresses::default();
        for (text, want) in [
            ("me@example.com", true),
            ("A.B-c_d+e@Sub.Example.co.uk.", true),
            ("jörg@exämple.de", true),
            ("\"a\"@example.com", true),
            ("\"ab\"@example.com", false),
            ("me@example", false),
            ("me@example.c0", false),
            ("me@-a.com", false),
            ("a..b@example.com", false),
            ("me@example.com, you@example.com", false),
            ("", false),
        ] {
            assert_eq!(addresses.is_email(text), want, "{text}");
        }
    }

    #[test]
    fn addresses_of_pages_are_those_of_govalidator() {
        let addresses = Addresses::default();
        for (text, want) in [
            ("https://example.com/a?b=c#d", true),
            ("example.com", true),
            ("localhost:8080", true),
            ("http://[::1]:80/x", true),
            ("http://[1:2:3:4:5:6:7:8]", true),
            ("ftp://user:pw@10.0.0.1", true),
            ("http://a_b.example.com", true),
            ("http://bücher.de", true),
            ("git://example.com", false),
            ("http:/me", false),
            ("localhost", false),
            ("http://.example.com", false),
            (".example.com", false),
            ("a.b", false),
            ("http://example.com/a b", false),
            ("http://example.com:123456", false),
        ] {
            assert_eq!(addresses.is_url(text), want, "{text}");
        }
    }
}
