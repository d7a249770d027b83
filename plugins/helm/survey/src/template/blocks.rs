//! Which conditions of a chart decide about its objects.
//!
//! A chart has thousands of conditions, and most of them are about one line of a container. Those that matter enclose a
//! `kind:`, or call a template that does, or are in a template that such a condition asks, or are in a file with roles (there
//! every line is a right).

use std::collections::{BTreeMap, BTreeSet};

use super::actions::{Action, Keyword, Token, TokenKind, actions};

/// A template's text with its actions.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) actions: Vec<Action>,
    blocks: Vec<Block>,
    defines: Vec<Define>,
}

/// From a condition to its end.
#[derive(Debug)]
struct Block {
    /// Which of the actions.
    action: usize,
    end: usize,
}

/// A template that a text defines.
#[derive(Debug)]
struct Define {
    name: String,
    start: usize,
    end: usize,
}

/// Which actions of a text are worth watching.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Places in the list of the text's actions.
    pub(crate) actions: BTreeSet<usize>,
    /// Those of them that enclose a kind.
    pub(crate) enclosing: BTreeSet<usize>,
}

impl Text {
    pub(crate) fn new(text: &str) -> Self {
        let actions = actions(text);
        let mut read =
            Self { text: text.to_owned(), actions: Vec::new(), blocks: Vec::new(), defines: Vec::new() };
        let mut open: Vec<Vec<usize>> = Vec::new();
        for (index, action) in actions.iter().enumerate() {
            match action.keyword {
                Keyword::If | Keyword::With | Keyword::Range | Keyword::Define | Keyword::Block => {
                    open.push(vec![index]);
                }
                Keyword::ElseIf | Keyword::ElseWith => {
                    if let Some(chain) = open.last_mut() {
                        chain.push(index);
                    }
                }
                Keyword::End => read.close(&actions, &open.pop().unwrap_or_default(), action.start),
                Keyword::Else | Keyword::Template | Keyword::Other => {}
            }
        }
        read.actions = actions;
        read
    }

    fn close(&mut self, actions: &[Action], chain: &[usize], end: usize) {
        for &index in chain {
            let Some(action) = actions.get(index) else { continue };
            match (action.keyword, action.tokens.first().map(|token| &token.kind)) {
                (Keyword::Define | Keyword::Block, Some(TokenKind::Text(name))) => {
                    self.defines.push(Define { name: name.clone(), start: action.end, end });
                }
                (Keyword::Define | Keyword::Block, _) => {}
                _ => self.blocks.push(Block { action: index, end }),
            }
        }
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn within(&self, start: usize, end: usize) -> impl Iterator<Item = (usize, &Action)> {
        self.actions.iter().enumerate().filter(move |(_, action)| action.start >= start && action.end <= end)
    }

    fn calls(&self, start: usize, end: usize) -> impl Iterator<Item = &str> {
        self.within(start, end).flat_map(|(_, action)| called(action.keyword, &action.tokens))
    }

    fn has_roles(&self) -> bool {
        let role = |line: &str| line.trim_start().starts_with("kind:") && line.contains("Role");
        self.text.contains("rules:") && self.text.lines().any(role)
    }
}

/// Names of templates that an action calls.
fn called(keyword: Keyword, tokens: &[Token]) -> impl Iterator<Item = &str> {
    let names = tokens.windows(2).filter_map(|pair| match pair {
        [Token { kind: TokenKind::Word(word), .. }, Token { kind: TokenKind::Text(name), .. }]
            if word == "include" =>
        {
            Some(name.as_str())
        }
        _ => None,
    });
    let template = match (keyword, tokens.first().map(|token| &token.kind)) {
        (Keyword::Template | Keyword::Block, Some(TokenKind::Text(name))) => Some(name.as_str()),
        _ => None,
    };
    names.chain(template)
}

fn names_a_kind(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.strip_prefix("- ").unwrap_or(line).starts_with("kind:")
    })
}

/// The actions that are worth watching, for each text.
pub(crate) fn watched(texts: &[Text]) -> Vec<Watched> {
    let makers = makers(texts);
    let mut watched: Vec<Watched> = texts.iter().map(|text| conditions(text, &makers)).collect();
    for (text, watched) in texts.iter().zip(&mut watched) {
        assignments(text, watched);
    }
    helpers(texts, &mut watched);
    watched
}

/// Names of the templates that write a kind, or call one that does.
fn makers(texts: &[Text]) -> BTreeSet<&str> {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut makers = BTreeSet::new();
    for text in texts {
        for Define { name, start, end } in &text.defines {
            calls.entry(name).or_default().extend(text.calls(*start, *end));
            if names_a_kind(text.slice(*start, *end)) {
                makers.insert(name.as_str());
            }
        }
    }
    loop {
        let more: Vec<&str> = calls
            .iter()
            .filter(|(name, called)| !makers.contains(*name) && !called.is_disjoint(&makers))
            .map(|(name, _)| *name)
            .collect();
        if more.is_empty() {
            return makers;
        }
        makers.extend(more);
    }
}

