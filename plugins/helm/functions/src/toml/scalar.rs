//! Strings, numbers, truth values and dates of TOML.

use helm_template::strconv::{NumberFault, parse_float, parse_int};
use helm_template::{Str, Value, fmt};

use super::lex::{END, Fault, Lexed, Lexer, is_line_end, quoted};
use crate::runes::is_letter;
use crate::time::parse::parse as parse_time;
use crate::time::zone::Zone;
use crate::time::{Time, object};

/// A text as it stands, and whether escapes have to be replaced.
struct Raw {
    text: Vec<u8>,
    escaped: bool,
    line: usize,
}

/// The kinds of quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Basic,
    Literal,
}

impl Quotes {
    fn of(mark: char) -> Self {
        if mark == '"' { Self::Basic } else { Self::Literal }
    }

    fn mark(self) -> char {
        if self == Self::Basic { '"' } else { '\'' }
    }
}

/// A string of one line; its opening mark has been read.
pub(super) fn line_string(lexer: &mut Lexer<'_>, mark: char) -> Lexed<Str> {
    let quotes = Quotes::of(mark);
    lexer.ignore();
    let mut escaped = false;
    loop {
        match lexer.next()? {
            END if quotes == Quotes::Basic => return Err(lexer.fault("unexpected EOF; expected '\"'")),
            END => return Err(lexer.fault("unexpected EOF; expected \"'\"")),
            c if is_line_end(c) => return Err(lexer.fault_before("strings cannot contain newlines")),
            '\\' if quotes == Quotes::Basic => {
                escaped = true;
                escape(lexer)?;
            }
            c if c == mark => break,
            _ => {}
        }
    }
    let text = lexer.current();
    let text = text.get(..text.len() - 1).unwrap_or_default().to_vec();
    lexer.ignore();
    finish(&Raw { text, escaped, line: lexer.line() })
}

/// A string; its opening mark has been read, and two more may follow.
pub(super) fn string(lexer: &mut Lexer<'_>, mark: char) -> Lexed<Str> {
    if lexer.accept(mark)? {
        if lexer.accept(mark)? {
            return block_string(lexer, Quotes::of(mark));
        }
        lexer.back();
    }
    line_string(lexer, mark)
}

/// A string of several lines.
fn block_string(lexer: &mut Lexer<'_>, quotes: Quotes) -> Lexed<Str> {
    let mark = quotes.mark();
    lexer.ignore();
    loop {
        match lexer.next()? {
            END => {
                let wanted = if quotes == Quotes::Basic { "'\"\"\"'" } else { "\"'''\"" };
                return Err(lexer.fault(format!("unexpected EOF; expected {wanted}")));
            }
            // At the end of a line it takes the line end away.
            '\\' if quotes == Quotes::Basic && !is_line_end(lexer.next()?) => {
                lexer.back();
                escape(lexer)?;
            }
            c if c == mark && ends_block(lexer, quotes)? => break,
            _ => {}
        }
    }
    let text = lexer.current();
    let text = text.get(..text.len() - 3).unwrap_or_default();
    let text = text.strip_prefix(b"\n").or_else(|| text.strip_prefix(b"\r\n")).unwrap_or(text);
    let escaped = quotes == Quotes::Basic;
    let text = if escaped { without_escaped_lines(text) } else { text.to_vec() };
    lexer.ignore();
    finish(&Raw { text, escaped, line: lexer.line() })
}

/// Whether the mark just read begins the end: three marks, none of which could still belong to the text.
fn ends_block(lexer: &mut Lexer<'_>, quotes: Quotes) -> Lexed<bool> {
    let mark = quotes.mark();
    if !lexer.accept(mark)? {
        return Ok(false);
    }
    if !lexer.accept(mark)? {
        lexer.back();
        return Ok(false);
    }
    if lexer.peek()? != mark {
        return Ok(true);
    }
    let (five, escaped): (&[u8], &[u8]) = match quotes {
        Quotes::Basic => (b"\"\"\"\"\"", b"\\\"\"\"\"\""),
        Quotes::Literal => (b"'''''", b"\\'''''\0"),
    };
    if lexer.current().ends_with(five) && !lexer.current().ends_with(escaped) {
        let six = if quotes == Quotes::Basic { "'\"\"\"\"\"\"'" } else { "\"''''''\"" };
        return Err(lexer.fault(format!("unexpected {six}")));
    }
    lexer.back();
    lexer.back();
    Ok(false)
}

