//! What errors say, and what they must not say.

use std::error::Error;
use std::io;

/// An error with its causes: hyper's outermost sentence alone says nothing.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// What the system says, as Go tells it: no sentence, and without a number.
pub fn go_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A URL as it may be told: who logs in, and with what, is nobody's business.
pub fn without_login(url: &str) -> String {
    let (scheme, rest) = url.find("://").map_or(("", url), |at| url.split_at(at + 3));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    format!("{scheme}{server}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_without_the_login_in_it() {
        for (url, told) in [
            ("https://me:se@cret@c.example/a@b?x=y@z", "https://c.example/a@b?x=y@z"),
            ("me:secret@c.example:4317", "c.example:4317"),
            ("https://c.example/a@1.tgz", "https://c.example/a@1.tgz"),
            ("c.example", "c.example"),
        ] {
            assert_eq!(without_login(url), told);
        }
    }

    #[test]
    fn the_systems_words_are_told_as_go_tells_them() {
        assert_eq!(go_words(&io::Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(go_words(&io::Error::from_raw_os_error(21)), "is a directory");
        assert_eq!(go_words(&io::Error::other("Odd")), "odd");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Said(&'static str, #[source] Option<Box<Said>>);

    #[test]
    fn every_cause_is_said_once() {
        let error = Said("no answer", Some(Box::new(Said("connect", Some(Box::new(Said("refused", None)))))));
        assert_eq!(chain(&error), "no answer: connect: refused");
        let repeated = Said("failed: refused", Some(Box::new(Said("refused", None))));
        assert_eq!(chain(&repeated), "failed: refused");
    }
}
