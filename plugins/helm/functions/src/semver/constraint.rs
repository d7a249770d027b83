//! Constraints: `>=1.2 <2 || ~1.5, !=1.6.1`, as constraints.go of Masterminds/semver v3 checks them.

use std::cmp::Ordering;

use super::{SemverError, Version};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// One comparison; which parts of its version were wildcards or missing.
#[derive(Clone, Debug)]
struct Constraint {
    operator: Operator,
    version: Version,
    any_minor: bool,
    any_patch: bool,
    /// The whole version is a wildcard.
    any: bool,
}

/// Alternatives of conjunctions.
#[derive(Clone, Debug)]
pub struct Constraints {
    alternatives: Vec<Vec<Constraint>>,
}

impl Constraints {
    /// `NewConstraint`.
    ///
    /// # Errors
    /// Names the text that cannot be read.
    pub fn parse(source: &str) -> Result<Self, SemverError> {
        let expanded = expand_hyphens(source);
        let mut alternatives = Vec::new();
        for part in expanded.split("||") {
            let improper = || SemverError::Constraint(part.to_owned());
            let mut all = Vec::new();
            for token in tokens(part).ok_or_else(improper)? {
                all.push(Constraint::parse(&token)?);
            }
            if all.is_empty() {
                return Err(improper());
            }
            alternatives.push(all);
        }
        Ok(Self { alternatives })
    }

    /// Whether a version satisfies one of the alternatives. Pre-releases satisfy only where a constraint of the alternative
    /// names one.
    pub fn check(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|constraint| constraint.check(version)))
    }
}

/// `1.2 - 2.3` is `>=1.2 <=2.3`; the spaces make the difference to a pre-release.
fn expand_hyphens(source: &str) -> String {
    let mut out = source.to_owned();
    while let Some(at) = out.find(" - ") {
        let (left, right) = out.split_at(at);
        let right = right.strip_prefix(" - ").unwrap_or_default().trim_start();
        let start = left.trim_end().rfind([' ', ',', '|']).map_or(0, |space| space + 1);
        let (before, low) = left.split_at(start);
        out = format!("{before}>={} <={right}", low.trim());
    }
    out
}

/// Operator and version together, parted by spaces or commas.
fn tokens(part: &str) -> Option<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = part.trim_start_matches([' ', ',', '\t']);
    while !rest.is_empty() {
        let operator_end = rest.find(|c: char| !"=!<>~^".contains(c)).unwrap_or(rest.len());
        let (operator, after) = rest.split_at(operator_end);
        let after = after.trim_start();
        let version_end = after.find([' ', ',', '\t']).unwrap_or(after.len());
        let (version, tail) = after.split_at(version_end);
        if version.is_empty() {
            return None;
        }
        tokens.push(format!("{operator}{version}"));
        rest = tail.trim_start_matches([' ', ',', '\t']);
    }
    Some(tokens)
}

