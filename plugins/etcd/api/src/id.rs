//! Identifiers of etcd: 64 bits, written as etcdctl writes them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The identifier of a member or of a cluster; as text in hexadecimal, such as `8e9e05c52164694d`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Id {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom(format!("{text:?} is no identifier of etcd")))
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn an_identifier_is_written_as_etcdctl_writes_it_and_read_back() {
        let text = serde_json::to_string(&Id(0x8e9e_05c5_2164_694d)).unwrap();
        assert_eq!(text, "\"8e9e05c52164694d\"");
        assert_eq!(serde_json::from_str::<Id>(&text).unwrap(), Id(0x8e9e_05c5_2164_694d));
        assert!(serde_json::from_str::<Id>("\"leader\"").is_err());
    }
}
