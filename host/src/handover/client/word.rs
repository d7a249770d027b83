//! What the pod's status tells of a handover: the container's termination message.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::ClientError;
use crate::handover::{Refusal, Stored};

/// More than Kubernetes keeps of a message.
const LONGEST: usize = 1024;

/// Leaves `{"size","sha256"}`, or `{"reason","message"}`. That it cannot be left is told on standard error by the caller.
///
/// # Errors
/// [`ClientError::File`].
pub fn leave(log: &Path, result: &Result<Stored, ClientError>) -> Result<(), ClientError> {
    match result {
        Ok(stored) => write(log, stored),
        Err(error) => {
            let message = error.to_string().chars().take(LONGEST).collect();
            write(log, &Refusal { reason: error.reason().to_owned(), message })
        }
    }
}

fn write<T: Serialize>(log: &Path, word: &T) -> Result<(), ClientError> {
    let text = serde_json::to_vec(word).unwrap_or_default();
    // The file is the kubelet's, mounted alone: nothing can be put in its place.
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(log);
    file.and_then(|mut file| file.write_all(&text)).map_err(ClientError::file(log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_json_of_what_was_stored_or_why_not() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("termination-log");
        std::fs::write(&log, "something longer than what comes now, from an attempt of before").unwrap();
        leave(&log, &Err(ClientError::Source("1".to_owned()))).unwrap();
        let said: Refusal = serde_json::from_slice(&std::fs::read(&log).unwrap()).unwrap();
        assert_eq!(said.reason, "SourceFailed");
        let stored = Stored { size: 3, sha256: "00".to_owned() };
        leave(&log, &Ok(stored)).unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), r#"{"size":3,"sha256":"00"}"#);
        assert!(leave(Path::new("/nowhere/log"), &Err(ClientError::Source(String::new()))).is_err());
    }
}