fn conditions(text: &Text, makers: &BTreeSet<&str>) -> Watched {
    let all = text.has_roles();
    let mut watched = Watched::default();
    for block in &text.blocks {
        let Some(action) = text.actions.get(block.action) else { continue };
        let encloses = names_a_kind(text.slice(action.end, block.end));
        if encloses {
            watched.enclosing.insert(block.action);
        }
        if all || encloses || text.calls(action.end, block.end).any(|name| makers.contains(name)) {
            watched.actions.insert(block.action);
        }
    }
    watched
}

/// Variables that watched conditions ask.
fn assignments(text: &Text, watched: &mut Watched) {
    loop {
        let asked: BTreeSet<&str> = watched
            .actions
            .iter()
            .filter_map(|&index| text.actions.get(index))
            .flat_map(|action| &action.tokens)
            .filter_map(|token| match &token.kind {
                TokenKind::Variable(name, _) if name != "$" => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let more: Vec<usize> = (text.actions.iter().enumerate())
            .filter(|(index, action)| {
                action.keyword == Keyword::Other
                    && !watched.actions.contains(index)
                    && assigned(action).is_some_and(|name| asked.contains(name))
            })
            .map(|(index, _)| index)
            .collect();
        if more.is_empty() {
            return;
        }
        watched.actions.extend(more);
    }
}

/// The variable that an action sets.
pub(crate) fn assigned(action: &Action) -> Option<&str> {
    match action.tokens.as_slice() {
        [
            Token { kind: TokenKind::Variable(name, fields), .. },
            Token { kind: TokenKind::Declare | TokenKind::Assign, .. },
            _,
            ..,
        ] if fields.is_empty() => Some(name),
        _ => None,
    }
}

/// Everything in the templates that watched actions and the lines of kinds ask.
fn helpers(texts: &[Text], watched: &mut [Watched]) {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut next: BTreeSet<&str> = BTreeSet::new();
    for (text, watched) in texts.iter().zip(&*watched) {
        for (index, action) in text.actions.iter().enumerate() {
            if watched.actions.contains(&index) || is_head(text, action) {
                next.extend(called(action.keyword, &action.tokens));
            }
        }
    }
    while !next.is_empty() {
        known.extend(&next);
        let mut found = BTreeSet::new();
        for (text, watched) in texts.iter().zip(&mut *watched) {
            for define in text.defines.iter().filter(|define| next.contains(define.name.as_str())) {
                for (index, action) in text.within(define.start, define.end) {
                    found.extend(called(action.keyword, &action.tokens));
                    watched.actions.insert(index);
                }
            }
        }
        next = found.into_iter().filter(|name| !known.contains(name)).collect();
    }
}

/// Whether an action stands on the line of a kind or of an `apiVersion`.
pub(crate) fn is_head(text: &Text, action: &Action) -> bool {
    let before = text.slice(0, action.start);
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let line = line.strip_prefix("- ").unwrap_or(line);
    line.starts_with("kind:") || line.starts_with("apiVersion:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(texts: &[&str]) -> Vec<String> {
        let texts: Vec<Text> = texts.iter().map(|text| Text::new(text)).collect();
        let watched = watched(&texts);
        let mut seen = Vec::new();
        for (text, watched) in texts.iter().zip(&watched) {
            for &index in &watched.actions {
                let action = &text.actions[index];
                seen.push(text.slice(action.start, action.end).to_owned());
            }
        }
        seen
    }

    #[test]
    fn conditions_around_objects_are_watched_and_those_within_are_not() {
        let text = "{{ if .Values.a }}\nkind: Job\nspec:\n  {{ if .Values.b }}x: y{{ end }}\n{{ end }}";
        assert_eq!(seen(&[text]), ["{{ if .Values.a }}"]);
    }

    #[test]
    fn what_a_watched_condition_asks_is_watched_too() {
        let helpers = "{{ define \"on\" }}{{ if .Values.x }}true{{ end }}{{ end }}{{ define \"off\" }}{{ if .Values.y }}{{ end }}{{ end }}";
        let text = "{{ $on := include \"on\" . }}{{ if $on }}\nkind: Job\n{{ else if .Values.z }}\n{{ end }}";
        assert_eq!(
            seen(&[helpers, text]),
            ["{{ if .Values.x }}", "{{ end }}", "{{ $on := include \"on\" . }}", "{{ if $on }}"]
        );
    }

    #[test]
    fn templates_that_write_objects_make_the_conditions_around_their_calls_matter() {
        let helpers =
            "{{ define \"job\" }}\nkind: Job\n{{ end }}{{ define \"more\" }}{{ include \"job\" . }}{{ end }}";
        let text = "{{ with .Values.jobs }}{{ template \"more\" . }}{{ end }}{{ if .Values.n }}n{{ end }}";
        assert_eq!(seen(&[helpers, text]), ["{{ with .Values.jobs }}"]);
    }

    #[test]
    fn every_condition_in_a_file_with_roles_matters() {
        let text = "kind: ClusterRole\nrules:\n{{ if .Values.pods }}- x{{ end }}";
        assert_eq!(seen(&[text]), ["{{ if .Values.pods }}"]);
    }
}
