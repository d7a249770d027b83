//! The order in which go-yaml writes the keys of a map: numbers inside of them count as numbers (`sorter.go`).

use super::Dialect;
use super::unicode_tables::{DIGITS, LETTERS};

/// Sorts entries by their keys, which come in the order of their bytes.
///
/// The standard sort may panic on an order that contradicts itself, and go-yaml's can (its numbers overflow).
pub(super) fn sort<T: Clone>(entries: &mut Vec<T>, key: impl Fn(&T) -> &str, dialect: Dialect) {
    let before = |a: &T, b: &T| less(key(a), key(b), dialect);
    if entries.is_sorted_by(|a, b| !before(b, a)) {
        return;
    }
    let mut width = 1;
    while width < entries.len() {
        let merged = entries.chunks(2 * width).flat_map(|pair| {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &before)
        });
        *entries = merged.collect();
        width *= 2;
    }
}

fn merge<T: Clone>(mut left: &[T], mut right: &[T], before: &impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
        if before(b, a) {
            merged.push(b.clone());
            right = rest_right;
        } else {
            merged.push(a.clone());
            left = rest_left;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    merged
}

/// go-yaml's `keyList.Less` on two strings.
fn less(a: &str, b: &str, dialect: Dialect) -> bool {
    let common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    // The characters may differ in their last bytes only.
    let common =
        (0..=common).rev().find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at)).unwrap_or(0);
    let (before, rest_a) = a.split_at(common);
    let rest_b = b.get(common..).unwrap_or_default();
    let (Some(x), Some(y)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.is_empty() && !rest_b.is_empty();
    };
    match (is_letter(x), is_letter(y)) {
        (true, true) => return x < y,
        (false, false) => {}
        (x_is_letter, y_is_letter) => {
            let in_number = dialect == Dialect::V3 && before.chars().next_back().is_some_and(is_digit);
            return if in_number { x_is_letter } else { y_is_letter };
        }
    }
    // A zero behind other digits counts.
    let start = if (x == '0' || y == '0') && ends_with_number(before) { 1 } else { 0 };
    let (x_value, x_length) = number(rest_a, start);
    let (y_value, y_length) = number(rest_b, start);
    (x_value, x_length, x) < (y_value, y_length, y)
}

/// Whether the digits at the end of `text` are not all zeros.
fn ends_with_number(text: &str) -> bool {
    text.chars().rev().take_while(|character| is_digit(*character)).any(|character| character != '0')
}

/// The number at the start of `text`, and how many digits it has.
fn number(text: &str, start: i64) -> (i64, usize) {
    text.chars().take_while(|character| is_digit(*character)).fold((start, 0), |(value, length), digit| {
        let digit = i64::from(u32::from(digit)) - i64::from(b'0');
        (value.wrapping_mul(10).wrapping_add(digit), length + 1)
    })
}

fn is_letter(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphabetic() } else { listed(LETTERS, character) }
}

fn is_digit(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_digit() } else { listed(DIGITS, character) }
}

fn listed(changes: &[u32], character: char) -> bool {
    changes.partition_point(|change| *change <= u32::from(character)) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &[&str], dialect: Dialect) -> Vec<String> {
        let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        keys.sort();
        sort(&mut keys, String::as_str, dialect);
        keys
    }

    #[test]
    fn numbers_in_keys_count_as_numbers() {
        assert_eq!(sorted(&["a10", "a2", "a1"], Dialect::V2), ["a1", "a2", "a10"]);
        assert_eq!(sorted(&["10", "9", "True", "A", "a"], Dialect::V2), ["9", "10", "A", "True", "a"]);
        assert_eq!(sorted(&["a100", "a10", "a01"], Dialect::V2), ["a01", "a10", "a100"]);
    }

    #[test]
    fn letters_come_behind_everything_else() {
        assert_eq!(
            sorted(&["ab", "a-b", "a_b", "a.b", "a0"], Dialect::V2),
            ["a-b", "a.b", "a_b", "a0", "ab"]
        );
        assert_eq!(sorted(&["é", "_", "z"], Dialect::V2), ["_", "z", "é"]);
    }

    #[test]
    fn a_letter_behind_a_digit_comes_first_in_version_3_only() {
        assert_eq!(sorted(&["1a", "10"], Dialect::V2), ["10", "1a"]);
        assert_eq!(sorted(&["1a", "10"], Dialect::V3), ["1a", "10"]);
    }

    #[test]
    fn an_order_that_contradicts_itself_sorts_without_panic() {
        let keys: Vec<String> = (0..200_u64)
            .map(|n| format!("k{}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).repeat(1 + n as usize % 3))
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        assert_eq!(sorted(&keys, Dialect::V2).len(), 200);
    }
}
