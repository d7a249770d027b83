//! Object storage for plugins: [`place`] says which stores a grant means, [`login`] what a Secret says, [`store`] opens one through
//! [`client`], whose requests are the host's own guarded exchanges, [`content`] reads and checks what flows, [`upload`] writes it whole or
//! not at all, [`transfer`] is one task behind a call, and [`table`] knows all of them.

pub mod client;
pub mod content;
pub mod login;
pub mod place;
pub mod store;
pub mod table;
pub mod transfer;
pub mod upload;

/// Why something with a store was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// By the grants, or by the store.
    #[error("{0}")]
    Denied(String),
    /// No such object or bucket.
    #[error("{0}")]
    NotFound(String),
    /// A condition does not hold.
    #[error("{0}")]
    Conflict(String),
    /// A Secret is of no use.
    #[error("{0}")]
    Credentials(String),
    /// No store, no key.
    #[error("{0}")]
    Invalid(String),
    /// The store does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// What was read is not what it should be.
    #[error("{0}")]
    Corrupt(String),
    /// A bound is reached.
    #[error("{0}")]
    TooLarge(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl BlobError {
    /// UpperCamelCase, from a small set.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Denied(_) => "Denied",
            Self::NotFound(_) => "NotFound",
            Self::Conflict(_) => "Conflict",
            Self::Credentials(_) => "InvalidCredentials",
            Self::Invalid(_) => "Invalid",
            Self::Unavailable(_) => "Unavailable",
            Self::Corrupt(_) => "Corrupt",
            Self::TooLarge(_) => "TooLarge",
            Self::Other(_) => "Failed",
        }
    }
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error;
        let said = steady(&crate::error_text::chain(&error));
        match error {
            Error::NotFound { .. } => Self::NotFound(said),
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => {
                Self::Conflict(said)
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied(said),
            Error::InvalidPath { .. }
            | Error::NotSupported { .. }
            | Error::UnknownConfigurationKey { .. } => Self::Invalid(said),
            Error::NotImplemented { .. } => Self::Invalid(said),
            _ if client::is_final(&error) => Self::Denied(said),
            _ => Self::Unavailable(said),
        }
    }
}

/// The same words for the same failure: they are kept in a status, and how long the request took is another time each time. Before
/// what the server said nothing is left but the request.
fn steady(text: &str) -> String {
    let text = text.find("Error performing ").and_then(|start| text.get(start..)).unwrap_or(text);
    let words = text.trim_end_matches([':', ' ']).split(' ');
    let is_time = |word: &str| {
        let number = word.trim_end_matches([',', 's', 'm', 'µ', 'n']);
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    let mut kept: Vec<&str> = Vec::new();
    for word in words {
        if is_time(word) && kept.last() == Some(&"in") {
            kept.pop();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_is_the_same_each_time_it_says_it() {
        let said = |took: &str| {
            let source = format!(
                "Error performing HEAD http://s3.example/b/in 5/k in {took} - Server returned non-2xx status code: 403 Forbidden: "
            );
            let path = "b/k".to_owned();
            BlobError::from(object_store::Error::PermissionDenied { path, source: source.into() }).to_string()
        };
        assert_eq!(said("2.950881ms"), said("1.2s,"));
        assert_eq!(
            said("903µs"),
            "Error performing HEAD http://s3.example/b/in 5/k - Server returned non-2xx status code: 403 Forbidden"
        );
        assert_eq!(steady("no such bucket in 3 regions"), "no such bucket in 3 regions");
    }
}
