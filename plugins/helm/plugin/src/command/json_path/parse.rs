//! A template's text into its parts.

use super::{Bound, Node};

/// What is not there any more.
const END: Option<char> = None;

pub(super) fn template(text: &str) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::new();
    let mut rest = text;
    while let Some((before, action)) = rest.split_once('{') {
        if !before.is_empty() {
            nodes.push(Node::Text(before.to_owned()));
        }
        let mut scanner = Scanner { text: action, position: 0, start: 0 };
        nodes.push(Node::List(scanner.action()?));
        rest = scanner.after();
    }
    if !rest.is_empty() {
        nodes.push(Node::Text(rest.to_owned()));
    }
    Ok(nodes)
}

/// The parts of one action.
fn inside(text: &str) -> Result<Vec<Node>, String> {
    match template(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Scanner<'a> {
    text: &'a str,
    position: usize,
    /// Where what is being read starts.
    start: usize,
}

impl<'a> Scanner<'a> {
    fn after(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.after().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.position += next.map_or(0, char::len_utf8);
        next
    }

    /// What was read since the last call.
    fn take(&mut self) -> &'a str {
        let taken = self.text.get(self.start..self.position).unwrap_or_default();
        self.start = self.position;
        taken
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let is_next = self.after().starts_with(prefix);
        if is_next {
            self.position += prefix.len();
            self.take();
        }
        is_next
    }

    /// Everything up to the brace that closes.
    fn action(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        loop {
            if self.skip("}") {
                return Ok(nodes);
            }
            if self.skip("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.after().starts_with("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.skip("..");
                nodes.push(Node::Recursive);
                if self.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
                    nodes.push(self.field());
                }
                continue;
            }
            self.part(&mut nodes)?;
        }
    }

    fn part(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        match self.peek() {
            END | Some('\r' | '\n') => return Err("unclosed action".to_owned()),
            Some(' ' | '@' | '$') => {
                self.next();
                self.take();
            }
            Some('[') => self.array(nodes)?,
            Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
            Some('.') => {
                self.next();
                nodes.push(self.field());
            }
            Some(c) if matches!(c, '+' | '-') || c.is_numeric() => nodes.push(self.number()?),
            Some(c) if c == '_' || c.is_alphabetic() => nodes.push(self.identifier()),
            Some(other) => {
                let shown = if other.is_control() { String::new() } else { format!(" '{other}'") };
                let code = u32::from(other);
                return Err(format!("unrecognized character in action: U+{code:04X}{shown}"));
            }
        }
        Ok(())
    }

    fn identifier(&mut self) -> Node {
        while !is_end_of_word(self.peek()) {
            self.next();
        }
        match self.take() {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.to_owned()),
        }
    }

    /// A field; what stands in front of it was read.
    fn field(&mut self) -> Node {
        self.take();
        loop {
            match self.peek() {
                Some('\\') => {
                    self.next();
                    self.next();
                }
                other if is_end_of_word(other) => break,
                _ => {
                    self.next();
                }
            }
        }
        match self.take() {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        self.next();
        while self.peek().is_some_and(|c| c == '.' || c.is_numeric()) {
            self.next();
        }
        let text = self.take();
        let integer = text.parse().map(Node::Int).ok();
        let number = integer.or_else(|| text.parse().map(Node::Float).ok());
        number.ok_or_else(|| format!("cannot parse number {text}"))
    }

    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        loop {
            match self.next() {
                END | Some('\n') => return Err("unterminated array".to_owned()),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = self.take();
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text.split(',').map(|part| inside(&format!("[{}]", part.trim_matches(' '))));
            nodes.push(Node::Union(parts.collect::<Result<_, _>>()?));
        } else if let Some(key) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))
            && !key.contains('\'')
        {
            nodes.extend(inside(&format!(".{key}"))?);
        } else {
            nodes.push(Node::Array(bounds(text)?));
        }
        Ok(())
    }

    /// A filter; its start was read.
    fn filter(&mut self) -> Result<Node, String> {
        let (mut opened, mut closed, mut quote) = (false, false, ' ');
        loop {
            match self.next() {
                END | Some('\n') => return Err("unterminated filter".to_owned()),
                Some(c @ ('"' | '\'')) if !opened => (opened, quote) = (true, c),
                Some(c @ ('"' | '\'')) if c == quote && !self.is_escaped() => closed = true,
                Some(')') if opened == closed => break,
                Some(_) => {}
            }
        }
        if self.next() != Some(']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let text = self.take();
        let text = text.strip_suffix(")]").unwrap_or(text);
        let is_operator = |c: char| "!<>=".contains(c);
        let start = text.find(is_operator).unwrap_or(text.len());
        let (left, rest) = text.split_at(start);
        // The operator leaves at least one character to what follows.
        let operators = rest.len() - rest.trim_start_matches(is_operator).len();
        let length = if operators == rest.len() { operators.saturating_sub(1) } else { operators };
        if left.is_empty() || length == 0 {
            let operator = "exists".to_owned();
            return Ok(Node::Filter { left: inside(text)?, operator, right: Vec::new() });
        }
        let (operator, right) = rest.split_at(length);
        Ok(Node::Filter { left: inside(left)?, operator: operator.to_owned(), right: inside(right)? })
    }

    /// Whether a backslash stands in front of what was just read.
    fn is_escaped(&self) -> bool {
        self.position.checked_sub(2).is_some_and(|at| self.text.as_bytes().get(at) == Some(&b'\\'))
    }

    fn quoted(&mut self, quote: char) -> Result<Node, String> {
        self.next();
        loop {
            match self.next() {
                END | Some('\n') => return Err("unterminated quoted string".to_owned()),
                Some(c) if c == quote && !self.is_escaped() => break,
                Some(_) => {}
            }
        }
        let text = self.take();
        let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        let unquoted = inner.and_then(|inner| unquote(inner, quote));
        unquoted.map(Node::Text).ok_or_else(|| format!("unquote string {text} error invalid syntax"))
    }
}

fn is_end_of_word(c: Option<char>) -> bool {
    c.is_none_or(|c| " \t\r\n.,[]$@{}".contains(c))
}

/// `first:end:step`, each of which may be missing.
fn bounds(text: &str) -> Result<[Bound; 3], String> {
    let invalid = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    let is_number = |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|b| b.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return Err(invalid());
    }
    let read = |part: Option<&&str>| match part {
        None | Some(&"") => Ok(Bound::default()),
        Some(part) => {
            let value = part.parse().map_err(|_| format!("array index {part} is not a number"))?;
            Ok::<_, String>(Bound { value, is_known: true, is_derived: false })
        }
    };
    let first = read(parts.first())?;
    let end = match parts.get(1) {
        None => Bound { value: first.value.saturating_add(1), is_known: true, is_derived: true },
        end => read(end)?,
    };
    Ok([first, end, read(parts.get(2))?])
}

/// Go's escapes in a string; none for what is no such string.
fn unquote(text: &str, quote: char) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            return None;
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            c if c == quote => c,
            'x' => code(&mut chars, 2)?,
            'u' => code(&mut chars, 4)?,
            'U' => code(&mut chars, 8)?,
            _ => return None,
        });
    }
    Some(out)
}

fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..digits {
        number = number * 16 + chars.next()?.to_digit(16)?;
    }
    char::from_u32(number)
}