/// What follows a backslash.
fn escape(lexer: &mut Lexer<'_>) -> Lexed<()> {
    let (count, letter, words) = match lexer.next()? {
        'e' | 'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\' => return Ok(()),
        'x' => (2, 'x', "two"),
        'u' => (4, 'u', "four"),
        'U' => (8, 'U', "eight"),
        other => return Err(lexer.fault_here(format!("invalid escape in string '\\{other}'"))),
    };
    for _ in 0..count {
        if !lexer.next()?.is_ascii_hexdigit() {
            let read = fmt::quote(lexer.current());
            let message =
                format!("expected {words} hexadecimal digits after '\\{letter}', but got {read} instead");
            return Err(lexer.fault(message));
        }
    }
    Ok(())
}

/// `stripEscapedNewlines`: a backslash at the end of a line takes the white space after it away.
fn without_escaped_lines(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            out.push(*first);
            rest = after;
            continue;
        }
        if let Some(after) = after.strip_prefix(b"\\") {
            out.extend_from_slice(b"\\\\");
            rest = after;
            continue;
        }
        let blanks = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        let (space, behind) = after.split_at_checked(blanks).unwrap_or((&[], after));
        if space.contains(&b'\n') {
            rest = behind;
        } else {
            out.push(b'\\');
            rest = after;
        }
    }
    out
}

/// Replaces escapes.
fn finish(raw: &Raw) -> Lexed<Str> {
    if !raw.escaped {
        return Ok(Str::from_bytes(&raw.text));
    }
    let wrong = |message: String| Fault { line: raw.line, message };
    let text = String::from_utf8_lossy(&raw.text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let digits = match rest.next() {
            Some('b') => Err('\x08'),
            Some('t') => Err('\t'),
            Some('n') => Err('\n'),
            Some('f') => Err('\x0C'),
            Some('r') => Err('\r'),
            Some('e') => Err('\x1B'),
            Some(c @ ('"' | '\\')) => Err(c),
            Some('x') => Ok(2),
            Some('u') => Ok(4),
            Some('U') => Ok(8),
            Some(other) => return Err(wrong(format!("invalid escape: '\\{other}'"))),
            None => return Err(wrong("invalid escape: '\\'".to_owned())),
        };
        match digits {
            Err(c) => out.push(c),
            Ok(count) => {
                let digits: String = rest.by_ref().take(count).collect();
                let c = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(
                    c.ok_or_else(|| wrong(format!("Escaped character '\\u{digits}' is not valid UTF-8.")))?,
                );
            }
        }
    }
    Ok(out.into())
}

/// A number, a date or a truth value, of which the first character has been read.
pub(super) fn scalar(lexer: &mut Lexer<'_>, first: char) -> Lexed<Value> {
    match first {
        '0'..='9' => number_or_date(lexer, first),
        '.' => Err(lexer.fault("floats must start with a digit, not '.'")),
        '-' | '+' => signed(lexer),
        'i' | 'n' if special(lexer)? => float(lexer),
        c if is_letter(c) => truth(lexer),
        END => Err(lexer.fault("unexpected EOF; expected value")),
        '\n' => Err(lexer.fault_before("expected value but found '\\n' instead")),
        other => Err(lexer.fault(format!("expected value but found {} instead", quoted(other)))),
    }
}

/// `inf` or `nan` after its first letter, whatever that is.
fn special(lexer: &mut Lexer<'_>) -> Lexed<bool> {
    if lexer.accept('n')? && lexer.accept('f')? {
        return Ok(true);
    }
    Ok(lexer.accept('a')? && lexer.accept('n')?)
}

