//! Texts. Go's strings are bytes: what is cut may end within a character.

use helm_template::{List, Signature, Str, Type, Value};

use crate::register::{ANY_TEXT, Register, Result, TEXT, TEXT_TEXT, TEXTS_BOOL, arg, fail, int, text};
use crate::strval::{strslice, strval};

mod cases;
mod wrap;

pub(crate) fn register(all: &mut Register) {
    trimming(all);
    testing(all);
    building(all);
    splitting(all);
    cases::register(all);
    wrap::register(all);
}

fn string(bytes: &[u8]) -> Value {
    Value::String(Str::from_bytes(bytes))
}

fn trimming(all: &mut Register) {
    all.add("trim", TEXT, |args| Ok(string(trim_space(text(args, 0)))));
    let trim_all = |args: &[Value]| -> Result {
        let cut = String::from_utf8_lossy(text(args, 0)).into_owned();
        let source = String::from_utf8_lossy(text(args, 1)).into_owned();
        Ok(Value::from(source.trim_matches(|c| cut.contains(c))))
    };
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
        let (count, source) = (int(args, 0), text(args, 1));
        let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        if source.len() <= wanted {
            return Ok(string(source));
        }
        let cut = if count < 0 { source.get(source.len() - wanted..) } else { source.get(..wanted) };
        Ok(string(cut.unwrap_or_default()))
    });
    all.add("nospace", TEXT, |args| {
        let source = String::from_utf8_lossy(text(args, 0)).into_owned();
        Ok(Value::from(source.chars().filter(|c| !c.is_whitespace()).collect::<String>()))
    });
    all.add("substr", Signature::new(&[Type::INT, Type::INT, Type::String], Type::String), |args| {
        substr(int(args, 0), int(args, 1), text(args, 2))
    });
}

/// `substring` of sprig's strings.go: a negative start counts as the start, a negative or too large end as the end.
fn substr(start: i64, end: i64, source: &[u8]) -> Result {
    let length = i64::try_from(source.len()).unwrap_or(i64::MAX);
    let (from, to) = if start < 0 {
        (0, end)
    } else if end < 0 || end > length {
        (start, length)
    } else {
        (start, end)
    };
    let index = |at: i64| usize::try_from(at).ok();
    match index(from).zip(index(to)).and_then(|(from, to)| source.get(from..to)) {
        Some(part) => Ok(string(part)),
        // Go's runtime panics, and the template reports the panic.
        None if from > to => Err(fail(format!("slice bounds out of range [{from}:{to}]"))),
        None => Err(fail(format!("slice bounds out of range [:{to}] with length {length}"))),
    }
}

fn trim_space(source: &[u8]) -> &[u8] {
    match std::str::from_utf8(source) {
        Ok(text) => text.trim_matches(is_go_space).as_bytes(),
        Err(_) => source.trim_ascii(),
    }
}

/// `unicode.IsSpace`.
fn is_go_space(c: char) -> bool {
    c.is_whitespace()
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
    all.add("squote", quote, |args| {
        let mut out = Vec::new();
        for value in args.iter().filter(|value| !is_untyped_nil(value)) {
            // `fmt.Sprintf("'%v'")`.
            let shown = helm_template::fmt::text(value).map_err(|error| fail(error.to_string()))?;
            out.push(format!("'{}'", shown.to_str_lossy()));
        }
        Ok(Value::from(out.join(" ")))
    });
    all.add("cat", quote, |args| {
        let mut out = Vec::new();
        for value in args.iter().filter(|value| !is_untyped_nil(value)) {
            out.push(
                helm_template::fmt::text(value)
                    .map_err(|error| fail(error.to_string()))?
                    .to_str_lossy()
                    .into_owned(),
            );
        }
        Ok(Value::from(out.join(" ")))
    });
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
        let source = String::from_utf8_lossy(source).into_owned();
        return source.replace("", &String::from_utf8_lossy(new)).into_bytes();
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
        let mut parts = strslice(arg(args, 0))?;
        parts.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        Ok(Value::List(List::strings(parts)))
    });
}

/// `strings.SplitN`: an empty separator splits into characters.
fn split(source: &[u8], separator: &[u8], limit: usize) -> Vec<Str> {
    if separator.is_empty() {
        let source = String::from_utf8_lossy(source).into_owned();
        return source.chars().map(|c| Str::from(c.to_string())).collect();
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

/// `{"_0": …, "_1": …}`.
fn numbered(parts: Vec<Str>) -> Value {
    let map = helm_template::Map::typed(&Type::STRING_MAP);
    for (index, part) in parts.into_iter().enumerate() {
        map.insert(format!("_{index}"), part);
    }
    Value::Map(map)
}
