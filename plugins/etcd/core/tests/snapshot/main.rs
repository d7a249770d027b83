//! What a snapshot tells of its version.

#[cfg(test)]
mod database;

#[cfg(test)]
mod tests {
    use etcd_core::{
        backup::snapshot::{SnapshotError, unreadable, version},
        version::Version,
    };

    use super::database::{Layout, database};

    fn read(content: &[u8]) -> Result<Option<Version>, SnapshotError<&'static str>> {
        version(|offset, length| {
            let start = usize::try_from(offset).unwrap().min(content.len());
            let end = start.saturating_add(usize::try_from(length).unwrap()).min(content.len());
            Ok(content[start..end].to_vec())
        })
    }

    fn of(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn the_version_of_the_cluster_is_found_wherever_its_bucket_is_kept() {
        for layout in [Layout::Inline, Layout::Page, Layout::Branch] {
            let content = database(Some("3.6.0"), None, layout);
            assert_eq!(read(&content), Ok(Some(of("3.6.0"))), "{layout:?}");
        }
    }

    #[test]
    fn the_higher_one_of_cluster_and_storage_counts() {
        let of_both = |cluster, storage| read(&database(cluster, storage, Layout::Inline));
        assert_eq!(of_both(Some("3.6.0"), Some("3.7.0")), Ok(Some(of("3.7.0"))));
        assert_eq!(of_both(Some("3.6.0"), Some("3.5.0")), Ok(Some(of("3.6.0"))));
        assert_eq!(of_both(None, None), Ok(None));
    }

    #[test]
    fn what_is_no_database_is_no_version_and_no_panic() {
        assert_eq!(read(b""), Err(SnapshotError::Malformed));
        assert_eq!(read(b"data at 7"), Err(SnapshotError::Malformed));
        let whole = database(Some("3.6.0"), Some("3.6.0"), Layout::Branch);
        for end in (0..whole.len()).step_by(97) {
            let _ = read(&whole[..end]);
        }
        // Each byte of the pages that are read, in each of two ways.
        for at in (0..whole.len()).filter(|at| at % 4096 < 200) {
            for flip in [0xff, 0x01] {
                let mut content = whole.clone();
                content[at] ^= flip;
                let _ = read(&content);
            }
        }
    }

    #[test]
    fn pages_that_lead_in_a_circle_come_to_an_end() {
        let mut content = database(Some("3.6.0"), None, Layout::Branch);
        // The branch is the last page: its first child is itself.
        let last = content.len() / 4096 - 1;
        let child = last * 4096 + 16 + 8;
        content[child..child + 8].copy_from_slice(&u64::try_from(last).unwrap().to_le_bytes());
        assert_eq!(read(&content), Err(SnapshotError::Malformed));
    }

    #[test]
    fn a_store_that_does_not_answer_is_not_taken_for_a_bad_file() {
        assert_eq!(version(|_, _| Err("nobody")), Err(SnapshotError::Store("nobody")));
    }

    #[test]
    fn a_later_minor_is_not_read_and_an_earlier_one_is() {
        assert_eq!(unreadable(of("3.6.0"), of("3.6.16")), None);
        assert_eq!(unreadable(of("3.5.0"), of("3.6.16")), None);
        let why = unreadable(of("3.7.0"), of("3.6.16")).unwrap();
        assert!(why.contains("3.7") && why.contains("3.6.16"), "{why}");
    }
}
