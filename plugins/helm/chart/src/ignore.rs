//! `.helmignore`: which files of a chart directory are left out (Helm's `pkg/ignore`).
//!
//! Not gitignore: no `**`, the first rule that matches decides, and a negated rule (`!pattern`) *ignores*
//! whatever it does not match. A pattern with a slash is matched against the whole path, one without against
//! the last element; a trailing slash restricts it to directories.

use crate::{
    go_path,
    path_match::{BadPattern, matches},
};
use thiserror::Error;

/// Name of the file the rules are read from.
pub const HELM_IGNORE: &str = ".helmignore";

/// Why a `.helmignore` cannot be used; texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IgnoreError {
    /// A rule with `**`.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    /// A rule that is not a shell pattern.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
}

/// Rules in the order they are tried.
#[derive(Debug, Clone, Default)]
pub struct IgnoreRules {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Pattern,
    negated: bool,
    directories_only: bool,
    last_element_only: bool,
}

impl IgnoreRules {
    /// Reads a `.helmignore`; a byte order mark is skipped, blank lines and `#` lines are comments.
    ///
    /// # Errors
    /// The first rule that Helm would refuse.
    pub fn parse(text: &str) -> Result<Self, IgnoreError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rules = Self::default();
        for line in text.lines() {
            rules.add(line)?;
        }
        Ok(rules)
    }

    /// Adds the rule Helm always has: no dot files in `templates/`.
    ///
    /// # Errors
    /// None in practice: the rule is well formed.
    pub fn add_defaults(&mut self) -> Result<(), IgnoreError> {
        self.add("templates/.?*")
    }

    fn add(&mut self, line: &str) -> Result<(), IgnoreError> {
        let rule = line.trim();
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return Err(IgnoreError::DoubleStar);
        }
        // Any name would do that is not empty: Helm takes this one, which mistakes behind a star may slip past.
        matches(rule, "abc")?;
        let (negated, rule) = rule.strip_prefix('!').map_or((false, rule), |rule| (true, rule));
        let (directories_only, rule) = rule.strip_suffix('/').map_or((false, rule), |rule| (true, rule));
        let (anchored, rule) = rule.strip_prefix('/').map_or((false, rule), |rule| (true, rule));
        self.rules.push(Rule {
            pattern: Pattern::new(rule),
            negated,
            directories_only,
            last_element_only: !anchored && !rule.contains('/'),
        });
        Ok(())
    }

    /// Whether one entry is ignored, its parents left aside. `path` is relative to the chart, with slashes.
    #[must_use]
    pub fn ignores(&self, path: &str, is_directory: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        let base = go_path::base(path);
        for rule in &self.rules {
            let matches = || rule.pattern.matches(if rule.last_element_only { base } else { path });
            if rule.negated {
                if (rule.directories_only && !is_directory) || !matches() {
                    return true;
                }
            } else if (is_directory || !rule.directories_only) && matches() {
                return true;
            }
        }
        false
    }

    /// Whether a file is left out: it or a directory above it is ignored.
    #[must_use]
    pub fn ignores_file(&self, path: &str) -> bool {
        self.files().ignores(path)
    }

    /// Asks about many files: those of a directory should come one after the other.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        Files { rules: self, directory: String::new(), ignored: false }
    }
}

/// What is left out of many files, one after the other.
#[derive(Debug)]
pub struct Files<'r> {
    rules: &'r IgnoreRules,
    /// The directory of the last file, and whether it or one above it is ignored.
    directory: String,
    ignored: bool,
}

impl Files<'_> {
    /// Whether a file is left out: it or a directory above it is ignored.
    pub fn ignores(&mut self, path: &str) -> bool {
        let directory = path.rfind('/').and_then(|slash| path.get(..slash)).unwrap_or_default();
        if directory != self.directory {
            let mut above = path.match_indices('/').filter_map(|(slash, _)| path.get(..slash));
            self.ignored = above.any(|directory| self.rules.ignores(directory, true));
            directory.clone_into(&mut self.directory);
        }
        self.ignored || self.rules.ignores(path, false)
    }
}

