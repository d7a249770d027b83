//! Constraints: `>=1.2 <2 || ~1.5, !=1.6.1`, as constraints.go of Masterminds/semver v3 checks them.

mod plain;

use std::cell::OnceCell;
use std::cmp::Ordering;

use regex::Regex;

use self::plain::Parts;

use super::{MAX_CONSTRAINT, MAX_GROUPS, SemverError, Version, compare_pre};

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

/// One comparison. Which parts of its version were wildcards or missing decides with the operator.
#[derive(Clone, Debug)]
struct Constraint {
    operator: Operator,
    version: Version,
    /// Any part is a wildcard.
    dirty: bool,
    minor_dirty: bool,
    patch_dirty: bool,
}

/// A conjunction, and whether any of its versions is a pre-release: only then others can satisfy it.
#[derive(Clone, Debug)]
struct Alternative {
    constraints: Vec<Constraint>,
    with_pre: bool,
}

impl Alternative {
    fn of(constraints: Vec<Constraint>) -> Self {
        let with_pre = constraints.iter().any(|constraint| !constraint.version.pre.is_empty());
        Self { constraints, with_pre }
    }
}

/// Alternatives of conjunctions.
#[derive(Clone, Debug)]
pub struct Constraints {
    alternatives: Vec<Alternative>,
}

/// The grammar of constraints.
struct Grammar {
    /// `1.2 - 2.3`; the two versions are groups 1 and 2.
    range: Regex,
    /// All of an alternative.
    valid: Regex,
    /// One constraint somewhere: operator and version are its groups.
    one: Regex,
    /// One constraint and nothing else: operator, major, minor, patch, pre-release with its `-`.
    whole: Regex,
}

impl Grammar {
    fn new() -> Option<Self> {
        const SPACE: &str = r"[\t\n\f\r ]";
        const OPERATOR: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";
        const VERSION: &str = concat!(
            r"v?[0-9|xX*]+(?:\.[0-9|xX*]+)?(?:\.[0-9|xX*]+)?",
            r"(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
        );
        const PARTS: &str = concat!(
            r"v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?",
            r"(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
        );
        let one = format!("(?:{OPERATOR}){SPACE}*{VERSION}{SPACE}*");
        let compile = |pattern: String| Regex::new(&pattern).ok();
        Some(Self {
            range: compile(format!("{SPACE}*({VERSION}){SPACE}+-{SPACE}+({VERSION}){SPACE}*"))?,
            valid: compile(format!("^{SPACE}*{one}(?:(?:{SPACE}+|,{SPACE}*){one})*$"))?,
            one: compile(format!("(?:{OPERATOR}){SPACE}*{VERSION}"))?,
            whole: compile(format!("^{SPACE}*({OPERATOR}){SPACE}*{PARTS}{SPACE}*$"))?,
        })
    }

    fn with<R>(body: impl FnOnce(&Self) -> R) -> Option<R> {
        thread_local! {
            static GRAMMAR: OnceCell<Option<Grammar>> = const { OnceCell::new() };
        }
        GRAMMAR.with(|grammar| grammar.get_or_init(Self::new).as_ref().map(body))
    }
}

impl Constraints {
    /// `NewConstraint`.
    ///
    /// # Errors
    /// Names the text that cannot be read.
    pub fn parse(source: &str) -> Result<Self, SemverError> {
        if source.len() > MAX_CONSTRAINT {
            return Err(SemverError::ConstraintTooLong);
        }
        match Self::parse_plain(source) {
            Some(result) => result,
            None => Grammar::with(|grammar| Self::parse_by(grammar, source))
                .unwrap_or(Err(SemverError::ConstraintVersion)),
        }
    }

