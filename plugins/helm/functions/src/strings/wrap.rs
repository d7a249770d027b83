//! Folding of long lines (goutils' wordutils.go). It counts bytes.

use helm_template::{Signature, Type, Value};

use crate::register::{Register, int, text};

pub(crate) fn register(all: &mut Register) {
    all.add("wrap", Signature::new(&[Type::INT, Type::String], Type::String), |args| {
        Ok(Value::String(wrap(text(args, 1), int(args, 0), b"\n", false).into()))
    });
    all.add("wrapWith", Signature::new(&[Type::INT, Type::String, Type::String], Type::String), |args| {
        Ok(Value::String(wrap(text(args, 2), int(args, 0), text(args, 1), true).into()))
    });
}

/// `WrapCustom`: breaks at the last space within the width; words that are longer are cut where `cut` says so.
fn wrap(source: &[u8], width: i64, separator: &[u8], cut: bool) -> Vec<u8> {
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let mut out = Vec::with_capacity(source.len() + 16);
    let mut rest = source;
    while rest.len() > width {
        if let Some(after) = rest.strip_prefix(b" ") {
            rest = after;
            continue;
        }
        let window = rest.get(..=width).unwrap_or(rest);
        let (end, next) = if let Some(space) = window.iter().rposition(|byte| *byte == b' ') {
            (space, space + 1)
        } else if cut {
            (width, width)
        } else {
            let after = rest.get(width..).unwrap_or_default().iter().position(|byte| *byte == b' ');
            let Some(space) = after else { break };
            (width + space, width + space + 1)
        };
        out.extend_from_slice(rest.get(..end).unwrap_or_default());
        out.extend_from_slice(separator);
        rest = rest.get(next..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}
