//! Upper, lower and the cases of identifiers.

use helm_template::Value;

use crate::register::{Register, TEXT, text};

pub(crate) fn register(all: &mut Register) {
    let map = |all: &mut Register, name: &'static str, change: fn(&str) -> String| {
        all.add(name, TEXT, move |args| Ok(Value::from(change(&String::from_utf8_lossy(text(args, 0))))));
    };
    map(all, "upper", str::to_uppercase);
    map(all, "lower", str::to_lowercase);
    map(all, "title", title);
    map(all, "untitle", untitle);
    map(all, "swapcase", swapcase);
    map(all, "camelcase", camel);
    map(all, "snakecase", |source| delimited(source, '_'));
    map(all, "kebabcase", |source| delimited(source, '-'));
}

/// `strings.Title`: the first letter of every word, words being parted by anything but letters, digits, `_` and `'`.
fn title(source: &str) -> String {
    let mut previous = ' ';
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        if is_separator(previous) {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
        previous = c;
    }
    out
}

/// `isSeparator` of Go's strings package.
fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return !(c.is_ascii_alphanumeric() || c == '_');
    }
    !c.is_alphanumeric() && c.is_whitespace()
}

/// goutils' `Uncapitalize`: the first letter after white space becomes lower case.
fn untitle(source: &str) -> String {
    let mut start = true;
    source
        .chars()
        .map(|c| {
            let lower = if start { c.to_lowercase().next().unwrap_or(c) } else { c };
            start = c.is_whitespace();
            lower
        })
        .collect()
}

/// goutils' `SwapCase`: lower case at the start of a word becomes title case, elsewhere upper.
fn swapcase(source: &str) -> String {
    let swap = |c: char| -> char {
        if c.is_uppercase() {
            c.to_lowercase().next().unwrap_or(c)
        } else {
            c.to_uppercase().next().unwrap_or(c)
        }
    };
    source.chars().map(swap).collect()
}

/// xstrings' `ToCamelCase` (upper camel): `_`, `-` and spaces part words; leading ones stay.
fn camel(source: &str) -> String {
    let connector = |c: char| matches!(c, '_' | '-' | ' ');
    let mut out = String::with_capacity(source.len());
    let rest = source.trim_start_matches(connector);
    out.push_str(source.strip_suffix(rest).unwrap_or_default());
    let mut upper = true;
    let trailing = rest.len() - rest.trim_end_matches(connector).len();
    let (body, tail) = rest.split_at(rest.len() - trailing);
    for c in body.chars() {
        if connector(c) {
            upper = true;
        } else if upper {
            out.extend(c.to_uppercase());
            upper = false;
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out.push_str(tail);
    out
}

/// xstrings' `ToSnakeCase` and `ToKebabCase`: a boundary before an upper-case letter that follows a lower-case one or a
/// digit, before the last upper-case letter of a run that a lower-case one follows, and around digits.
fn delimited(source: &str, delimiter: char) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len() + 8);
    for (index, c) in chars.iter().copied().enumerate() {
        if matches!(c, '_' | '-' | ' ') {
            out.push(delimiter);
            continue;
        }
        let previous = index.checked_sub(1).and_then(|before| chars.get(before)).copied();
        let next = chars.get(index + 1).copied();
        if let Some(previous) = previous
            && !matches!(previous, '_' | '-' | ' ')
        {
            let from_lower = c.is_uppercase() && (previous.is_lowercase() || previous.is_numeric());
            let run_ends =
                c.is_uppercase() && previous.is_uppercase() && next.is_some_and(char::is_lowercase);
            let digit_begins = c.is_numeric() && previous.is_alphabetic();
            if from_lower || run_ends || digit_begins {
                out.push(delimiter);
            }
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_part_words_as_the_go_packages_do() {
        assert_eq!(title("hello wORLD-x_y"), "Hello WORLD-X_y");
        assert_eq!(camel("http_server"), "HttpServer");
        assert_eq!(camel("_foo-bar"), "_FooBar");
        assert_eq!(delimited("FirstName", '_'), "first_name");
        assert_eq!(delimited("HTTPServer", '_'), "http_server");
        assert_eq!(delimited("NoHTTPS", '-'), "no-https");
    }
}
