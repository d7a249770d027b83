//! Amounts of bytes as Kubernetes writes them: `500Mi`, `10G`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SUFFIXES: [(&str, u64); 11] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
    ("", 1),
];

/// An amount of bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(pub u64);

/// What is no amount of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no amount of bytes: write a whole number with Ki, Mi, Gi, Ti, Pi, k, M, G, T or P, such as 500Mi"
)]
pub struct QuantityError(String);

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let read = || {
            let (digits, factor) =
                SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)))?;
            let number =
                digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok())??;
            number.checked_mul(factor)
        };
        read().map(Self).ok_or_else(|| QuantityError(text.to_owned()))
    }
}

impl fmt::Display for Quantity {
    /// With the largest binary unit that leaves a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |unit: u64| self.0 >= unit && self.0.is_multiple_of(unit);
        match SUFFIXES.iter().take(5).rev().find(|(_, unit)| whole(*unit)) {
            Some((suffix, unit)) => write!(f, "{}{suffix}", self.0.checked_div(*unit).unwrap_or_default()),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "maxLength": 22, "pattern": "^[0-9]+(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?$"})
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn amounts_are_read_and_written_as_kubernetes_does() {
        for (text, bytes) in [("0", 0), ("500Mi", 524_288_000), ("10G", 10_000_000_000), ("1Ti", 1 << 40)] {
            assert_eq!(text.parse(), Ok(Quantity(bytes)), "{text}");
        }
        assert_eq!(Quantity(1 << 40).to_string(), "1Ti");
        assert_eq!(Quantity(1_000).to_string(), "1000");
        assert_eq!(Quantity(3 << 20).to_string(), "3Mi");
        for bad in ["", "Gi", "-1", "1.5Gi", "1e3", "+1", "99999999Pi"] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad}");
        }
    }
}
