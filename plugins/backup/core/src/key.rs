//! Keys of artefacts: `<namespace>/<Kind>.<group>/<name>/<time>-<id>`, and `.json` behind it for the entry of the catalogue.

use std::fmt;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// What the key of a catalogue's entry ends with.
pub const ENTRY: &str = ".json";
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// The key of an artefact below its storage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Namespace of the subject.
    pub namespace: String,
    /// API group of its kind; empty is Kubernetes' core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// When the backup began, to the second, in UTC.
    pub taken: Timestamp,
    /// Eight hexadecimal digits that tell attempts apart.
    pub id: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.taken.to_zoned(TimeZone::UTC);
        write!(f, "{}/{}-{}", self.directory(), time.strftime(TIME), self.id)
    }
}

impl Key {
    /// Reads a key; none: it is something else's.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (namespace, kind, name, last) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        let (time, id) = last.split_once('-')?;
        let taken = DateTime::strptime(TIME, time).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let key = Self {
            namespace: namespace.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            taken,
            id: id.to_owned(),
        };
        let hex = id.len() == 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let named = ![namespace, kind, name].contains(&"");
        (hex && named && parts.next().is_none() && key.to_string() == text).then_some(key)
    }

    /// Reads the key of a catalogue's entry; none: it is something else's.
    pub fn of_entry(text: &str) -> Option<Self> {
        Self::read(text.strip_suffix(ENTRY)?)
    }

    /// What the keys of one subject begin with, without a `/` at the end.
    pub fn directory(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}/{}{dot}{}/{}", self.namespace, self.kind, self.group, self.name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "shop/StatefulSet.apps/db/20260110T020304Z-0123abcd";

    #[test]
    fn a_key_tells_what_it_is_of() {
        let key = Key::read(TEXT).unwrap();
        assert_eq!(
            (key.namespace.as_str(), key.name.as_str(), key.kind.as_str()),
            ("shop", "db", "StatefulSet")
        );
        assert_eq!((key.group.as_str(), key.id.as_str()), ("apps", "0123abcd"));
        assert_eq!(key.taken, "2026-01-10T02:03:04Z".parse().unwrap());
        assert_eq!(key.to_string(), TEXT);
        assert_eq!(Key::of_entry(&format!("{TEXT}.json")), Some(key));
        assert_eq!(Key::read("a/Service/b/20260110T020304Z-0123abcd").unwrap().group, "");
    }

    #[test]
    fn what_only_looks_like_a_key_is_none() {
        for other in [
            "",
            "shop/StatefulSet.apps/db",
            "shop/StatefulSet.apps/db/20260110T020304Z-0123abc",
            "shop/StatefulSet.apps/db/20260110T020304Z-0123ABCD",
            "shop/StatefulSet.apps/db/20261310T020304Z-0123abcd",
            "shop/StatefulSet.apps/db/20260110T020304Z-0123abcd/x",
            "shop/StatefulSet.apps/db/20260110T020304Z-0123abcd.json",
            "shop/StatefulSet./db/20260110T020304Z-0123abcd",
            "shop/StatefulSet.apps//20260110T020304Z-0123abcd",
            "/StatefulSet.apps/db/20260110T020304Z-0123abcd",
            "prefix/shop/StatefulSet.apps/db/20260110T020304Z-0123abcd",
        ] {
            assert_eq!(Key::read(other), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn every_key_is_read_back(
            namespace in "[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?",
            kind in "[A-Z][A-Za-z0-9]{0,20}",
            group in "([a-z0-9]{1,9}(\\.[a-z0-9]{1,9}){0,3})?",
            name in "[a-z0-9]([-.a-z0-9]{0,40}[a-z0-9])?",
            second in 0_i64..4_000_000_000,
            id in "[0-9a-f]{8}",
        ) {
            let taken = Timestamp::from_second(second).unwrap();
            let key = Key { namespace, group, kind, name, taken, id };
            prop_assert_eq!(Key::read(&key.to_string()), Some(key));
        }

        #[test]
        fn no_text_is_read_as_another_key(text in "\\PC{0,60}") {
            if let Some(key) = Key::read(&text) {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }
}
