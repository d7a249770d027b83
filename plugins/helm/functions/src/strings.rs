//! Texts. Go's strings are bytes: what is cut may end within a character.

use helm_template::{List, Signature, Str, Type, Value};

use crate::register::{ANY_TEXT, Register, Result, TEXT, TEXT_TEXT, TEXTS_BOOL, arg, fail, int, text};
use crate::runes::{is_space, runes};
use crate::strval::{strslice, strval};

mod cases;
mod short;
mod words;
mod wrap;

pub(crate) fn register(all: &mut Register) {
    trimming(all);
    testing(all);
    building(all);
    splitting(all);
    cases::register(all);
    short::register(all);
    wrap::register(all);
}

fn string(bytes: &[u8]) -> Value {
    Value::String(Str::from_bytes(bytes))
}

fn trimming(all: &mut Register) {
    all.add("trim", TEXT, |args| Ok(string(trim_space(text(args, 0)))));
    let trim_all = |args: &[Value]| -> Result { Ok(string(trim_any(text(args, 1), text(args, 0)))) };
    all.add("trimAll", TEXT_TEXT, trim_all);
    all.add("trimall", TEXT_TEXT, trim_all);
    all.add("trimSuffix", TEXT_TEXT, |args| {
        let source = text(args, 1);
        Ok(string(source.strip_suffix(text(args, 0)).unwrap_or(source)))
    });
    all.add("trimPrefix", TEXT_TEXT, |args| {
        let source = text(args, 1);
        Ok(string(source.strip_prefix(text(args, 0)).unwrap_or(source)))
    });
    all.add("trunc", Signature::new(&[Type::INT, Type::String], Type::String), |args| {
        Ok(string(trunc(int(args, 0), text(args, 1))))
    });
    all.add("substr", Signature::new(&[Type::INT, Type::INT, Type::String], Type::String), |args| {
        substr(int(args, 0), int(args, 1), text(args, 2))
    });
}

/// `trunc` of sprig's strings.go: a negative count keeps the end.
fn trunc(count: i64, source: &[u8]) -> &[u8] {
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if source.len() <= wanted {
        return source;
    }
    let cut = if count < 0 { source.get(source.len() - wanted..) } else { source.get(..wanted) };
    cut.unwrap_or_default()
}

/// `substring` of sprig's strings.go: a negative start counts as the start, a negative or too large end as the end.
/// Other ends that do not fit are Go's run-time errors.
fn substr(start: i64, end: i64, source: &[u8]) -> Result {
    let length = i64::try_from(source.len()).unwrap_or(i64::MAX);
    let out_of_range = |range: String| fail(format!("runtime error: slice bounds out of range {range}"));
    if start < 0 {
        if end > length {
            return Err(out_of_range(format!("[:{end}] with length {length}")));
        }
        let end = usize::try_from(end).map_err(|_| out_of_range(format!("[:{end}]")))?;
        return Ok(string(source.get(..end).unwrap_or_default()));
    }
    let open = end < 0 || end > length;
    let end = if open { length } else { end };
    if start > end {
        return Err(out_of_range(format!("[{start}:{}]", if open { length } else { end })));
    }
    let index = |at: i64| usize::try_from(at).unwrap_or(usize::MAX);
    Ok(string(source.get(index(start)..index(end)).unwrap_or_default()))
}

/// `strings.TrimSpace`.
fn trim_space(source: &[u8]) -> &[u8] {
    trim_matching(source, is_space)
}

/// `strings.Trim`. A byte that is no UTF-8 is cut where the set has U+FFFD, or such a byte.
fn trim_any<'s>(source: &'s [u8], cut: &[u8]) -> &'s [u8] {
    let cut = crate::runes::to_runes(cut);
    trim_matching(source, |rune| cut.contains(&rune))
}