fn truth(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    lexer.back();
    let from = lexer.current().len();
    lexer.skip_while(is_letter)?;
    let word = lexer.current().get(from..).unwrap_or_default();
    match word {
        b"true" => Ok(true.into()),
        b"false" => Ok(false.into()),
        word => Err(lexer.fault(format!("expected value but found {} instead", fmt::quote(word)))),
    }
}

fn signed(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    let c = lexer.next()?;
    let rest = match c {
        'i' => Some(['n', 'f']),
        'n' => Some(['a', 'n']),
        _ => None,
    };
    if let Some([second, third]) = rest {
        if !lexer.accept(second)? || !lexer.accept(third)? {
            return Err(lexer.fault(format!("invalid float: '{}'", lexer.current_text())));
        }
        return float(lexer);
    }
    match c {
        '0' => {
            let base = lexer.peek()?;
            if matches!(base, 'b' | 'o' | 'x') {
                let message =
                    format!("cannot use sign with non-decimal numbers: '{}{base}'", lexer.current_text());
                return Err(lexer.fault(message));
            }
        }
        '.' => return Err(lexer.fault("floats must start with a digit, not '.'")),
        _ => {}
    }
    if c.is_ascii_digit() {
        return decimal(lexer);
    }
    Err(lexer.fault(format!("expected a digit but got {}", quoted(c))))
}

fn number_or_date(lexer: &mut Lexer<'_>, first: char) -> Lexed<Value> {
    let mut c = lexer.next()?;
    if first == '0' && !c.is_ascii_digit() {
        return match c {
            'b' => based(lexer, 'b', "a binary", |c| matches!(c, '0' | '1')),
            'o' => based(lexer, 'o', "an octal", |c| c.is_digit(8)),
            'x' => based(lexer, 'x', "a hexadecimal", |c| c.is_ascii_hexdigit()),
            '_' => decimal(lexer),
            '.' | 'e' | 'E' => float_tail(lexer),
            _ => {
                lexer.back();
                integer(lexer)
            }
        };
    }
    while c.is_ascii_digit() {
        c = lexer.next()?;
    }
    match c {
        '-' | ':' => {
            lexer.skip_while(|c| {
                c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+')
            })?;
            date(lexer)
        }
        '_' => decimal(lexer),
        '.' | 'e' | 'E' => float_tail(lexer),
        _ => {
            lexer.back();
            integer(lexer)
        }
    }
}

fn based(lexer: &mut Lexer<'_>, _: char, name: &str, belongs: fn(char) -> bool) -> Lexed<Value> {
    let c = lexer.peek()?;
    if !belongs(c) {
        let message = format!("not {name} number: '{}{c}'", lexer.current_text());
        return Err(lexer.fault(message));
    }
    lexer.skip_while(|c| belongs(c) || c == '_')?;
    integer(lexer)
}

fn decimal(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    lexer.skip_while(|c| c.is_ascii_digit() || c == '_')?;
    if matches!(lexer.peek()?, '.' | 'e' | 'E') {
        return float_tail(lexer);
    }
    integer(lexer)
}

fn float_tail(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    lexer.skip_while(|c| c.is_ascii_digit() || matches!(c, '_' | '.' | '-' | '+' | 'e' | 'E'))?;
    float(lexer)
}

/// The text of the value that has been read.
fn taken(lexer: &mut Lexer<'_>) -> (String, usize) {
    let text = lexer.current_text();
    lexer.ignore();
    (text, lexer.line())
}

