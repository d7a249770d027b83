//! Templates that tell how they decide: watched pipelines become the last argument of a function that looks on.
//!
//! `{{ if .Values.a }}` becomes `{{ if surveyProbe 7 (surveyMark) . (.Values.a) }}`: the function is told which place in
//! the chart this is, how much was told before the pipeline was evaluated, what the paths in the pipeline begin with, and the
//! pipeline's value, which it returns.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::actions::{Action, Keyword, Token, TokenKind};
use super::blocks::{Text, Watched, assigned, is_head};

/// Name of the function that is told of a pipeline.
pub(crate) const PROBE: &str = "surveyProbe";
/// Name of the function that says how much was told.
pub(crate) const MARK: &str = "surveyMark";

/// What a place in a template does with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Use {
    If,
    With,
    Range,
    /// A variable gets it.
    Assign(String),
    Print,
}

impl Use {
    /// Whether one of two ways is taken.
    pub(crate) fn decides(&self) -> bool {
        matches!(self, Self::If | Self::With | Self::Range)
    }
}

/// A constant of a pipeline.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(crate) enum Literal {
    Text(String),
    Number(f64),
}

/// A place in a template that is watched.
#[derive(Debug)]
pub(crate) struct Site {
    /// Which of the texts.
    pub(crate) text: usize,
    pub(crate) role: Use,
    /// It stands on the line of a kind or of an `apiVersion`.
    pub(crate) head: bool,
    /// A kind is written where it decides.
    pub(crate) encloses: bool,
    /// Fields of what the bases are, by the number of the base.
    pub(crate) paths: Vec<(usize, Vec<String>)>,
    /// Variables that are asked.
    pub(crate) variables: BTreeSet<String>,
    pub(crate) literals: Vec<Literal>,
    /// What `.Capabilities.APIVersions.Has` is asked for.
    pub(crate) apis: BTreeSet<String>,
    /// `.Release.IsInstall` or `.Release.IsUpgrade` is asked.
    pub(crate) upgrade: bool,
    /// The version of Kubernetes is asked.
    pub(crate) version: bool,
}

/// Gives the text with its watched actions instrumented; `sites` gets them.
pub(crate) fn instrument(index: usize, text: &Text, watched: &Watched, sites: &mut Vec<Site>) -> String {
    let mut out = String::with_capacity(text.text.len() + watched.actions.len() * 48);
    let mut copied = 0;
    for (number, action) in text.actions.iter().enumerate() {
        if !watched.actions.contains(&number) && !is_head(text, action) {
            continue;
        }
        let Some((role, pipeline)) = pipeline(action) else { continue };
        let (Some(first), Some(last)) = (pipeline.first(), pipeline.last()) else { continue };
        let (mut site, bases) = Site::of(index, role, pipeline);
        site.head = is_head(text, action);
        site.encloses = watched.enclosing.contains(&number);
        let has_paths = !(site.paths.is_empty() && site.variables.is_empty());
        if !site.role.decides() && !has_paths && !asks_templates(pipeline) {
            continue;
        }
        let piece = |from: usize, to: usize| text.text.get(from..to).unwrap_or_default();
        let (before, inner) = (piece(copied, first.start), piece(first.start, last.end));
        let number = sites.len();
        // Writing to a string cannot fail.
        let _ = write!(out, "{before}{PROBE} {number} ({MARK}) {} ({inner})", bases.join(" "));
        copied = last.end;
        sites.push(site);
    }
    out.push_str(text.text.get(copied..).unwrap_or_default());
    out
}

fn asks_templates(pipeline: &[Token]) -> bool {
    pipeline.iter().any(|token| token.kind == TokenKind::Word("include".to_owned()))
}

/// What an action does, and the words whose value it is about.
fn pipeline(action: &Action) -> Option<(Use, &[Token])> {
    let tokens = action.tokens.as_slice();
    let role = match action.keyword {
        Keyword::If | Keyword::ElseIf => Use::If,
        Keyword::With | Keyword::ElseWith => Use::With,
        Keyword::Range => Use::Range,
        Keyword::Other => match assigned(action) {
            Some(name) => Use::Assign(name.to_owned()),
            None => Use::Print,
        },
        _ => return None,
    };
    let mut depth = 0_usize;
    let declared = tokens.iter().position(|token| {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(token.kind, TokenKind::Declare | TokenKind::Assign)
    });
    let tokens = tokens.get(declared.map_or(0, |at| at + 1)..)?;
    let control = |word: &String| matches!(word.as_str(), "break" | "continue" | "nil");
    match tokens {
        [] => None,
        [Token { kind: TokenKind::Word(word), .. }] if control(word) => None,
        tokens => Some((role, tokens)),
    }
}

