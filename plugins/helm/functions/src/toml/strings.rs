//! Strings of TOML.

use helm_template::{Str, fmt};

use super::lex::{END, Fault, Lexed, Lexer, is_line_end};

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
