//! Regular expressions: RE2 in Go's syntax on the `regex` crate, which is of the same family.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use helm_template::{List, Signature, Type, Value};
use regex::bytes::{Regex, RegexBuilder};

use self::error::{Code, Error};
use crate::register::{Register, TEXT, fail, int, text};
use crate::runes::{decode, runes};

mod class;
mod error;
mod syntax;

const MATCH: Signature = Signature::new(&[Type::String, Type::String], Type::Bool);
const FIND: Signature = Signature::new(&[Type::String, Type::String], Type::String);
const MANY: Signature = Signature::new(&[Type::String, Type::String, Type::INT], Type::STRINGS);
const REPLACE: Signature = Signature::new(&[Type::String, Type::String, Type::String], Type::String);

/// What a function does with an expression and its arguments.
type Body = fn(&Expression, &[Value]) -> Value;

pub(crate) fn register(all: &mut Register) {
    all.add("regexMatch", MATCH, |args| {
        Ok(Value::Bool(compiled(text(args, 0)).is_ok_and(|expression| expression.is_match(text(args, 1)))))
    });
    all.add("mustRegexMatch", MATCH.fallible(), |args| {
        let expression = compiled(text(args, 0)).map_err(|error| fail(error.to_string()))?;
        Ok(Value::Bool(expression.is_match(text(args, 1))))
    });
    both(all, "regexFind", "mustRegexFind", FIND, |expression, args| {
        let source = Source::new(text(args, 1));
        string(expression.groups_at(&source, 0).map_or(&[], |(all, _)| source.slice(all)))
    });
    both(all, "regexFindAll", "mustRegexFindAll", MANY, |expression, args| {
        let source = Source::new(text(args, 1));
        let found = expression.find_all(&source, int(args, 2));
        if found.is_empty() {
            return Value::List(List::nil(&Type::STRINGS));
        }
        let parts = found.into_iter().map(|range| string(source.slice(range)));
        Value::List(List::typed(&Type::STRINGS, parts.collect()))
    });
    both(all, "regexReplaceAll", "mustRegexReplaceAll", REPLACE, |expression, args| {
        let template = text(args, 2);
        let expand = |source: &Source<'_>, groups: &Groups, out: &mut Vec<u8>| {
            expression.expand(template, source, groups, out);
        };
        expression.replace_all(text(args, 1), expand)
    });
    both(all, "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral", REPLACE, |expression, args| {
        expression.replace_all(text(args, 1), |_, _, out| out.extend_from_slice(text(args, 2)))
    });
    both(all, "regexSplit", "mustRegexSplit", MANY, split);
    all.add("regexQuoteMeta", TEXT, |args| {
        let mut out = Vec::new();
        for byte in text(args, 0) {
            if br"\.+*?()|[]{}^$".contains(byte) {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        Ok(string(&out))
    });
}

/// Whether Go compiles an expression.
///
/// # Errors
/// The text of Go's error.
pub fn check(expression: &str) -> Result<(), String> {
    compiled(expression.as_bytes()).map(drop).map_err(|error| error.to_string())
}

/// The plain function panics (`regexp.MustCompile`) where the `must` one returns the error.
fn both(all: &mut Register, name: &'static str, must: &'static str, signature: Signature, body: Body) {
    all.add(name, signature, move |args| {
        let source = text(args, 0);
        let expression = compiled(source)
            .map_err(|error| fail(format!("regexp: Compile({}): {error}", backquoted(source))))?;
        Ok(body(&expression, args))
    });
    all.add(must, signature.fallible(), move |args| {
        let expression = compiled(text(args, 0)).map_err(|error| fail(error.to_string()))?;
        Ok(body(&expression, args))
    });
}

/// In backquotes where that can be read back (`strconv.CanBackquote`), else in quotes.
fn backquoted(source: &[u8]) -> String {
    match std::str::from_utf8(source) {
        Ok(text)
            if !text.chars().any(|c| matches!(c, '`' | '\u{7F}' | '\u{FEFF}') || (c < ' ' && c != '\t')) =>
        {
            format!("`{text}`")
        }
        _ => helm_template::fmt::quote(source),
    }
}

fn string(bytes: &[u8]) -> Value {
    Value::String(helm_template::Str::from_bytes(bytes))
}

/// `Regexp.Split`.
fn split(expression: &Expression, args: &[Value]) -> Value {
    let (source, limit) = (Source::new(text(args, 1)), int(args, 2));
    if limit == 0 {
        return Value::List(List::nil(&Type::STRINGS));
    }
    let mut parts = Vec::new();
    if source.original.is_empty() && !text(args, 0).is_empty() {
        return Value::List(List::strings([""]));
    }
    let most = usize::try_from(limit).map_or(usize::MAX, |limit| limit - 1);
    let (mut begin, mut end) = (0, 0);
    for found in expression.find_all(&source, limit) {
        if parts.len() == most {
            break;
        }
        end = found.start;
        if found.end != 0 {
            parts.push(string(source.slice(begin..end)));
        }
        begin = found.end;
    }
    if end != source.text.len() {
        parts.push(string(source.slice(begin..source.text.len())));
    }
    Value::List(List::typed(&Type::STRINGS, parts))
}

/// A compiled expression and the names of its groups, by number from 1.
#[derive(Debug)]
struct Expression {
    regex: Regex,
    names: Vec<Option<String>>,
}

/// Where the whole match and the groups lie.
type Groups = Vec<Option<Range<usize>>>;

/// A text to be searched: Go takes each byte that is no UTF-8 for U+FFFD, so that is what is searched.
struct Source<'s> {
    original: &'s [u8],
    text: Cow<'s, str>,
    /// The place in the original of each byte of the text, where they differ.
    places: Vec<usize>,
}

