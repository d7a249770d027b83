//! Folding of long lines (goutils' wordutils.go).

use helm_template::{Signature, Type, Value};

use crate::register::{Register, int, text};

pub(crate) fn register(all: &mut Register) {
    all.add("wrap", Signature::new(&[Type::INT, Type::String], Type::String), |args| {
        Ok(Value::from(wrap(&String::from_utf8_lossy(text(args, 1)), int(args, 0), "\n", false)))
    });
    all.add("wrapWith", Signature::new(&[Type::INT, Type::String, Type::String], Type::String), |args| {
        let separator = String::from_utf8_lossy(text(args, 1)).into_owned();
        Ok(Value::from(wrap(&String::from_utf8_lossy(text(args, 2)), int(args, 0), &separator, true)))
    });
}

/// `WrapCustom`: breaks at the last space within the width; words that are longer are cut where `cut` says so.
fn wrap(source: &str, width: i64, separator: &str, cut: bool) -> String {
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let separator = if separator.is_empty() { "\n" } else { separator };
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len() + 16);
    let mut offset = 0;
    while chars.len() - offset > width {
        if chars.get(offset) == Some(&' ') {
            offset += 1;
            continue;
        }
        let window = chars.get(offset..=offset + width).unwrap_or_default();
        if let Some(space) = window.iter().rposition(|c| *c == ' ') {
            out.extend(chars.get(offset..offset + space).unwrap_or_default());
            out.push_str(separator);
            offset += space + 1;
        } else if cut {
            out.extend(chars.get(offset..offset + width).unwrap_or_default());
            out.push_str(separator);
            offset += width;
        } else {
            let after = chars.get(offset + width..).unwrap_or_default().iter().position(|c| *c == ' ');
            match after {
                Some(space) => {
                    out.extend(chars.get(offset..offset + width + space).unwrap_or_default());
                    out.push_str(separator);
                    offset += width + space + 1;
                }
                None => break,
            }
        }
    }
    out.extend(chars.get(offset..).unwrap_or_default());
    out
}
