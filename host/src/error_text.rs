//! What errors say.

use std::error::Error;

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

#[cfg(test)]
mod tests {
    use super::*;

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