impl<'s> Source<'s> {
    fn new(original: &'s [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(original) {
            return Self { original, text: Cow::Borrowed(text), places: Vec::new() };
        }
        let (mut text, mut places, mut at) = (String::with_capacity(original.len()), Vec::new(), 0);
        for (rune, bytes) in runes(original) {
            places.resize(places.len() + rune.len_utf8(), at);
            text.push(rune);
            at += bytes.len();
        }
        places.push(at);
        Self { original, text: Cow::Owned(text), places }
    }

    fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(at)
    }

    fn slice(&self, range: Range<usize>) -> &'s [u8] {
        self.original.get(self.place(range.start)..self.place(range.end)).unwrap_or_default()
    }

    /// The length of the character at a place.
    fn width(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }
}

impl Expression {
    fn is_match(&self, source: &[u8]) -> bool {
        self.regex.is_match(Source::new(source).text.as_bytes())
    }

    /// The first match from a place on. Go looks for matches between characters only.
    fn groups_at(&self, source: &Source<'_>, mut at: usize) -> Option<(Range<usize>, Groups)> {
        loop {
            let found = self.regex.captures_at(source.text.as_bytes(), at)?;
            let all = found.get(0)?.range();
            if source.text.is_char_boundary(all.start) {
                return Some((all, found.iter().map(|group| group.map(|group| group.range())).collect()));
            }
            at = all.start + 1;
        }
    }

    /// `Regexp.allMatches`: at most `limit`, all when it is negative.
    fn find_all(&self, source: &Source<'_>, limit: i64) -> Vec<Range<usize>> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let (mut at, mut previous) = (0, None);
        while found.len() < limit && at <= source.text.len() {
            let Some((range, _)) = self.groups_at(source, at) else { break };
            let empty = range.end == at;
            // No empty match right after another match.
            let accepted = !(empty && previous == Some(range.start));
            at = if empty { at + source.width(at) } else { range.end };
            previous = Some(range.end);
            if accepted {
                found.push(range);
            }
        }
        found
    }

