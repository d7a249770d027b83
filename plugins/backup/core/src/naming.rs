//! Names of what is made. The same thing always has the same name, so nothing that was begun is lost track of.

use backup_api::HookRun;
use sha2::{Digest, Sha256};

use crate::backup::Object;

/// Names of Jobs are labels of their pods.
const LONGEST: usize = 63;

/// So many hexadecimal digits of a hash.
pub(crate) fn digest(text: &str, digits: usize) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(digits).collect()
}

/// A name of at most so many characters: what is too long ends with a hash of all of it.
pub(crate) fn limited(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let head: String = text.chars().take(longest.saturating_sub(9)).collect();
    format!("{}-{}", head.trim_end_matches(['-', '.']), digest(text, 8))
}

/// What tells apart attempts of backups of one subject.
pub(crate) fn short_id(uid: &str, attempt: u32) -> String {
    digest(&format!("{uid}/{attempt}"), 8)
}

/// A Job, a Secret, a reading: of an object, for a purpose, in an attempt.
pub(crate) fn task(object: &str, word: &str, attempt: u32) -> String {
    // Dots are allowed in names of objects, but not where a Job's name becomes a part of a host's. `a.b` and `a-b` are two objects.
    let object = if object.contains('.') {
        format!("{}-{}", object.replace('.', "-"), digest(object, 8))
    } else {
        object.to_owned()
    };
    let tail = format!("-{word}-{attempt}");
    let room = LONGEST.saturating_sub(tail.len());
    format!("{}{tail}", limited(&object, room))
}

/// A VolumeSnapshot of a claim.
pub(crate) fn snapshot(task: &str, claim: &str) -> String {
    limited(&format!("{task}-{claim}"), 253)
}

/// A command, which is another one each time it is begun.
pub(crate) fn command(attempt: u32, hook: &HookRun) -> String {
    let list = if hook.post { "post" } else { "pre" };
    let pod = digest(&hook.uid, 8);
    format!("exec-{attempt}-{list}-{}-{pod}-{}", hook.index, hook.tries)
}

/// The address of snapshots that are nowhere but in the cluster.
pub(crate) fn snapshot_uri(object: Object<'_>) -> String {
    format!("snapshots://{}/{}", object.namespace, object.name)
}

/// Is it a SHA-256 in lower-case hexadecimal?
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_again_and_never_too_long() {
        assert_eq!(task("nightly", "dump", 1), "nightly-dump-1");
        let long = "a".repeat(200);
        let name = task(&long, "dump", 12);
        assert_eq!(name.len(), 63);
        assert_eq!(name, task(&long, "dump", 12));
        assert_ne!(name, task(&format!("{long}b"), "dump", 12));
        assert!(name.ends_with("-dump-12"));
        assert!(!task("a.b", "dump", 1).contains('.'));
        assert_ne!(task("a.b", "dump", 1), task("a-b", "dump", 1));
        assert_ne!(short_id("u", 1), short_id("u", 2));
    }
}
