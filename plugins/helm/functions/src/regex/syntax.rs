//! Go's regular expressions (regexp/syntax), checked as Go checks them and written for the `regex` crate.
//!
//! Both are of RE2's family, but differ in what is syntax: Go knows no nested classes, takes a `{` that begins no
//! repetition literally, and its `\d`, `\s`, `\w` and `\b` are those of ASCII.

use std::fmt::Write as _;

use super::class;
use super::error::{Code, Error};

/// The crate's expression and the names of the groups, by number from 1.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    pub(super) names: Vec<Option<String>>,
}

/// What `(?imsU)` sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_newline: bool,
    non_greedy: bool,
}

/// Something that can be repeated; and how often what is within it is, at most.
struct Atom {
    text: String,
    repeats: u64,
}

/// A group that is open.
struct Group {
    /// What opens it in the crate's syntax.
    open: &'static str,
    /// The flags that hold again after it.
    outer: Flags,
    done: String,
    atoms: Vec<Atom>,
    repeats: u64,
}

impl Group {
    fn new(open: &'static str, outer: Flags) -> Self {
        Self { open, outer, done: String::new(), atoms: Vec::new(), repeats: 1 }
    }

    /// Moves what was read into the text of the group.
    fn flush(&mut self) {
        for atom in self.atoms.drain(..) {
            self.done.push_str(&atom.text);
            self.repeats = self.repeats.max(atom.repeats);
        }
    }
}

struct Parser<'p> {
    whole: &'p str,
    rest: &'p str,
    flags: Flags,
    names: Vec<Option<String>>,
    groups: Vec<Group>,
    /// What remained before the repetition that was just read.
    last_repeat: Option<&'p str>,
}

/// How deep groups may be nested (`maxHeight`).
const MOST_NESTED: usize = 1000;
/// How often something may be repeated, counting repetitions of repetitions.
const MOST_REPEATS: u64 = 1000;

/// Reads an expression.
pub(super) fn translate(source: &str) -> Result<Translated, Error> {
    let outermost = Group::new("", Flags::default());
    let mut parser = Parser {
        whole: source,
        rest: source,
        flags: Flags::default(),
        names: Vec::new(),
        groups: vec![outermost],
        last_repeat: None,
    };
    while !parser.rest.is_empty() {
        let before = parser.rest;
        let was_repeat = parser.last_repeat;
        let repeated = parser.step(was_repeat)?;
        parser.last_repeat = repeated.then_some(before);
    }
    parser.finish()
}

/// `before` without `after` at its end.
fn read<'s>(before: &'s str, after: &str) -> &'s str {
    before.get(..before.len() - after.len()).unwrap_or(before)
}

impl<'p> Parser<'p> {
    fn finish(mut self) -> Result<Translated, Error> {
        match (self.groups.pop(), self.groups.is_empty()) {
            (Some(mut group), true) => {
                group.flush();
                Ok(Translated { pattern: group.done, names: self.names })
            }
            _ => Err(Error::new(Code::MissingParen, self.whole)),
        }
    }