fn integer(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    let (text, line) = taken(lexer);
    let shown = fmt::quote(text.as_bytes());
    let wrong = |message: String| Fault { line, message };
    if !underscores_fit(&text) {
        return Err(wrong(format!("Invalid integer {shown}: underscores must be surrounded by digits")));
    }
    if leading_zero(&text) {
        return Err(wrong(format!("Invalid integer {shown}: cannot have leading zeroes")));
    }
    match parse_int(&text, 0, 64) {
        Ok(number) => Ok(number.into()),
        Err(error) if error.fault == NumberFault::Range => {
            Err(wrong(format!("{text} is out of range for int64")))
        }
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn float(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    let (text, line) = taken(lexer);
    let shown = fmt::quote(text.as_bytes());
    let wrong = |message: String| Fault { line, message };
    let parts: Vec<&str> = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty()).collect();
    if !parts.iter().all(|part| underscores_fit(part)) {
        return Err(wrong(format!("Invalid float {shown}: underscores must be surrounded by digits")));
    }
    if parts.first().is_some_and(|part| leading_zero(part)) {
        return Err(wrong(format!("Invalid float {shown}: cannot have leading zeroes")));
    }
    let digit_follows = |after: &str| after.starts_with(|c: char| c.is_ascii_digit());
    if !text.split('.').skip(1).all(digit_follows) {
        return Err(wrong(format!("Invalid float {shown}: '.' must be followed by one or more digits")));
    }
    let plain = text.replace('_', "");
    let (plain, negative) = match plain.as_str() {
        "-nan" => ("nan", true),
        "+nan" => ("nan", false),
        other => (other, false),
    };
    match parse_float(plain) {
        Ok(number) => Ok(if negative { (-number).into() } else { number.into() }),
        Err(error) if error.fault == NumberFault::Range => {
            Err(wrong(format!("{text} is out of range for float64")))
        }
        Err(_) => Err(wrong(format!("Invalid float value: {shown}"))),
    }
}

/// Every underscore stands between digits of some base.
fn underscores_fit(text: &str) -> bool {
    if matches!(text.trim_start_matches(['+', '-']), "nan" | "inf") {
        return true;
    }
    let mut accepted = false;
    for c in text.chars() {
        if c == '_' && !accepted {
            return false;
        }
        accepted = c.is_ascii_hexdigit();
    }
    accepted
}

fn leading_zero(text: &str) -> bool {
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('0'), Some(second), _) => !matches!(second, 'b' | 'o' | 'x'),
        (Some('-' | '+'), Some('0'), Some(_)) => true,
        _ => false,
    }
}

/// The forms of dates and times; those without an offset are of a zone that says so.
const FORMS: [(&str, Option<&str>); 7] = [
    ("2006-01-02T15:04:05.999999999Z07:00", None),
    ("2006-01-02T15:04:05.999999999", Some("datetime-local")),
    ("2006-01-02", Some("date-local")),
    ("15:04:05.999999999", Some("time-local")),
    ("2006-01-02T15:04Z07:00", None),
    ("2006-01-02T15:04", Some("datetime-local")),
    ("15:04", Some("time-local")),
];

fn date(lexer: &mut Lexer<'_>) -> Lexed<Value> {
    let (text, line) = taken(lexer);
    let text = text.trim_matches([' ', '\t']).replace('z', "Z").replace(['t', ' '], "T");
    let wrong = || Fault { line, message: format!("invalid datetime: {}", fmt::quote(text.as_bytes())) };
    for (form, zone) in FORMS {
        let Ok(time) = parse_time(form.as_bytes(), text.as_bytes()) else { continue };
        if misses_zero(&text, form) {
            return Err(wrong());
        }
        let time: Time = match zone {
            Some(name) => time.with_zone(Zone::Fixed(name.to_owned(), 0)),
            None => time,
        };
        return Ok(object::time(time));
    }
    Err(wrong())
}

/// Separators that are not where the form has them: a number has too few digits.
fn misses_zero(text: &str, form: &str) -> bool {
    let fixed = form.bytes().enumerate().take_while(|(_, byte)| !matches!(byte, b'.' | b'Z'));
    fixed.filter(|(_, byte)| !byte.is_ascii_digit()).any(|(at, byte)| text.as_bytes().get(at) != Some(&byte))
}
