//! Regular expressions: RE2 in Go's syntax on the `regex` crate, which is of the same family.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use helm_template::{CallError, List, Signature, Type, Value};
use regex::bytes::{Captures, Regex};

use crate::register::{Register, Result, TEXT, fail, int, text};

mod syntax;

const MATCH: Signature = Signature::new(&[Type::String, Type::String], Type::Bool);
const FIND: Signature = Signature::new(&[Type::String, Type::String], Type::String);
const MANY: Signature = Signature::new(&[Type::String, Type::String, Type::INT], Type::STRINGS);
const REPLACE: Signature = Signature::new(&[Type::String, Type::String, Type::String], Type::String);

pub(crate) fn register(all: &mut Register) {
    both(all, "regexMatch", "mustRegexMatch", MATCH, |args| {
        Ok(Value::Bool(compiled(text(args, 0))?.is_match(text(args, 1))))
    });
    both(all, "regexFind", "mustRegexFind", FIND, |args| {
        let found = compiled(text(args, 0))?.find(text(args, 1)).map(|found| found.as_bytes().to_vec());
        Ok(string(&found.unwrap_or_default()))
    });
    both(all, "regexFindAll", "mustRegexFindAll", MANY, |args| {
        let (expression, limit) = (compiled(text(args, 0))?, limit(int(args, 2)));
        let found: Vec<Value> =
            expression.find_iter(text(args, 1)).take(limit).map(|found| string(found.as_bytes())).collect();
        Ok(Value::List(if found.is_empty() {
            List::nil(&Type::STRINGS)
        } else {
            List::typed(&Type::STRINGS, found)
        }))
    });
    both(all, "regexReplaceAll", "mustRegexReplaceAll", REPLACE, |args| {
        let template = text(args, 2);
        let expression = compiled(text(args, 0))?;
        let replaced =
            expression.replace_all(text(args, 1), |captures: &Captures<'_>| expand(template, captures));
        Ok(string(&replaced))
    });
    both(all, "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral", REPLACE, |args| {
        let replaced = compiled(text(args, 0))?
            .replace_all(text(args, 1), regex::bytes::NoExpand(text(args, 2)))
            .into_owned();
        Ok(string(&replaced))
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

fn both(
    all: &mut Register,
    name: &'static str,
    must: &'static str,
    signature: Signature,
    body: fn(&[Value]) -> Result,
) {
    all.add(name, signature, body);
    all.add(must, signature.fallible(), body);
}

fn string(bytes: &[u8]) -> Value {
    Value::String(helm_template::Str::from_bytes(bytes))
}

/// A negative limit is none.
fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// `Regexp.Split`.
fn split(args: &[Value]) -> Result {
    let (expression, source) = (compiled(text(args, 0))?, text(args, 1));
    let limit = limit(int(args, 2));
    if limit == 0 {
        return Ok(Value::List(List::nil(&Type::STRINGS)));
    }
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in expression.find_iter(source) {
        if parts.len() + 1 >= limit {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(string(source.get(begin..end).unwrap_or_default()));
        }
        begin = found.end();
    }
    if end != source.len() {
        parts.push(string(source.get(begin..).unwrap_or_default()));
    }
    Ok(Value::List(List::typed(&Type::STRINGS, parts)))
}

/// `Regexp.Expand`: `$1`, `${1}`, `$name`, `$$`; what names no group is nothing, a `$` before anything else stays.
fn expand(template: &[u8], captures: &Captures<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = after;
            continue;
        }
        let (name, after) = group_name(rest);
        let Some(name) = name else {
            out.push(b'$');
            continue;
        };
        let group = match name.parse::<usize>() {
            Ok(number) => captures.get(number),
            Err(_) => captures.name(name),
        };
        out.extend_from_slice(group.map_or(&[], |group| group.as_bytes()));
        rest = after;
    }
    out.extend_from_slice(rest);
    out
}

fn group_name(rest: &[u8]) -> (Option<&str>, &[u8]) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let braced = rest.strip_prefix(b"{");
    let source = braced.unwrap_or(rest);
    let length = source.iter().take_while(|byte| is_word(byte)).count();
    let (name, after) = source.split_at_checked(length).unwrap_or((source, &[]));
    let after = if braced.is_some() { after.strip_prefix(b"}") } else { Some(after) };
    match (std::str::from_utf8(name), after) {
        (Ok(name), Some(after)) if !name.is_empty() => (Some(name), after),
        _ => (None, rest),
    }
}

thread_local! {
    /// Charts use a few expressions many times.
    static COMPILED: RefCell<HashMap<Vec<u8>, Rc<Regex>>> = RefCell::default();
}

const MOST_COMPILED: usize = 256;

fn compiled(source: &[u8]) -> std::result::Result<Rc<Regex>, CallError> {
    if let Some(known) = COMPILED.with_borrow(|known| known.get(source).cloned()) {
        return Ok(known);
    }
    let pattern = String::from_utf8_lossy(source);
    let expression = Regex::new(&syntax::from_go(&pattern)).map_err(|_| {
        fail(format!("error parsing regexp: invalid or unsupported Perl syntax: `{pattern}`"))
    })?;
    let expression = Rc::new(expression);
    COMPILED.with_borrow_mut(|known| {
        if known.len() >= MOST_COMPILED {
            known.clear();
        }
        known.insert(source.to_vec(), Rc::clone(&expression));
    });
    Ok(expression)
}