    /// `Regexp.replaceAll`.
    fn replace_all(
        &self,
        source: &[u8],
        mut replace: impl FnMut(&Source<'_>, &Groups, &mut Vec<u8>),
    ) -> Value {
        let source = Source::new(source);
        let mut out = Vec::with_capacity(source.original.len());
        let (mut last, mut at) = (0, 0);
        while at <= source.text.len() {
            let Some((all, groups)) = self.groups_at(&source, at) else { break };
            out.extend_from_slice(source.slice(last..all.start));
            if all.end > last || all.start == 0 {
                replace(&source, &groups, &mut out);
            }
            last = all.end;
            at = last.max(at + source.width(at));
        }
        out.extend_from_slice(source.slice(last..source.text.len()));
        Value::String(out.into())
    }

    /// `Regexp.Expand`: `$1`, `${1}`, `$name`, `$$`; what names no group is nothing, a `$` before anything else stays.
    fn expand(&self, template: &[u8], source: &Source<'_>, groups: &Groups, out: &mut Vec<u8>) {
        let mut rest = template;
        while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
            out.extend_from_slice(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + 1..).unwrap_or_default();
            if let Some(after) = rest.strip_prefix(b"$") {
                out.push(b'$');
                rest = after;
                continue;
            }
            let Some((name, after)) = group_name(rest) else {
                out.push(b'$');
                continue;
            };
            if let Some(range) = self.group(&name, groups) {
                out.extend_from_slice(source.slice(range));
            }
            rest = after;
        }
        out.extend_from_slice(rest);
    }

    /// A group by number, or the first of a name that takes part.
    fn group(&self, name: &str, groups: &Groups) -> Option<Range<usize>> {
        let plain =
            name.bytes().all(|byte| byte.is_ascii_digit()) && !(name.len() > 1 && name.starts_with('0'));
        if let Some(number) = plain.then(|| name.parse::<usize>().ok()).flatten() {
            return groups.get(number).cloned().flatten();
        }
        let named = self.names.iter().zip(groups.iter().skip(1));
        named.filter(|(known, _)| known.as_deref() == Some(name)).find_map(|(_, range)| range.clone())
    }
}

/// The name after a `$`: letters, digits and `_`, or any such name in braces.
fn group_name(rest: &[u8]) -> Option<(String, &[u8])> {
    let braced = rest.strip_prefix(b"{");
    let source = braced.unwrap_or(rest);
    let mut length = 0;
    while let (rune, width @ 1..) = decode(source.get(length..).unwrap_or_default()) {
        if !(crate::runes::is_letter(rune) || rune.is_numeric() || rune == '_') {
            break;
        }
        length += width;
    }
    let (name, after) = source.split_at_checked(length)?;
    let after = if braced.is_some() { after.strip_prefix(b"}")? } else { after };
    (length > 0).then(|| (String::from_utf8_lossy(name).into_owned(), after))
}

thread_local! {
    /// Charts use a few expressions many times.
    static COMPILED: RefCell<HashMap<Vec<u8>, Rc<Expression>>> = RefCell::default();
}

const MOST_COMPILED: usize = 256;
/// The size of a compiled expression, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// What is wrong with a pattern that is no UTF-8 from a place on: that, unless something before is.
fn not_utf8(source: &[u8], valid: usize) -> Error {
    let (before, rest) = source.split_at_checked(valid).unwrap_or_default();
    match syntax::translate(&String::from_utf8_lossy(before)) {
        Err(error) if !error.is_of_the_end() => error,
        _ => Error::new(Code::Utf8, &String::from_utf8_lossy(rest)),
    }
}

fn compiled(source: &[u8]) -> Result<Rc<Expression>, Error> {
    if let Some(known) = COMPILED.with_borrow(|known| known.get(source).cloned()) {
        return Ok(known);
    }
    let pattern = std::str::from_utf8(source).map_err(|error| not_utf8(source, error.valid_up_to()))?;
    let translated = syntax::translate(pattern)?;
    let regex = RegexBuilder::new(&translated.pattern)
        .size_limit(MOST_BYTES)
        .nest_limit(4 * 1000)
        .build()
        .map_err(|_| Error::new(Code::Large, pattern))?;
    let expression = Rc::new(Expression { regex, names: translated.names });
    COMPILED.with_borrow_mut(|known| {
        if known.len() >= MOST_COMPILED {
            known.clear();
        }
        known.insert(source.to_vec(), Rc::clone(&expression));
    });
    Ok(expression)
}
