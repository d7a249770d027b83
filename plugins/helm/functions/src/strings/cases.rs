//! Upper, lower and the cases of words.

use helm_template::Value;

use super::words;
use crate::register::{Register, TEXT, text};
use crate::runes::{
    is_letter, is_lower, is_space, is_title, is_upper, map, to_lower, to_runes, to_title, to_upper,
};

pub(crate) fn register(all: &mut Register) {
    let add = |all: &mut Register, name: &'static str, change: fn(&[u8]) -> Value| {
        all.add(name, TEXT, move |args| Ok(change(text(args, 0))));
    };
    add(all, "upper", |source| map(source, to_upper).into());
    add(all, "lower", |source| map(source, to_lower).into());
    add(all, "title", |source| title(source).into());
    add(all, "untitle", |source| untitle(source).into());
    add(all, "swapcase", |source| swapcase(source).into());
    add(all, "camelcase", |source| words::pascal(source).into());
    add(all, "snakecase", |source| Value::String(words::delimited(source, '_').into()));
    add(all, "kebabcase", |source| Value::String(words::delimited(source, '-').into()));
}

/// `strings.Title`: the first letter of every word.
fn title(source: &[u8]) -> String {
    let mut previous = ' ';
    map(source, |rune| {
        let changed = if is_separator(previous) { to_title(rune) } else { rune };
        previous = rune;
        changed
    })
}

/// `isSeparator` of Go's strings package.
fn is_separator(rune: char) -> bool {
    if rune.is_ascii() {
        return !(rune.is_ascii_alphanumeric() || rune == '_');
    }
    !is_letter(rune) && !rune.is_numeric() && is_space(rune)
}

/// goutils' `Uncapitalize`: the first letter after white space becomes lower case.
fn untitle(source: &[u8]) -> String {
    let mut start = true;
    let change = |rune| {
        if is_space(rune) {
            start = true;
            return rune;
        }
        if std::mem::take(&mut start) { to_lower(rune) } else { rune }
    };
    to_runes(source).into_iter().map(change).collect()
}

/// goutils' `SwapCase`: lower case after white space becomes title case, elsewhere upper.
fn swapcase(source: &[u8]) -> String {
    let mut after_space = true;
    let change = |rune| {
        if is_upper(rune) || is_title(rune) {
            after_space = false;
            to_lower(rune)
        } else if is_lower(rune) {
            if std::mem::take(&mut after_space) { to_title(rune) } else { to_upper(rune) }
        } else {
            after_space = is_space(rune);
            rune
        }
    };
    to_runes(source).into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_where_the_go_packages_see_them_begin() {
        assert_eq!(title(b"hello wORLD-x_y"), "Hello WORLD-X_y");
        assert_eq!(untitle(b"Hello  World-X"), "hello  world-X");
        assert_eq!(swapcase(b"This Is a.Test"), "tHIS iS A.tEST");
    }

    #[test]
    fn case_mappings_never_change_the_number_of_characters() {
        assert_eq!(map("ßŉﬁİı".as_bytes(), to_upper), "ßŉﬁİI");
        assert_eq!(map("İǅ".as_bytes(), to_lower), "iǆ");
    }
}