fn trim_matching(source: &[u8], matches: impl Fn(char) -> bool) -> &[u8] {
    let mut kept = runes(source).scan(0, |at, (rune, bytes)| {
        let start = *at;
        *at += bytes.len();
        Some((rune, start, *at))
    });
    let mut unmatched = kept.by_ref().filter(|(rune, ..)| !matches(*rune));
    let Some((_, start, end)) = unmatched.next() else { return &[] };
    let end = unmatched.last().map_or(end, |(_, _, end)| end);
    source.get(start..end).unwrap_or_default()
}

fn testing(all: &mut Register) {
    all.add("contains", TEXTS_BOOL, |args| Ok(Value::Bool(find(text(args, 1), text(args, 0)).is_some())));
    all.add("hasPrefix", TEXTS_BOOL, |args| Ok(Value::Bool(text(args, 1).starts_with(text(args, 0)))));
    all.add("hasSuffix", TEXTS_BOOL, |args| Ok(Value::Bool(text(args, 1).ends_with(text(args, 0)))));
}

fn find(source: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() { Some(0) } else { source.windows(part.len()).position(|window| window == part) }
}

fn building(all: &mut Register) {
    all.add("hello", Signature::new(&[], Type::String), |_| Ok(Value::from("Hello!")));
    let quote = Signature::variadic(&[], &Type::Any, Type::String);
    all.add("quote", quote, |args| {
        let mut out = Vec::new();
        for value in args.iter().filter(|value| !is_untyped_nil(value)) {
            out.push(helm_template::fmt::quote(strval(value)?.as_bytes()));
        }
        Ok(Value::from(out.join(" ")))
    });
    // `fmt.Sprintf("'%v'")`.
    all.add("squote", quote, |args| joined(args, b"'"));
    all.add("cat", quote, |args| joined(args, b""));
    let indent = Signature::new(&[Type::INT, Type::String], Type::String);
    all.add("indent", indent, |args| Ok(string(&indented(int(args, 0), text(args, 1), false)?)));
    all.add("nindent", indent, |args| Ok(string(&indented(int(args, 0), text(args, 1), true)?)));
    all.add("replace", Signature::new(&[Type::String, Type::String, Type::String], Type::String), |args| {
        Ok(string(&replaced(text(args, 2), text(args, 0), text(args, 1))))
    });
    all.add("repeat", Signature::new(&[Type::INT, Type::String], Type::String), |args| {
        let count = usize::try_from(int(args, 0)).map_err(|_| fail("strings: negative Repeat count"))?;
        let source = text(args, 1);
        if source.len().saturating_mul(count) > 256 * 1024 * 1024 {
            return Err(fail("strings: Repeat output length overflow"));
        }
        Ok(string(&source.repeat(count)))
    });
    all.add("plural", Signature::new(&[Type::String, Type::String, Type::INT], Type::String), |args| {
        Ok(string(text(args, usize::from(int(args, 2) != 1))))
    });
    all.add("toString", ANY_TEXT, |args| strval(arg(args, 0)).map(Value::String));
}

/// Every value but nil as `%v` prints it, between marks, parted by spaces.
fn joined(args: &[Value], mark: &[u8]) -> Result {
    let mut out = Vec::new();
    for (index, value) in args.iter().filter(|value| !is_untyped_nil(value)).enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(mark);
        helm_template::fmt::append_value(&mut out, value).map_err(|error| fail(error.to_string()))?;
        out.extend_from_slice(mark);
    }
    Ok(Value::String(out.into()))
}

fn is_untyped_nil(value: &Value) -> bool {
    matches!(value, Value::Nil)
}

/// Every line, empty ones too, gets the same number of spaces in front (sprig's `indent`).
fn indented(
    spaces: i64,
    source: &[u8],
    newline: bool,
) -> std::result::Result<Vec<u8>, helm_template::CallError> {
    let spaces = usize::try_from(spaces).map_err(|_| fail("strings: negative Repeat count"))?;
    let lines = source.iter().filter(|byte| **byte == b'\n').count() + 1;
    if lines.saturating_mul(spaces) > 256 * 1024 * 1024 {
        return Err(fail("strings: Repeat output length overflow"));
    }
    let mut out = Vec::with_capacity(source.len() + lines * spaces + 1);
    if newline {
        out.push(b'\n');
    }
    for (index, line) in source.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    Ok(out)
}

