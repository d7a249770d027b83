//! Records that no Secret can hold. What never changes of a revision lies in Secrets of its own beside the one that Helm
//! looks for, and that one keeps what changes. The helm command line asks for the label `owner=helm`, so it does not see
//! the chunks; it cannot read what is left in the first Secret, and passes it over.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// `type` of a Secret with a chunk.
pub const CHUNK_TYPE: &str = "helm.pilothouse.dev/chunk.v1";
/// Annotation of a record's Secret that says which chunks belong to it.
pub(crate) const CHUNKS: &str = "helm.pilothouse.dev/chunks";
/// What chunks have for the label by which Helm finds its records.
pub(crate) const CHUNK_OWNER: &str = "pilothouse";
/// Bytes of a chunk, where Secrets have so many: as JSON it stays below that, which is the most that some proxies let through.
pub(crate) fn size(largest: usize) -> usize {
    largest / 4 * 3
}

/// Letters of the digest in the names of chunks: revisions of one number that differ do not meet.
const NAMED_BY: usize = 12;

/// The chunks of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    /// SHA-256 of all bytes.
    digest: String,
    count: usize,
}

impl Chunks {
    /// The chunks of these bytes, of `size` bytes each.
    pub(crate) fn of(bytes: &[u8], size: usize) -> Self {
        Self { digest: digest(bytes), count: bytes.len().div_ceil(size.max(1)) }
    }

    /// What the annotations of a record's Secret say; none: it is in one piece.
    pub(crate) fn read(metadata: &serde_json::Map<String, Value>) -> Option<Self> {
        metadata.get("annotations")?.get(CHUNKS)?.as_str()?.parse().ok()
    }

    /// In how many Secrets they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The names of the Secrets, in order, of a record whose own Secret has this name.
    pub fn names<'a>(&'a self, record: &'a str) -> impl Iterator<Item = String> + 'a {
        let word = self.digest.get(..NAMED_BY).unwrap_or(&self.digest);
        (1..=self.count).map(move |place| format!("{record}.{word}.{place}"))
    }

    /// The Secrets as they are created. They are never changed.
    pub(crate) fn secrets(&self, record: &Value, bytes: &[u8], size: usize) -> Vec<Value> {
        let metadata = |field: &str| record.pointer(&format!("/metadata/{field}")).cloned();
        let name = metadata("name").unwrap_or_default();
        let labels = json!({
            "name": metadata("labels/name"),
            "owner": CHUNK_OWNER,
            "version": metadata("labels/version"),
        });
        let secret = |(name, bytes): (String, &[u8])| {
            json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": metadata("namespace"), "labels": labels},
                "type": CHUNK_TYPE,
                "immutable": true,
                "data": {"chunk": STANDARD.encode(bytes)},
            })
        };
        self.names(name.as_str().unwrap_or_default()).zip(bytes.chunks(size.max(1))).map(secret).collect()
    }

    /// The bytes of these Secrets, which are given in order; none: they are not what was stored.
    pub(crate) fn join(&self, secrets: &[Value]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for secret in secrets {
            let chunk = secret.pointer("/data/chunk")?.as_str()?;
            STANDARD.decode_vec(chunk, &mut bytes).ok()?;
        }
        (secrets.len() == self.count && digest(&bytes) == self.digest).then_some(bytes)
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.digest, self.count)
    }
}

impl FromStr for Chunks {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (digest, count) = text.split_once('/').ok_or(())?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let count = count.parse().ok().filter(|count| *count > 0).ok_or(())?;
        if is_digest { Ok(Self { digest: digest.to_owned(), count }) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 768 << 10;

    fn record() -> Value {
        json!({"metadata": {"name": "sh.helm.release.v1.web.v3", "namespace": "shop",
            "labels": {"name": "web", "owner": "helm", "version": "3", "status": "deployed"}}})
    }

    #[test]
    fn bytes_come_back_out_of_their_chunks_and_of_no_others() {
        let bytes: Vec<u8> = (0..SIZE * 2 + 5).map(|place| (place % 251) as u8).collect();
        let chunks = Chunks::of(&bytes, SIZE);
        assert_eq!(chunks.count(), 3);
        let secrets = chunks.secrets(&record(), &bytes, SIZE);
        assert_eq!(chunks.join(&secrets).unwrap(), bytes);
        assert_eq!(chunks.join(&secrets[..2]), None);
        let mut swapped = secrets.clone();
        swapped.swap(0, 1);
        assert_eq!(chunks.join(&swapped), None);
        assert_eq!(chunks.join(&[json!({})]), None);
    }

    #[test]
    fn a_chunk_is_named_by_its_record_and_its_content_and_is_none_of_helms() {
        let bytes = vec![7; SIZE + 1];
        let chunks = Chunks::of(&bytes, SIZE);
        let secrets = chunks.secrets(&record(), &bytes, SIZE);
        let names: Vec<_> = chunks.names("sh.helm.release.v1.web.v3").collect();
        assert_eq!(names.len(), 2);
        assert!(names[1].starts_with("sh.helm.release.v1.web.v3.") && names[1].ends_with(".2"), "{names:?}");
        assert_eq!(secrets[1]["metadata"]["name"], names[1]);
        assert_eq!(secrets[1]["metadata"]["namespace"], "shop");
        assert_eq!(
            secrets[1]["metadata"]["labels"],
            json!({"name": "web", "owner": "pilothouse", "version": "3"})
        );
        assert_eq!((&secrets[1]["type"], &secrets[1]["immutable"]), (&json!(CHUNK_TYPE), &json!(true)));
        assert_ne!(Chunks::of(&[8; SIZE + 1], SIZE).names("x").next(), chunks.names("x").next());
    }

    #[test]
    fn what_the_annotation_says_is_read_as_it_is_written() {
        let chunks = Chunks::of(&[1; 10], SIZE);
        assert_eq!(chunks.to_string().parse(), Ok(chunks));
        for broken in ["", "3", "abc/3", &format!("{}/0", "a".repeat(64)), &format!("{}/1", "z".repeat(64))] {
            assert_eq!(broken.parse::<Chunks>(), Err(()), "{broken}");
        }
    }
}