    fn parse_plain(source: &str) -> Option<Result<Self, SemverError>> {
        let parts: Vec<_> = source.split("||").map(plain::alternative).collect::<Option<_>>()?;
        if parts.len() > MAX_GROUPS {
            return Some(Err(SemverError::TooManyGroups));
        }
        let alternative = |parts: &Vec<Parts<'_>>| {
            parts.iter().map(Constraint::of).collect::<Result<_, _>>().map(Alternative::of)
        };
        let alternatives = parts.iter().map(alternative).collect::<Result<_, _>>();
        Some(alternatives.map(|alternatives| Self { alternatives }))
    }

    fn parse_by(grammar: &Grammar, source: &str) -> Result<Self, SemverError> {
        let expanded = expand_ranges(grammar, source);
        let parts: Vec<&str> = expanded.split("||").collect();
        if parts.len() > MAX_GROUPS {
            return Err(SemverError::TooManyGroups);
        }
        let alternative = |part: &str| {
            if !grammar.valid.is_match(part) {
                return Err(SemverError::Constraint(part.to_owned()));
            }
            let found = grammar.one.find_iter(part).map(|one| Constraint::parse(grammar, one.as_str()));
            Ok(Alternative::of(found.collect::<Result<_, _>>()?))
        };
        Ok(Self { alternatives: parts.into_iter().map(alternative).collect::<Result<_, _>>()? })
    }

    /// Whether a version satisfies one of the alternatives. Pre-releases satisfy only where a constraint of the alternative
    /// names one.
    pub fn check(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|alternative| {
            (version.pre.is_empty() || alternative.with_pre)
                && alternative.constraints.iter().all(|constraint| constraint.check(version))
        })
    }
}

/// `1.2 - 2.3` is `>= 1.2, <= 2.3`.
fn expand_ranges(grammar: &Grammar, source: &str) -> String {
    let mut out = source.to_owned();
    for range in grammar.range.captures_iter(source) {
        let part = |group| range.get(group).map_or("", |part| part.as_str());
        out = out.replacen(part(0), &format!(">= {}, <= {} ", part(1), part(2)), 1);
    }
    out
}

impl Constraint {
    fn parse(grammar: &Grammar, source: &str) -> Result<Self, SemverError> {
        let parts =
            grammar.whole.captures(source).ok_or_else(|| SemverError::Constraint(source.to_owned()))?;
        let part = |group| parts.get(group).map_or("", |part| part.as_str());
        let (operator, major, minor, patch, pre) = (part(1), part(2), part(3), part(4), part(5));
        Self::of(&Parts { operator, major, minor, patch, pre })
    }

    fn of(parts: &Parts<'_>) -> Result<Self, SemverError> {
        let Parts { operator, major, minor, patch, pre } = *parts;
        let wild = |part: &str| matches!(part.trim_start_matches('.'), "" | "x" | "*" | "X");
        let operator = match operator {
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            ">=" | "=>" => Operator::GreaterEqual,
            "<=" | "=<" => Operator::LessEqual,
            "~" | "~>" => Operator::Tilde,
            "^" => Operator::Caret,
            _ => Operator::Equal,
        };
        let (text, minor_dirty, patch_dirty) = if wild(major) {
            (format!("0.0.0{pre}"), false, false)
        } else if wild(minor) {
            (format!("{major}.0.0{pre}"), true, false)
        } else if wild(patch) {
            (format!("{major}{minor}.0{pre}"), false, true)
        } else {
            // Metadata does not matter to any comparison.
            (format!("{major}{minor}{patch}{pre}"), false, false)
        };
        let version = Version::parse(&text).map_err(|_| SemverError::ConstraintVersion)?;
        let dirty = wild(major) || minor_dirty || patch_dirty;
        Ok(Self { operator, version, dirty, minor_dirty, patch_dirty })
    }