/// `strings.ReplaceAll`; an empty `old` matches between all characters.
fn replaced(source: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    if old.is_empty() {
        let mut out = new.to_vec();
        for (_, bytes) in runes(source) {
            out.extend_from_slice(bytes);
            out.extend_from_slice(new);
        }
        return out;
    }
    let mut out = Vec::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = find(rest, old) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.extend_from_slice(new);
        rest = rest.get(at + old.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

fn splitting(all: &mut Register) {
    let split_list = Signature::new(&[Type::String, Type::String], Type::STRINGS);
    all.add("splitList", split_list, |args| {
        Ok(Value::List(List::strings(split(text(args, 1), text(args, 0), usize::MAX))))
    });
    let split_map = Signature::new(&[Type::String, Type::String], Type::STRING_MAP);
    all.add("split", split_map, |args| Ok(numbered(split(text(args, 1), text(args, 0), usize::MAX))));
    all.add("splitn", Signature::new(&[Type::String, Type::INT, Type::String], Type::STRING_MAP), |args| {
        let limit = usize::try_from(int(args, 1)).unwrap_or(usize::MAX);
        let parts = if limit == 0 { Vec::new() } else { split(text(args, 2), text(args, 0), limit) };
        Ok(numbered(parts))
    });
    all.add("join", Signature::new(&[Type::String, Type::Any], Type::String), |args| {
        let parts = strslice(arg(args, 1))?;
        let bytes: Vec<&[u8]> = parts.iter().map(Str::as_bytes).collect();
        Ok(string(&bytes.join(text(args, 0))))
    });
    all.add("toStrings", Signature::new(&[Type::Any], Type::STRINGS), |args| {
        Ok(Value::List(List::strings(strslice(arg(args, 0))?)))
    });
    let sort_alpha = Signature::new(&[Type::Any], Type::STRINGS);
    all.add("sortAlpha", sort_alpha, |args| {
        let mut parts = match arg(args, 0) {
            value @ (Value::List(_) | Value::Bytes(_)) => strslice(value)?,
            value => vec![strval(value)?],
        };
        parts.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        Ok(Value::List(List::strings(parts)))
    });
}

/// `strings.SplitN`: an empty separator splits into characters.
fn split(source: &[u8], separator: &[u8], limit: usize) -> Vec<Str> {
    if separator.is_empty() {
        return explode(source, limit);
    }
    let mut parts = Vec::new();
    let mut rest = source;
    while parts.len() + 1 < limit {
        let Some(at) = find(rest, separator) else { break };
        parts.push(Str::from_bytes(rest.get(..at).unwrap_or_default()));
        rest = rest.get(at + separator.len()..).unwrap_or_default();
    }
    parts.push(Str::from_bytes(rest));
    parts
}

/// `explode` of Go's strings package: characters, the last part being what is left.
fn explode(source: &[u8], limit: usize) -> Vec<Str> {
    let mut parts = Vec::new();
    let mut at = 0;
    for (_, bytes) in runes(source) {
        if parts.len() + 1 >= limit {
            parts.push(Str::from_bytes(source.get(at..).unwrap_or_default()));
            break;
        }
        at += bytes.len();
        parts.push(Str::from_bytes(bytes));
    }
    parts
}

/// `{"_0": …, "_1": …}`.
fn numbered(parts: Vec<Str>) -> Value {
    let map = helm_template::Map::typed(&Type::STRING_MAP);
    for (index, part) in parts.into_iter().enumerate() {
        map.insert(format!("_{index}"), part);
    }
    Value::Map(map)
}
