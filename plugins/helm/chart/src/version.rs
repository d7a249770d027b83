//! Versions and ranges as Helm compares them: Masterminds/semver.

use helm_functions::semver::{Constraints, Version};

/// Whether a chart may have this version.
pub(crate) fn is_valid(version: &str) -> bool {
    Version::parse(version).is_ok()
}

/// Whether `version` lies in the range `constraint`; false when either cannot be read (`IsCompatibleRange`).
pub(crate) fn is_compatible(constraint: &str, version: &str) -> bool {
    match (Constraints::parse(constraint), Version::parse(version)) {
        (Ok(constraint), Ok(version)) => constraint.check(&version),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_masterminds() {
        for (constraint, version, want) in [
            ("^1.2.0", "1.9.9", true),
            ("~1.2", "1.3.0", false),
            (">=1.20.0-0", "v1.31.0", true),
            (">=1.20.0", "1.31.0-beta.1", false),
            ("1.x.x", "1.2.3", true),
            ("*", "0.1.0", true),
            ("", "0.1.0", false),
            ("nonsense", "1.0.0", false),
            ("*", "nonsense", false),
        ] {
            assert_eq!(is_compatible(constraint, version), want, "{constraint:?} {version:?}");
        }
        assert!(is_valid("1.0.0+build") && is_valid("v1") && !is_valid("one"));
    }
}
