//! Versions and constraints as Masterminds/semver v3 reads them; Helm uses it for `semverCompare`, `kubeVersion` and the
//! versions of dependencies.

use std::cmp::Ordering;
use std::fmt;

use helm_template::{Signature, Type, Value};

use crate::register::{Register, fail, text};

mod constraint;
mod object;

pub use constraint::Constraints;

/// Why a text is no version or constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// `ErrInvalidSemVer`.
    #[error("invalid semantic version")]
    Version,
    /// A constraint that cannot be read.
    #[error("improper constraint: {0}")]
    Constraint(String),
}

/// A version. Missing parts are zero; a leading `v` is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    /// After `-`.
    pub pre: String,
    /// After `+`.
    pub metadata: String,
    original: String,
}

impl Version {
    /// `NewVersion`: one to three numbers, a pre-release, metadata.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(source: &str) -> Result<Self, SemverError> {
        let body = source.strip_prefix('v').unwrap_or(source);
        let (body, metadata) = split_tail(body, '+')?;
        let (numbers, pre) = match body.find('-') {
            Some(_) => split_tail(body, '-')?,
            None => (body, String::new()),
        };
        let mut parts = numbers.split('.');
        let mut next = || -> Result<u64, SemverError> {
            match parts.next() {
                None => Ok(0),
                Some(part) if !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()) => {
                    part.parse().map_err(|_| SemverError::Version)
                }
                Some(_) => Err(SemverError::Version),
            }
        };
        let (major, minor, patch) = (next()?, next()?, next()?);
        if parts.next().is_some() || numbers.is_empty() {
            return Err(SemverError::Version);
        }
        let leading_zero =
            |part: &str| part.len() > 1 && part.starts_with('0') && part.chars().all(|c| c.is_ascii_digit());
        if pre.split('.').any(leading_zero) {
            return Err(SemverError::Version);
        }
        Ok(Self { major, minor, patch, pre, metadata, original: source.to_owned() })
    }

    /// The text it was read from.
    pub fn original(&self) -> &str {
        &self.original
    }
}

/// The part after the first separator; identifiers of letters, digits and `-`, parted by dots.
fn split_tail(source: &str, separator: char) -> Result<(&str, String), SemverError> {
    let Some((head, tail)) = source.split_once(separator) else { return Ok((source, String::new())) };
    let identifier =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if tail.split('.').all(identifier) { Ok((head, tail.to_owned())) } else { Err(SemverError::Version) }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if self.metadata.is_empty() { Ok(()) } else { write!(f, "+{}", self.metadata) }
    }
}

impl Version {
    /// The order of versions (SemVer 2.0 §11); metadata does not matter.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_pre(&self.pre, &other.pre),
        })
    }
}

fn compare_pre(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

pub(crate) fn register(all: &mut Register) {
    all.add("semver", Signature::new(&[Type::String], Type::Any).fallible(), |args| {
        let version = Version::parse(&String::from_utf8_lossy(text(args, 0)))
            .map_err(|error| fail(error.to_string()))?;
        Ok(object::value(version))
    });
    all.add("semverCompare", Signature::new(&[Type::String, Type::String], Type::Bool).fallible(), |args| {
        let constraint = Constraints::parse(&String::from_utf8_lossy(text(args, 0)))
            .map_err(|error| fail(error.to_string()))?;
        let version = Version::parse(&String::from_utf8_lossy(text(args, 1)))
            .map_err(|error| fail(error.to_string()))?;
        Ok(Value::Bool(constraint.check(&version)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_loosely_and_written_whole() {
        assert_eq!(Version::parse("v1.2").unwrap().to_string(), "1.2.0");
        assert_eq!(Version::parse("1.31.0-rc.1+build.5").unwrap().to_string(), "1.31.0-rc.1+build.5");
        for wrong in ["", "a", "1.2.3.4", "1.-2", "1.2.3-", "1.2.3-01", "1.2.3+"] {
            assert_eq!(Version::parse(wrong), Err(SemverError::Version), "{wrong}");
        }
    }

    #[test]
    fn pre_releases_come_before_their_release_in_order() {
        let order = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
        ];
        for pair in order.windows(2) {
            let (a, b) = (Version::parse(pair[0]).unwrap(), Version::parse(pair[1]).unwrap());
            assert_eq!(a.compare(&b), Ordering::Less, "{pair:?}");
        }
    }
}