    fn check(&self, version: &Version) -> bool {
        let order = version.compare(&self.version);
        match self.operator {
            Operator::Equal if self.dirty => self.tilde(version, order),
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
        if !self.dirty {
            return order != Ordering::Equal;
        }
        if version.major != self.version.major {
            return true;
        }
        if version.minor != self.version.minor && !self.minor_dirty {
            return true;
        }
        if self.minor_dirty {
            return false;
        }
        if version.patch != self.version.patch && !self.patch_dirty {
            return true;
        }
        if self.patch_dirty {
            let pre = (&*version.pre, &*self.version.pre);
            return pre != ("", "") && compare_pre(pre.0, pre.1) != Ordering::Equal;
        }
        order != Ordering::Equal
    }

    /// `>1.2` means beyond all of 1.2.
    fn greater(&self, version: &Version, order: Ordering) -> bool {
        if !self.dirty {
            return order == Ordering::Greater;
        }
        match version.major.cmp(&self.version.major) {
            Ordering::Equal if self.minor_dirty => false,
            Ordering::Equal if self.patch_dirty => version.minor > self.version.minor,
            Ordering::Equal => order == Ordering::Greater,
            major => major == Ordering::Greater,
        }
    }

    /// `<=1.2` includes all of 1.2.
    fn at_most(&self, version: &Version, order: Ordering) -> bool {
        if !self.dirty {
            return order != Ordering::Greater;
        }
        match version.major.cmp(&self.version.major) {
            Ordering::Equal => version.minor <= self.version.minor || self.minor_dirty,
            major => major == Ordering::Less,
        }
    }

    /// `~0.0.0` and `~*` mean at least that.
    fn tilde(&self, version: &Version, order: Ordering) -> bool {
        let wanted = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0) && !self.minor_dirty && !self.patch_dirty {
            return true;
        }
        version.major == wanted.major && (version.minor == wanted.minor || self.minor_dirty)
    }

    /// The leftmost number that is not zero stays.
    fn caret(&self, version: &Version, order: Ordering) -> bool {
        let wanted = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if wanted.major > 0 || self.minor_dirty {
            return version.major == wanted.major;
        }
        if version.major > 0 {
            return false;
        }
        if wanted.minor > 0 || self.patch_dirty {
            return version.minor == wanted.minor;
        }
        version.minor == 0 && version.patch == wanted.patch
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
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("~1.2", "1.3.0", false),
            ("~1", "1.9.9", true),
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
            (">=1.2.0", "1.3.0-beta", false),
            (">= 1.0.0-0 < 2.0.0", "1.3.0-beta", true),
        ] {
            let parsed = Constraints::parse(constraint).unwrap();
            assert_eq!(parsed.check(&Version::parse(version).unwrap()), holds, "{constraint} {version}");
        }
        for wrong in ["", ">>1", "a.b", "1.2.3.4", "=="] {
            assert!(Constraints::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_read_without_the_grammar_is_what_the_grammar_reads() {
        let operators = ["", "=", "!=", ">", ">=", "=>", "<=", "~", "~>", "^", "==", ">>", "^ ", "> = "];
        let versions = "1;v1;1.2;1.2.3;01.2.3;1.x;1.2.*;x;*;X.1;1.x.3;1.2.3-rc.1;1.2-a-b;1.2.3+m.1;1.2.3-r+m;1.2.3-;1.2.3+;\
                        1.2.3-a..b;1.2.3.4;1.xx;1.2x;1|2;v;;99999999999999999999.1;1.2 - 2.3;1.2 -2";
        let (mut plain, mut all) = (0, 0);
        let mut check = |source: &str| {
            all += 1;
            if let Some(read) = Constraints::parse_plain(source) {
                plain += 1;
                let grammar = Grammar::with(|grammar| Constraints::parse_by(grammar, source)).unwrap();
                assert_eq!(format!("{read:?}"), format!("{grammar:?}"), "{source:?}");
            }
        };
        for operator in operators {
            for version in versions.split(';') {
                let one = format!("{operator}{version}");
                check(&one);
                for between in [" ", ", ", ",", " , ", "||", " || ", "  ", ",,", ""] {
                    for other in ["<2.0.0-0", "> 1", "3.x", ""] {
                        check(&format!("{one}{between}{other}"));
                        check(&format!(" {other}{between}{one} "));
                    }
                }
            }
        }
        assert!(plain * 4 > all, "{plain} of {all}");
    }
}
