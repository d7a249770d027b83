//! The actions of a template's text, as far as they can be told without running it.

/// What an action is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    If,
    ElseIf,
    With,
    ElseWith,
    Range,
    Else,
    End,
    Define,
    Block,
    Template,
    /// A pipeline.
    Other,
}

/// `{{ … }}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    pub(crate) keyword: Keyword,
    /// Where the braces begin.
    pub(crate) start: usize,
    /// Behind the closing ones.
    pub(crate) end: usize,
    /// Its words, the keyword left out.
    pub(crate) tokens: Vec<Token>,
}

/// A word of an action, and where it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: TokenKind,
}

/// Words of actions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// `.a.b`; no names: the dot itself.
    Dot(Vec<String>),
    /// `$x.a.b`, with its `$`.
    Variable(String, Vec<String>),
    /// `.a.b` behind a parenthesis.
    Chain(Vec<String>),
    Text(String),
    Word(String),
    Number(f64),
    Open,
    Close,
    Pipe,
    Declare,
    Assign,
    Comma,
}

/// All actions of a text, comments left out. A text that is no template gives those in front of what is wrong.
pub(crate) fn actions(text: &str) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("{{")) {
        let start = at + found;
        let inner = start + 2;
        if let Some(end) = comment(text, inner) {
            at = end;
            continue;
        }
        let Some((tokens, end)) = Tokens { text, at: inner, tokens: Vec::new() }.read() else { break };
        at = end;
        actions.push(action(tokens, start, end));
    }
    actions
}

/// The end of a comment, where one begins.
fn comment(text: &str, inner: usize) -> Option<usize> {
    let rest = text.get(inner..)?;
    let content = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    content.strip_prefix("/*")?;
    let close = rest.find("*/")?;
    let end = rest.get(close..)?.find("}}")?;
    Some(inner + close + end + 2)
}

fn action(mut tokens: Vec<Token>, start: usize, end: usize) -> Action {
    let word = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(TokenKind::Word(word)) => word.as_str(),
        _ => "",
    };
    let (keyword, length) = match (word(0), word(1)) {
        ("if", _) => (Keyword::If, 1),
        ("with", _) => (Keyword::With, 1),
        ("range", _) => (Keyword::Range, 1),
        ("else", "if") => (Keyword::ElseIf, 2),
        ("else", "with") => (Keyword::ElseWith, 2),
        ("else", _) => (Keyword::Else, 1),
        ("end", _) => (Keyword::End, 1),
        ("define", _) => (Keyword::Define, 1),
        ("block", _) => (Keyword::Block, 1),
        ("template", _) => (Keyword::Template, 1),
        _ => (Keyword::Other, 0),
    };
    tokens.drain(..length);
    Action { keyword, start, end, tokens }
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
}

impl Tokens<'_> {
    /// The words up to the closing braces, and where those end.
    fn read(mut self) -> Option<(Vec<Token>, usize)> {
        loop {
            let rest = self.text.get(self.at..)?;
            if rest.starts_with("}}") {
                return Some((self.tokens, self.at + 2));
            }
            let first = rest.chars().next()?;
            if first.is_whitespace()
                || (first == '-' && rest.get(1..)?.starts_with([' ', '\n', '\t', '\r', '}']))
            {
                self.at += first.len_utf8();
                continue;
            }
            let (kind, length) = self.token(rest, first)?;
            self.tokens.push(Token { start: self.at, end: self.at + length, kind });
            self.at += length;
        }
    }

    fn token(&self, rest: &str, first: char) -> Option<(TokenKind, usize)> {
        Some(match first {
            '(' => (TokenKind::Open, 1),
            ')' => (TokenKind::Close, 1),
            '|' => (TokenKind::Pipe, 1),
            ',' => (TokenKind::Comma, 1),
            ':' if rest.starts_with(":=") => (TokenKind::Declare, 2),
            '=' => (TokenKind::Assign, 1),
            '"' | '`' | '\'' => quoted(rest, first)?,
            '.' if rest.get(1..).is_none_or(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) => {
                let length = word_length(rest);
                let names = names(rest.get(1..length)?);
                let behind = self.tokens.last();
                let chained = behind.is_some_and(|last| last.kind == TokenKind::Close && last.end == self.at);
                (if chained { TokenKind::Chain(names) } else { TokenKind::Dot(names) }, length)
            }
            '$' => {
                let length = word_length(rest);
                let word = rest.get(..length)?;
                let (name, fields) = word.split_once('.').unwrap_or((word, ""));
                (TokenKind::Variable(name.to_owned(), names(fields)), length)
            }
            _ => {
                let length = word_length(rest).max(first.len_utf8());
                let word = rest.get(..length)?;
                let number = word.parse().ok().map(TokenKind::Number);
                (number.unwrap_or_else(|| TokenKind::Word(word.to_owned())), length)
            }
        })
    }
}

fn names(fields: &str) -> Vec<String> {
    fields.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Up to a blank or a mark.
fn word_length(rest: &str) -> usize {
    let mut chars = rest.char_indices();
    chars.next();
    let end = |c: char| c.is_whitespace() || "()|,:=\"`'}".contains(c);
    chars.find(|(_, c)| end(*c)).map_or(rest.len(), |(at, _)| at)
}

fn quoted(rest: &str, quote: char) -> Option<(TokenKind, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((TokenKind::Text(text), at + quote.len_utf8())),
            '\\' if quote != '`' => text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let action = actions(text).into_iter().next().unwrap();
        action.tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn actions_are_told_with_their_keywords_and_words() {
        let text = "a {{- if eq .Values.kind \"x}}y\" -}} b {{/* {{ no }} */}}{{ else if $x.y }}{{ end }}";
        let all = actions(text);
        let keywords: Vec<_> = all.iter().map(|action| action.keyword).collect();
        assert_eq!(keywords, [Keyword::If, Keyword::ElseIf, Keyword::End]);
        assert_eq!(text.get(all[0].start..all[0].end), Some("{{- if eq .Values.kind \"x}}y\" -}}"));
        assert_eq!(
            kinds(text),
            [
                TokenKind::Word("eq".into()),
                TokenKind::Dot(vec!["Values".into(), "kind".into()]),
                TokenKind::Text("x}}y".into())
            ]
        );
    }

    #[test]
    fn fields_of_parentheses_belong_to_them_and_numbers_are_numbers() {
        assert_eq!(
            kinds("{{ (index .a `b`).c 1 -2 . $ }}"),
            [
                TokenKind::Open,
                TokenKind::Word("index".into()),
                TokenKind::Dot(vec!["a".into()]),
                TokenKind::Text("b".into()),
                TokenKind::Close,
                TokenKind::Chain(vec!["c".into()]),
                TokenKind::Number(1.0),
                TokenKind::Number(-2.0),
                TokenKind::Dot(vec![]),
                TokenKind::Variable("$".into(), vec![]),
            ]
        );
    }

    #[test]
    fn what_is_no_template_ends_the_actions() {
        for text in ["{{", "{{ \"open }}", "{{ if (", "{{/* open", "}}", "{{ 'a", "{{ \u{e4}\u{e4} "] {
            assert_eq!(actions(text), []);
        }
    }
}
