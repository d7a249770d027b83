//! Versions and constraints as Masterminds/semver v3 reads them; Helm uses it for `semverCompare`, `kubeVersion` and the
//! versions of dependencies.

use std::cmp::Ordering;
use std::fmt;

use helm_template::strconv::{NumberError, parse_uint};
use helm_template::{Signature, Type, Value};

use crate::register::{Register, fail, text};

mod change;
mod constraint;
mod object;
mod reading;

pub use constraint::Constraints;

/// Why a text is no version or constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// `ErrInvalidSemVer`.
    #[error("invalid semantic version")]
    Version,
    /// `ErrSegmentStartsZero`: a number of the pre-release has a zero in front.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// `ErrVersionTooLong`.
    #[error("version string is too long (max {MAX_VERSION} bytes)")]
    TooLong,
    /// `ErrInvalidPrerelease`.
    #[error("invalid prerelease string")]
    Prerelease,
    /// `ErrInvalidMetadata`.
    #[error("invalid metadata string")]
    Metadata,
    /// A number is larger than 64 bits.
    #[error("error parsing version segment: {0}")]
    Number(#[from] NumberError),
    /// A constraint that cannot be read.
    #[error("improper constraint: {}", helm_template::fmt::quote(.0.as_bytes()))]
    Constraint(String),
    /// `ErrConstraintTooLong`.
    #[error("constraint string is too long (max {MAX_CONSTRAINT} bytes)")]
    ConstraintTooLong,
    /// `ErrTooManyConstraintGroups`.
    #[error("too many constraint groups (max {MAX_GROUPS})")]
    TooManyGroups,
    /// A constraint whose version is none.
    #[error("constraint parser error")]
    ConstraintVersion,
}

/// The longest version that is read.
const MAX_VERSION: usize = 256;
/// The longest constraint that is read.
const MAX_CONSTRAINT: usize = 512;
/// The most alternatives of a constraint.
const MAX_GROUPS: usize = 32;

/// A version. Missing parts are zero; a leading `v` is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        if source.len() > MAX_VERSION {
            return Err(SemverError::TooLong);
        }
        let body = source.strip_prefix('v').unwrap_or(source);
        let (body, metadata) = split_tail(body, '+')?;
        let (numbers, pre) = split_tail(body, '-')?;
        let mut parts = numbers.split('.');
        let segment = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if parts.clone().count() > 3 || !parts.clone().all(|part| segment(&part)) {
            return Err(SemverError::Version);
        }
        let mut next = || parts.next().map_or(Ok(0), |part| parse_uint(part, 10, 64));
        let (major, minor, patch) = (next()?, next()?, next()?);
        let leading_zero =
            |part: &str| part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit());
        if pre.split('.').any(leading_zero) {
            return Err(SemverError::LeadingZero);
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

/// `comparePrerelease`: numbers before texts, fewer parts before more.
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

/// Whether a value is a `*semver.Version`.
pub(crate) fn is_object(value: &Value) -> bool {
    object::of(value).is_some()
}

/// A `*semver.Version` of nothing.
pub(crate) fn zero() -> Value {
    let none = String::new;
    let version = Version { major: 0, minor: 0, patch: 0, pre: none(), metadata: none(), original: none() };
    object::value(version)
}

pub(crate) fn register(all: &mut Register) {
    all.add("semver", Signature::new(&[Type::String], object::POINTER).fallible(), |args| {
        let version = Version::parse(&String::from_utf8_lossy(text(args, 0)))
            .map_err(|error| fail(error.to_string()))?;
        Ok(object::value(version))
    });
    all.add("semverCompare", Signature::new(&[Type::String, Type::String], Type::Bool).fallible(), |args| {
        let Ok(constraint) = std::str::from_utf8(text(args, 0)) else {
            return Err(fail(format!("improper constraint: {}", helm_template::fmt::quote(text(args, 0)))));
        };
        let constraint = Constraints::parse(constraint).map_err(|error| fail(error.to_string()))?;
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
        for wrong in ["", "a", "1.2.3.4", "1.-2", "1.2.3-", "1.2.3+"] {
            assert_eq!(Version::parse(wrong), Err(SemverError::Version), "{wrong}");
        }
        assert_eq!(Version::parse("1.2.3-01"), Err(SemverError::LeadingZero));
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