impl Constraint {
    fn parse(token: &str) -> Result<Self, SemverError> {
        let improper = || SemverError::Constraint(token.to_owned());
        let end = token.find(|c: char| !"=!<>~^".contains(c)).unwrap_or(token.len());
        let (operator, body) = token.split_at(end);
        let operator = match operator {
            "" | "=" => Operator::Equal,
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            ">=" | "=>" => Operator::GreaterEqual,
            "<=" | "=<" => Operator::LessEqual,
            "~" | "~>" => Operator::Tilde,
            "^" => Operator::Caret,
            _ => return Err(improper()),
        };
        let bare = body.strip_prefix('v').unwrap_or(body);
        let numbers_end = bare.find(['-', '+']).unwrap_or(bare.len());
        let (numbers, tail) = bare.split_at(numbers_end);
        let parts: Vec<&str> = numbers.split('.').collect();
        let wild = |index: usize| parts.get(index).is_none_or(|part| matches!(*part, "x" | "X" | "*"));
        let number = |index: usize| parts.get(index).copied().filter(|_| !wild(index)).unwrap_or("0");
        if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
            return Err(improper());
        }
        let (any, any_minor) = (wild(0), wild(0) || wild(1));
        let any_patch = any_minor || wild(2);
        let text =
            if any { "0.0.0".to_owned() } else { format!("{}.{}.{}{tail}", number(0), number(1), number(2)) };
        let version = Version::parse(&text).map_err(|_| improper())?;
        // A wildcard version with `=` is a tilde range; alone it is anything.
        let operator = if operator == Operator::Equal && any_patch { Operator::Tilde } else { operator };
        Ok(Self { operator, version, any_minor, any_patch, any })
    }

    fn check(&self, version: &Version) -> bool {
        // A pre-release is only asked for by a constraint that has one itself.
        if !version.pre.is_empty() && self.version.pre.is_empty() {
            return false;
        }
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::NotEqual => self.differs(version, order),
            Operator::Greater => self.greater(version, order),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterEqual => order != Ordering::Less,
            Operator::LessEqual => self.at_most(version, order),
            Operator::Tilde => self.tilde(version, order),
            Operator::Caret => self.caret(version, order),
        }
    }

    fn differs(&self, version: &Version, order: Ordering) -> bool {
        if self.any_patch {
            if version.major != self.version.major {
                return true;
            }
            if version.minor != self.version.minor && !self.any_minor {
                return true;
            }
            return false;
        }
        order != Ordering::Equal
    }

    /// `>1.2` means beyond all of 1.2.
    fn greater(&self, version: &Version, order: Ordering) -> bool {
        if !self.any_patch {
            return order == Ordering::Greater;
        }
        if self.any_minor {
            return version.major > self.version.major;
        }
        (version.major, version.minor) > (self.version.major, self.version.minor)
    }

    /// `<=1.2` includes all of 1.2.
    fn at_most(&self, version: &Version, order: Ordering) -> bool {
        if !self.any_patch {
            return order != Ordering::Greater;
        }
        if self.any_minor {
            return version.major <= self.version.major;
        }
        (version.major, version.minor) <= (self.version.major, self.version.minor)
    }

    fn tilde(&self, version: &Version, order: Ordering) -> bool {
        if self.any {
            return true;
        }
        order != Ordering::Less
            && version.major == self.version.major
            && (self.any_minor || version.minor == self.version.minor)
    }

    /// The leftmost number that is not zero stays.
    fn caret(&self, version: &Version, order: Ordering) -> bool {
        if self.any {
            return true;
        }
        if order == Ordering::Less {
            return false;
        }
        if self.version.major > 0 || self.any_minor {
            return version.major == self.version.major;
        }
        if version.major > 0 {
            return false;
        }
        if self.version.minor > 0 || self.any_patch {
            return version.minor == self.version.minor;
        }
        version.minor == 0 && version.patch == self.version.patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_hold_as_masterminds_has_it() {
        for (constraint, version, holds) in [
            (">=1.14-0", "v1.31.0", true),
            (">=1.19-0", "1.18.20", false),
            ("^1.2.3", "1.9.0", true),
            ("^1.2.3", "2.0.0", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("~1.2", "1.2.9", true),
            ("~1.2", "1.3.0", false),
            ("~1", "1.9.9", true),
            ("10.15.x", "10.15.2", true),
            ("10.15.x", "10.16.0", false),
            ("*", "3.0.0", true),
            ("*", "3.0.0-rc1", false),
            ("1.2 - 2.3.4", "2.3.5", false),
            ("1.2 - 2.3.4", "1.2.0", true),
            (">1.2, <2 || =3.1.4", "3.1.4", true),
            (">1.2", "1.2.5", false),
            ("<=1.2", "1.2.9", true),
            ("!=1.x", "1.5.0", false),
            ("!=1.x", "2.0.0", true),
            (">= 1.2.0 < 2.0.0", "1.5.0", true),
            (">=1.2.0", "1.3.0-beta", false),
            (">=1.2.0-0", "1.3.0-beta", true),
        ] {
            let parsed = Constraints::parse(constraint).unwrap();
            assert_eq!(parsed.check(&Version::parse(version).unwrap()), holds, "{constraint} {version}");
        }
        for wrong in ["", ">>1", "a.b", "1.2.3.4", "=="] {
            assert!(Constraints::parse(wrong).is_err(), "{wrong}");
        }
    }
}
