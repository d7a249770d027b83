//! Numbers, truth values and dates of TOML.

use helm_template::strconv::{NumberFault, parse_float, parse_int};
use helm_template::{Value, fmt};

use super::lex::{END, Fault, Lexed, Lexer, quoted};
use crate::runes::is_letter;
use crate::time::parse::parse as parse_time;
use crate::time::zone::Zone;
use crate::time::{Time, object};

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
