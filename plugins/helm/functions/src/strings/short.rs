//! Shortened texts (goutils' stringutils.go). They count bytes, and white space is looked for byte by byte.

use helm_template::{Signature, Type, Value};

use crate::register::{Register, TEXT, int, text};
use crate::runes::is_space;

pub(crate) fn register(all: &mut Register) {
    all.add("abbrev", Signature::new(&[Type::INT, Type::String], Type::String), |args| {
        let (width, source) = (int(args, 0), text(args, 1));
        let Some(width) = usize::try_from(width).ok().filter(|width| *width >= 4) else {
            return Ok(bytes(source.to_vec()));
        };
        Ok(bytes(abbreviate(source, 0, width)))
    });
    all.add("abbrevboth", Signature::new(&[Type::INT, Type::INT, Type::String], Type::String), |args| {
        let (left, right, source) = (int(args, 0), int(args, 1), text(args, 2));
        let Some(width) = usize::try_from(right).ok().filter(|width| *width >= 4) else {
            return Ok(bytes(source.to_vec()));
        };
        if left > 0 && width < 7 {
            return Ok(bytes(source.to_vec()));
        }
        Ok(bytes(abbreviate(source, left, width)))
    });
    all.add("initials", TEXT, |args| {
        let mut after_gap = true;
        let mut out = String::new();
        for byte in text(args, 0).iter().copied().map(char::from) {
            if is_space(byte) {
                after_gap = true;
            } else if std::mem::take(&mut after_gap) {
                out.push(byte);
            }
        }
        Ok(Value::from(out))
    });
    all.add("nospace", TEXT, |args| {
        let source = text(args, 0);
        // `DeleteWhiteSpace` takes every byte for a character, unless it has nothing to delete.
        if !source.iter().copied().map(char::from).any(is_space) {
            return Ok(bytes(source.to_vec()));
        }
        Ok(source.iter().copied().map(char::from).filter(|rune| !is_space(*rune)).collect::<String>().into())
    });
}

fn bytes(bytes: Vec<u8>) -> Value {
    Value::String(bytes.into())
}

/// `AbbreviateFull`; an empty text where that fails.
fn abbreviate(source: &[u8], offset: i64, width: usize) -> Vec<u8> {
    let length = source.len();
    if width < 4 {
        return Vec::new();
    }
    if length <= width {
        return source.to_vec();
    }
    let signed = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let mut offset = offset.min(signed(length));
    if signed(length).wrapping_sub(offset) < signed(width - 3) {
        offset = signed(length - (width - 3));
    }
    let part = |range: std::ops::Range<usize>| source.get(range).unwrap_or_default();
    let Some(offset) = usize::try_from(offset).ok().filter(|offset| *offset > 4) else {
        return [part(0..width - 3), b"..."].concat();
    };
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < length {
        return [b"...", &*abbreviate(part(offset..length), 0, width - 3)].concat();
    }
    [b"...", part(length - (width - 3)..length)].concat()
}