    /// Reads one thing. True when it was a repetition.
    fn step(&mut self, last_repeat: Option<&'p str>) -> Result<bool, Error> {
        let before = self.rest;
        let Some(c) = before.chars().next() else { return Ok(false) };
        self.rest = before.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '(' if self.rest.starts_with('?') => self.perl_group(before)?,
            '(' => {
                self.names.push(None);
                self.open("(", self.flags)?;
            }
            '|' => {
                if let Some(group) = self.groups.last_mut() {
                    group.flush();
                    group.done.push('|');
                }
            }
            ')' => self.close()?,
            '^' => self.push(if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            '$' => self.push(if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
            '.' => self.push(if self.flags.dot_newline { "(?s:.)" } else { "." }),
            '[' => {
                let (text, rest) = class::bracketed(before)?;
                self.rest = rest;
                self.push_folding(&text);
            }
            '*' => return self.repeat(before, (0, None), "*", last_repeat),
            '+' => return self.repeat(before, (1, None), "+", last_repeat),
            '?' => return self.repeat(before, (0, Some(1)), "?", last_repeat),
            '{' => match counted(before) {
                Some((range, rest)) => {
                    self.rest = rest;
                    return self.repeat_counted(before, range, last_repeat);
                }
                None => self.literal('{'),
            },
            '\\' => self.escape(before)?,
            c => self.literal(c),
        }
        Ok(false)
    }

    fn push(&mut self, text: &str) {
        if let Some(group) = self.groups.last_mut() {
            group.atoms.push(Atom { text: text.to_owned(), repeats: 1 });
        }
    }

    fn push_folding(&mut self, text: &str) {
        if self.flags.fold_case { self.push(&format!("(?i:{text})")) } else { self.push(text) }
    }

    fn literal(&mut self, c: char) {
        let mut text = String::new();
        class::push_literal(&mut text, c);
        self.push_folding(&text);
    }

    fn open(&mut self, open: &'static str, outer: Flags) -> Result<(), Error> {
        if self.groups.len() > MOST_NESTED {
            return Err(Error::new(Code::NestingDepth, self.whole));
        }
        self.groups.push(Group::new(open, outer));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.groups.len() < 2 {
            return Err(Error::new(Code::UnexpectedParen, self.whole));
        }
        if let Some(mut group) = self.groups.pop() {
            group.flush();
            self.flags = group.outer;
            let text = format!("{}{})", group.open, group.done);
            if let Some(outer) = self.groups.last_mut() {
                outer.atoms.push(Atom { text, repeats: group.repeats });
            }
        }
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)`, `(?flags:`.
    fn perl_group(&mut self, before: &'p str) -> Result<(), Error> {
        let named = |prefix: &str, least: usize| {
            before.strip_prefix(prefix).filter(|_| before.len() > least).map(|_| prefix.len())
        };
        let Some(start) = named("(?P<", 4).or_else(|| named("(?<", 3)) else {
            return self.flag_group(before);
        };
        let Some(end) = before.find('>') else { return Err(Error::new(Code::NamedCapture, before)) };
        let name = before.get(start..end).unwrap_or_default();
        if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return Err(Error::new(Code::NamedCapture, before.get(..=end).unwrap_or_default()));
        }
        self.names.push(Some(name.to_owned()));
        self.rest = before.get(end + 1..).unwrap_or_default();
        self.open("(", self.flags)
    }

    fn flag_group(&mut self, before: &'p str) -> Result<(), Error> {
        let mut flags = self.flags;
        let mut chars = before.get(2..).unwrap_or_default().chars();
        let (mut on, mut saw_flag) = (true, false);
        while let Some(c) = chars.next() {
            match c {
                'i' => flags.fold_case = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_newline = on,
                'U' => flags.non_greedy = on,
                '-' if on => {
                    (on, saw_flag) = (false, false);
                    continue;
                }
                ':' | ')' if on || saw_flag => {
                    self.rest = chars.as_str();
                    if c == ':' {
                        self.open("(?:", self.flags)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => return Err(Error::new(Code::PerlOp, read(before, chars.as_str()))),
            }
            saw_flag = true;
        }
        Err(Error::new(Code::PerlOp, before))
    }

    fn repeat_counted(
        &mut self,
        before: &'p str,
        (least, most): (Option<u64>, Option<Option<u64>>),
        last_repeat: Option<&'p str>,
    ) -> Result<bool, Error> {
        let wrong = || Error::new(Code::RepeatSize, read(before, self.rest));
        let least = least.filter(|least| *least <= MOST_REPEATS).ok_or_else(wrong)?;
        let most = match most {
            None => Some(least),
            Some(None) => None,
            Some(Some(most)) if most <= MOST_REPEATS && least <= most => Some(most),
            Some(Some(_)) => return Err(wrong()),
        };
        let text = match most {
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        self.repeat(before, (least, most), &text, last_repeat)
    }

    /// Repeats what was read last.
    fn repeat(
        &mut self,
        before: &'p str,
        (least, most): (u64, Option<u64>),
        operator: &str,
        last_repeat: Option<&'p str>,
    ) -> Result<bool, Error> {
        let lazy = self.rest.strip_prefix('?');
        let non_greedy = self.flags.non_greedy != lazy.is_some();
        self.rest = lazy.unwrap_or(self.rest);
        if let Some(last) = last_repeat {
            return Err(Error::new(Code::RepeatOp, read(last, self.rest)));
        }
        let operand = self.groups.last_mut().and_then(|group| group.atoms.last_mut());
        let Some(atom) = operand else {
            return Err(Error::new(Code::MissingRepeatArgument, read(before, self.rest)));
        };
        atom.text = format!("(?:{}){operator}{}", atom.text, if non_greedy { "?" } else { "" });
        if operator.starts_with('{') {
            let times = most.unwrap_or(least);
            atom.repeats = if most == Some(0) { 1 } else { atom.repeats.saturating_mul(times.max(1)) };
            if (least >= 2 || most.is_some_and(|most| most >= 2)) && atom.repeats > MOST_REPEATS {
                return Err(Error::new(Code::RepeatSize, read(before, self.rest)));
            }
        }
        Ok(true)
    }

    fn escape(&mut self, before: &'p str) -> Result<(), Error> {
        let Some(next) = self.rest.chars().next() else {
            return Err(Error::new(Code::TrailingBackslash, ""));
        };
        let after = self.rest.get(next.len_utf8()..).unwrap_or_default();
        match next {
            'A' => self.push(r"\A"),
            'z' => self.push(r"\z"),
            'b' => self.push(r"(?-u:\b)"),
            'B' => self.push(r"(?-u:\B)"),
            'C' => return Err(Error::new(Code::Escape, r"\C")),
            'Q' => {
                let (literal, rest) = after.split_once("\\E").unwrap_or((after, ""));
                literal.chars().for_each(|c| self.literal(c));
                self.rest = rest;
                return Ok(());
            }
            'p' | 'P' => {
                let (text, rest) = class::unicode(before)?;
                self.rest = rest;
                self.push_folding(&text);
                return Ok(());
            }
            _ => {
                if let Some(set) = class::perl(next) {
                    self.push_folding(&format!("[{set}]"));
                } else {
                    let (c, rest) = class::escaped(before)?;
                    self.rest = rest;
                    self.literal(c);
                    return Ok(());
                }
            }
        }
        self.rest = after;
        Ok(())
    }
}

/// What stands in braces: the least, and the most when there is a comma. Numbers too large to be read are `None`.
type Count = (Option<u64>, Option<Option<u64>>);

/// `{n}`, `{n,}`, `{n,m}` at the start; anything else is no repetition.
fn counted(source: &str) -> Option<(Count, &str)> {
    let (least, rest) = number(source.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some(((least, None), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some(((least, Some(None)), rest));
    }
    let (most, rest) = number(rest)?;
    // A number that is too large spoils the count.
    let least = least.filter(|_| most.is_some());
    Some(((least, Some(most.or(Some(0)))), rest.strip_prefix('}')?))
}

fn number(source: &str) -> Option<(Option<u64>, &str)> {
    let length = source.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = source.split_at_checked(length)?;
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().ok().filter(|number| *number < 1_000_000_000), rest))
}

/// Escapes a character for the crate.
pub(super) fn push_code_point(out: &mut String, c: char) {
    // Writing to a string does not fail.
    let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
}

#[cfg(test)]
mod tests;