/// A shell pattern. Most are of a kind that is told at a glance.
#[derive(Debug, Clone)]
enum Pattern {
    /// No special character.
    Exact(String),
    /// A star, then none.
    Suffix(String),
    /// A star at the end only.
    Prefix(String),
    Other(String),
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        let plain = |text: &&str| !text.contains(['*', '?', '[', '\\']);
        if plain(&pattern) {
            Self::Exact(pattern.to_owned())
        } else if let Some(suffix) = pattern.strip_prefix('*').filter(plain) {
            Self::Suffix(suffix.to_owned())
        } else if let Some(prefix) = pattern.strip_suffix('*').filter(plain) {
            Self::Prefix(prefix.to_owned())
        } else {
            Self::Other(pattern.to_owned())
        }
    }

    fn matches(&self, name: &str) -> bool {
        let no_slash = |rest: &str| !rest.contains('/');
        match self {
            Self::Exact(text) => name == text,
            Self::Suffix(suffix) => name.strip_suffix(suffix.as_str()).is_some_and(no_slash),
            Self::Prefix(prefix) => name.strip_prefix(prefix.as_str()).is_some_and(no_slash),
            // Helm logs a mistake that shows only now, and goes on.
            Self::Other(pattern) => matches(pattern, name).unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(rules: &str, path: &str, is_directory: bool) -> bool {
        IgnoreRules::parse(rules).unwrap().ignores(path, is_directory)
    }

    #[test]
    fn rules_match_as_helm_says() {
        for (rules, path, is_directory, want) in [
            ("helm.txt", "helm.txt", false, true),
            ("helm.*", "helm.txt", false, true),
            ("helm.*", "rudder.txt", false, false),
            ("*.txt", "tiller.txt", false, true),
            ("*.txt", "cargo/a.txt", false, true),
            ("cargo/*.txt", "cargo/a.txt", false, true),
            ("cargo/*.*", "cargo/a.txt", false, true),
            ("ru[c-e]?er.txt", "rudder.txt", false, true),
            ("templates/.?*", "templates/.dotfile", false, true),
            (".*", ".", false, false),
            (".*", "./", false, false),
            (".*", ".joonix", false, true),
            (".*", "helm.txt", false, false),
            (".*", "", false, false),
            ("cargo/", "cargo", true, true),
            ("cargo/", "cargo", false, false),
            ("cargo/", "mast/", false, false),
            ("helm.txt/", "helm.txt", false, false),
            ("!helm.txt", "helm.txt", false, false),
            ("!helm.txt", "tiller.txt", false, true),
            ("!*.txt", "cargo", true, true),
            ("!cargo/", "mast/", true, true),
            ("/a.txt", "a.txt", false, true),
            ("/a.txt", "cargo/a.txt", false, false),
            ("/cargo/a.txt", "cargo/a.txt", false, true),
            ("notes*\n!helm.txt", "rudder.txt", false, true),
            ("# comment\n\n  spaced.txt  ", "spaced.txt", false, true),
            ("\u{feff}bom.txt", "bom.txt", false, true),
            ("crlf.txt\r\nother\r\n", "crlf.txt", false, true),
        ] {
            assert_eq!(ignored(rules, path, is_directory), want, "{rules:?} on {path:?}");
        }
    }

    #[test]
    fn a_file_is_left_out_with_its_ignored_directory() {
        let rules = IgnoreRules::parse("ci/").unwrap();
        assert!(rules.ignores_file("ci/values.yaml"));
        assert!(rules.ignores_file("deep/ci/more/values.yaml"));
        assert!(!rules.ignores_file("ci"));
    }

    #[test]
    fn dot_files_in_templates_are_ignored_by_default() {
        let mut rules = IgnoreRules::default();
        rules.add_defaults().unwrap();
        assert!(rules.ignores_file("templates/.hidden.yaml"));
        assert!(!rules.ignores_file("templates/shown.yaml"));
        assert!(!rules.ignores_file(".hidden"));
    }

    #[test]
    fn what_is_told_at_a_glance_is_what_the_pattern_says() {
        let patterns = ["", "a", "a.b", "*", "*a", "a*", "*.b", "a/*", "*/b", "a/b", "**", "a]", "*]", "ä*"];
        let names = ["", "a", "b", "ab", "a.b", "a/b", "x/a", "a/b/c", "a]", "ä", "äb", "/", "a/"];
        for (pattern, name) in patterns.iter().flat_map(|p| names.iter().map(move |n| (p, n))) {
            let told = Pattern::new(pattern).matches(name);
            assert_eq!(told, matches(pattern, name).unwrap(), "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn files_one_after_the_other_are_told_as_each_alone() {
        let rules = IgnoreRules::parse("ci/\n*.bak\ndocs/x.md").unwrap();
        let paths =
            ["a.yaml", "ci/a", "ci/b/c", "cib/a", "docs/x.md", "docs/y.md", "d/ci/a", "d/a.bak", "d/a"];
        let mut files = rules.files();
        let told = paths.map(|path| files.ignores(path));
        assert_eq!(told, [false, true, true, false, true, false, true, true, false]);
        assert_eq!(told, paths.map(|path| rules.ignores_file(path)));
    }

    #[test]
    fn double_stars_and_malformed_patterns_are_refused() {
        assert_eq!(IgnoreRules::parse("a/**/b").unwrap_err(), IgnoreError::DoubleStar);
        let error = IgnoreRules::parse("ok\n[").unwrap_err();
        assert_eq!(error.to_string(), "syntax error in pattern");
    }
}
