//! The digest of a chart's files, by which rendered and parsed charts are cached.

use crate::file::File;
use sha2::{Digest, Sha256};

/// SHA-256 over names and contents, in lower-case hex. It does not depend on the order of the files.
#[must_use]
pub fn digest(files: &[File]) -> String {
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut hash = Sha256::new();
    for file in sorted {
        // Lengths in front keep names and contents from running into each other.
        for part in [file.name.as_bytes(), &file.data] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_names_and_contents_but_not_on_their_order() {
        let (a, b) = (File::new("a", "1"), File::new("b", "2"));
        let digest_of = |files: &[&File]| digest(&files.iter().map(|&file| file.clone()).collect::<Vec<_>>());
        assert_eq!(digest_of(&[&a, &b]), digest_of(&[&b, &a]));
        assert_ne!(digest_of(&[&a, &b]), digest_of(&[&a]));
        assert_ne!(digest_of(&[&a]), digest_of(&[&File::new("a", "2")]));
        assert_ne!(digest_of(&[&File::new("ab", "c")]), digest_of(&[&File::new("a", "bc")]));
        assert_eq!(digest(&[]).len(), 64);
    }
}
