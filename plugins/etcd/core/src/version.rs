//! Versions of etcd, and which may follow which.

use std::{fmt, str::FromStr};

/// A released version of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Always 3 among those that are supported.
    pub major: u32,
    /// The minor.
    pub minor: u32,
    /// The patch.
    pub patch: u32,
}

/// The lowest and the highest minor of etcd 3 whose options and rules are known here.
pub const SUPPORTED_MINORS: (u32, u32) = (4, 7);

/// Why a text is no version that can be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not three numbers.
    #[error("{0:?} is no version of etcd: write three numbers such as 3.6.16, with or without a leading v")]
    Malformed(String),
    /// A version whose options and rules are not known here.
    #[error("etcd {0} is not supported: versions from 3.4 to 3.7 are")]
    Unsupported(Version),
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || VersionError::Malformed(text.to_owned());
        let digits = text.strip_prefix('v').unwrap_or(text);
        let mut parts = digits.split('.').map(|part| {
            let plain = !part.is_empty() && part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
            let padded = part.len() > 1 && part.starts_with('0');
            part.parse::<u32>().ok().filter(|_| plain && !padded)
        });
        let mut next = || parts.next().flatten().ok_or_else(malformed);
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        if parts.next().is_some() { Err(malformed()) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads a version that can be run.
    ///
    /// # Errors
    /// [`VersionError`]: it is no version, or one that is not supported.
    pub fn supported(text: &str) -> Result<Self, VersionError> {
        let version: Self = text.parse()?;
        let (lowest, highest) = SUPPORTED_MINORS;
        if version.major == 3 && (lowest..=highest).contains(&version.minor) {
            Ok(version)
        } else {
            Err(VersionError::Unsupported(version))
        }
    }

    /// Major and minor, by which etcd tells what fits together.
    pub fn series(self) -> (u32, u32) {
        (self.major, self.minor)
    }
}

/// What lies between two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing, or another patch.
    Patch,
    /// One minor up.
    Upgrade,
    /// One minor down: etcd has to be told beforehand.
    Downgrade,
}

/// Why one version may not follow another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// More than one minor.
    #[error("etcd moves by one minor at a time: from {from} to {to} the next stop is {major}.{minor}")]
    TooFar {
        /// The version that runs.
        from: Version,
        /// The version asked for.
        to: Version,
        /// Major of the next stop.
        major: u32,
        /// Minor of the next stop.
        minor: u32,
    },
    /// The patch that runs is too old for the next minor.
    #[error(
        "before etcd {to} every member has to run {needed} or a later patch, and {from} is run: set the version to such a patch first"
    )]
    PatchFirst {
        /// The version that runs.
        from: Version,
        /// The version asked for.
        to: Version,
        /// The lowest patch from which it may follow.
        needed: Version,
    },
    /// A downgrade from before etcd had them.
    #[error("etcd {from} cannot be downgraded to {to}: only 3.6 and later can")]
    NoDowngrade {
        /// The version that runs.
        from: Version,
        /// The version asked for.
        to: Version,
    },
}

/// The lowest patch of the minor before from which a minor may follow: earlier ones left members behind in a store that
/// the newer minor reads (etcd's upgrade guides to 3.6 and 3.7).
fn needed_before(minor: u32) -> u32 {
    match minor {
        6 => 32,
        7 => 11,
        _ => 0,
    }
}

/// What lies between the version that runs and the one asked for, by etcd's rules.
///
/// # Errors
/// [`PathError`]: it may not follow.
pub fn step(from: Version, to: Version) -> Result<Step, PathError> {
    let too_far = |minor| Err(PathError::TooFar { from, to, major: from.major, minor });
    if from.major != to.major || to.minor > from.minor + 1 {
        return too_far(from.minor + 1);
    }
    if to.minor + 1 < from.minor {
        return too_far(from.minor - 1);
    }
    if to.minor > from.minor {
        let needed = Version { patch: needed_before(to.minor), ..from };
        return if from < needed {
            Err(PathError::PatchFirst { from, to, needed })
        } else {
            Ok(Step::Upgrade)
        };
    }
    match to.minor < from.minor {
        false => Ok(Step::Patch),
        true if from.minor < 6 => Err(PathError::NoDowngrade { from, to }),
        true => Ok(Step::Downgrade),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_read_with_and_without_v_and_nothing_else_is() {
        assert_eq!(version("v3.5.35"), version("3.5.35"));
        assert_eq!(version("3.10.0").to_string(), "3.10.0");
        for bad in [
            "latest",
            "3",
            "3.6",
            "3.6.1.1",
            "",
            "v",
            "3.6.x",
            "3.06.1",
            "+3.6.1",
            "vv3.6.1",
            "3.6.99999",
            "3.6.1-rc.0",
            " 3.6.1",
        ] {
            assert!(matches!(bad.parse::<Version>(), Err(VersionError::Malformed(_))), "{bad}");
        }
        for unsupported in ["3.2.13", "2.3.8", "4.0.0", "3.8.0"] {
            assert!(
                matches!(Version::supported(unsupported), Err(VersionError::Unsupported(_))),
                "{unsupported}"
            );
        }
    }

    #[test]
    fn versions_are_ordered_as_numbers() {
        assert!(version("3.5.9") < version("3.5.10"));
        assert!(version("3.4.99") < version("3.5.0"));
    }

    #[test]
    fn one_minor_at_a_time_and_down_only_where_etcd_can() {
        let case = |from, to| step(version(from), version(to));
        assert_eq!(case("3.5.35", "3.5.35"), Ok(Step::Patch));
        assert_eq!(case("3.5.35", "3.5.1"), Ok(Step::Patch));
        assert_eq!(case("3.5.35", "3.6.16"), Ok(Step::Upgrade));
        assert_eq!(case("3.6.16", "3.5.35"), Ok(Step::Downgrade));
        assert_eq!(case("3.7.3", "3.6.16"), Ok(Step::Downgrade));
        assert!(matches!(case("3.4.30", "3.6.16"), Err(PathError::TooFar { minor: 5, .. })));
        assert!(matches!(case("3.7.3", "3.5.35"), Err(PathError::TooFar { minor: 6, .. })));
        assert!(matches!(case("3.5.35", "3.4.30"), Err(PathError::NoDowngrade { .. })));
        let error = case("3.5.20", "3.6.16").unwrap_err();
        assert!(error.to_string().contains("3.5.32"), "{error}");
        assert!(matches!(case("3.6.10", "3.7.3"), Err(PathError::PatchFirst { .. })));
    }
}