impl Site {
    fn of(text: usize, role: Use, pipeline: &[Token]) -> (Self, Vec<String>) {
        let mut site = Self {
            text,
            role,
            head: false,
            encloses: false,
            paths: Vec::new(),
            variables: BTreeSet::new(),
            literals: Vec::new(),
            apis: BTreeSet::new(),
            upgrade: false,
            version: false,
        };
        let mut bases = Vec::new();
        // Whether constants are keys of what stands in front of them.
        let (mut by_key, mut asks_api) = (false, false);
        for token in pipeline {
            match &token.kind {
                TokenKind::Word(word) => {
                    by_key = matches!(word.as_str(), "index" | "get" | "hasKey");
                    site.version |= word == "semverCompare";
                }
                TokenKind::Open | TokenKind::Close | TokenKind::Pipe => (by_key, asks_api) = (false, false),
                TokenKind::Dot(names) => asks_api |= site.path(".", names, &mut bases),
                TokenKind::Variable(name, names) => {
                    if name != "$" {
                        site.variables.insert(name.clone());
                    }
                    asks_api |= site.path(name, names, &mut bases);
                }
                TokenKind::Text(text) if asks_api => drop(site.apis.insert(text.clone())),
                TokenKind::Text(text) if by_key && !site.paths.is_empty() => {
                    if let Some((_, names)) = site.paths.last_mut() {
                        names.push(text.clone());
                    }
                }
                TokenKind::Text(text) => site.literals.push(Literal::Text(text.clone())),
                TokenKind::Number(number) => site.literals.push(Literal::Number(*number)),
                _ => {}
            }
        }
        (site, bases)
    }

    /// Notes a path; whether it is the question for an API.
    fn path(&mut self, base: &str, names: &[String], bases: &mut Vec<String>) -> bool {
        let asks = |words: &[&str]| names.windows(words.len()).any(|window| window == words);
        self.upgrade |= asks(&["Release", "IsUpgrade"]) || asks(&["Release", "IsInstall"]);
        self.version |= asks(&["Capabilities", "KubeVersion"]);
        if asks(&["Capabilities"]) || asks(&["Release"]) {
            return asks(&["APIVersions", "Has"]);
        }
        let number = bases.iter().position(|known| known == base).unwrap_or_else(|| {
            bases.push(base.to_owned());
            bases.len() - 1
        });
        self.paths.push((number, names.to_vec()));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::blocks::watched;

    fn instrumented(text: &str) -> (String, Vec<Site>) {
        let texts = [Text::new(text)];
        let watched = watched(&texts);
        let mut sites = Vec::new();
        (instrument(0, &texts[0], &watched[0], &mut sites), sites)
    }

    #[test]
    fn watched_pipelines_are_told_of_with_what_their_paths_begin_with() {
        let text = "{{- if and .Values.a ($x.b | not) -}}\nkind: Job\n{{- end }}";
        let (text, sites) = instrumented(text);
        assert_eq!(
            text,
            "{{- if surveyProbe 0 (surveyMark) . $x (and .Values.a ($x.b | not)) -}}\nkind: Job\n{{- end }}"
        );
        assert_eq!(sites[0].paths, [(0, vec!["Values".into(), "a".into()]), (1, vec!["b".into()])]);
    }

    #[test]
    fn declarations_stay_in_front_and_keys_belong_to_paths() {
        let text = "{{ range $k, $v := index .Values \"a-b\" }}\nkind: X\n{{ end }}";
        let (text, sites) = instrumented(text);
        assert!(
            text.starts_with("{{ range $k, $v := surveyProbe 0 (surveyMark) . (index .Values \"a-b\") }}")
        );
        assert_eq!(sites[0].paths, [(0, vec!["Values".into(), "a-b".into()])]);
        assert_eq!(sites[0].role, Use::Range);
    }

    #[test]
    fn constants_apis_and_facts_of_the_release_are_noted() {
        let text = "{{ if and (eq .Values.kind \"Job\") (.Capabilities.APIVersions.Has \"a/v1\") .Release.IsUpgrade }}\nkind: Y\n{{ end }}";
        let (_, sites) = instrumented(text);
        assert_eq!(sites[0].literals, [Literal::Text("Job".into())]);
        assert!(sites[0].apis.contains("a/v1") && sites[0].upgrade && !sites[0].version);
    }

    #[test]
    fn kinds_that_are_printed_are_watched() {
        let (text, sites) = instrumented("kind: {{ .Values.kind }}\n");
        assert_eq!(text, "kind: {{ surveyProbe 0 (surveyMark) . (.Values.kind) }}\n");
        assert_eq!(sites[0].role, Use::Print);
    }
}
