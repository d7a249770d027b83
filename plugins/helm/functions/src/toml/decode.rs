//! A TOML document as a map (parse.go of BurntSushi/toml).

use std::collections::HashSet;

use helm_template::{List, Map, Str, Type, Value, fmt};

use super::lex::{END, Fault, Lexed, Lexer, is_blank, is_line_end, quoted, shown};
use super::{scalar, strings};

mod tables;

const TABLES: Type = Type::Slice(&Type::MAP);

/// How deep values may be nested.
const MAX_DEPTH: usize = helm_template::MAX_DEPTH;

type Key = Vec<Str>;

struct Parser<'s> {
    lexer: Lexer<'s>,
    root: Map,
    /// The table that keys are set in.
    context: Key,
    /// The key that is being set; empty outside.
    current: Str,
    /// The line of the key or table that is being read.
    line: usize,
    /// Tables that exist because something within them was named.
    implicit: HashSet<String>,
    /// Keys of arrays of values.
    arrays: HashSet<String>,
    depth: usize,
}

/// `toml.Unmarshal` into a map; the map is what was read where there is an error.
pub(super) fn decode(source: &[u8]) -> Result<Map, String> {
    let source = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"]
        .iter()
        .find_map(|mark| source.strip_prefix(*mark))
        .unwrap_or(source);
    if source.iter().take(6).any(|byte| *byte == 0) {
        let message = "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8";
        return Err(format!("toml: line 1: {message}"));
    }
    let mut parser = Parser {
        lexer: Lexer::new(source),
        root: Map::new(),
        context: Vec::new(),
        current: Str::default(),
        line: 1,
        implicit: HashSet::new(),
        arrays: HashSet::new(),
        depth: 0,
    };
    match parser.document() {
        Ok(()) => Ok(parser.root),
        Err(fault) => Err(parser.describe(&fault)),
    }
}

/// `Key.String`.
fn dotted(key: &[Str]) -> String {
    let bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let part = |part: &Str| {
        if !part.is_empty() && part.as_bytes().iter().all(bare) {
            part.to_string()
        } else {
            super::encode::quoted_key(part)
        }
    };
    key.iter().map(part).collect::<Vec<_>>().join(".")
}

impl Parser<'_> {
    fn describe(&self, fault: &Fault) -> String {
        let last = match (self.context.is_empty(), self.current.is_empty()) {
            (_, true) => dotted(&self.context),
            (true, false) => self.current.to_string(),
            (false, false) => format!("{}.{}", dotted(&self.context), self.current),
        };
        let last = if last.is_empty() {
            String::new()
        } else {
            format!(" (last key {})", fmt::quote(last.as_bytes()))
        };
        format!("toml: line {}{last}: {}", fault.line, fault.message)
    }

    /// An error about the key that is being set.
    fn refuse(&self, message: String) -> Fault {
        Fault { line: self.line, message }
    }

    fn document(&mut self) -> Lexed<()> {
        loop {
            match self.lexer.next()? {
                END => return Ok(()),
                c if is_blank(c) || is_line_end(c) => {}
                '#' => self.lexer.comment()?,
                '[' => {
                    self.table_header()?;
                    self.end_of_line()?;
                }
                _ => {
                    self.lexer.back();
                    let outer = self.context.clone();
                    let value_of = self.key_value(false)?;
                    drop(value_of);
                    self.context = outer;
                    self.current = Str::default();
                    self.end_of_line()?;
                }
            }
        }
    }

    fn end_of_line(&mut self) -> Lexed<()> {
        loop {
            match self.lexer.next()? {
                '#' => return self.lexer.comment(),
                c if is_blank(c) => {}
                c if is_line_end(c) => return Ok(()),
                END => {
                    self.lexer.back();
                    return Ok(());
                }
                c => {
                    return Err(self.lexer.fault(format!(
                        "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                        quoted(c)
                    )));
                }
            }
        }
    }

    /// `[a.b]` or `[[a.b]]`, of which the first bracket has been read.
    fn table_header(&mut self) -> Lexed<()> {
        let array = self.lexer.accept('[')?;
        let mut key = Vec::new();
        loop {
            self.lexer.skip_blanks()?;
            let part = match self.lexer.peek()? {
                ']' | END => {
                    return Err(self
                        .lexer
                        .fault("unexpected end of table name (table names cannot be empty)"));
                }
                '.' => {
                    return Err(self.lexer.fault("unexpected table separator (table names cannot be empty)"));
                }
                _ => self.name()?,
            };
            if key.is_empty() {
                self.line = self.lexer.line();
            }
            key.push(part);
            self.lexer.skip_blanks()?;
            match self.lexer.next()? {
                '.' => self.lexer.ignore(),
                ']' => break,
                c => {
                    let message =
                        format!("expected '.' or ']' to end table name, but got {} instead", quoted(c));
                    return Err(self.lexer.fault(message));
                }
            }
        }
        if array {
            let c = self.lexer.next()?;
            if c != ']' {
                let message =
                    format!("expected end of table array name delimiter ']', but got {} instead", quoted(c));
                return Err(self.lexer.fault(message));
            }
        }
        self.lexer.ignore();
        self.add_context(&key, array)
    }

    /// A bare or quoted part of a key.
    fn name(&mut self) -> Lexed<Str> {
        self.lexer.ignore();
        match self.lexer.peek()? {
            mark @ ('"' | '\'') => {
                self.lexer.next()?;
                strings::line_string(&mut self.lexer, mark)
            }
            _ => {
                self.lexer.skip_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))?;
                Ok(Str::from_bytes(self.lexer.current()))
            }
        }
    }

    /// `a.b = value`. Returns what the value was set under, beginning with the outer context.
    fn key_value(&mut self, inline: bool) -> Lexed<(Key, Value)> {
        self.lexer.skip_blanks()?;
        match self.lexer.peek()? {
            '=' | END => return Err(self.lexer.fault("unexpected '=': key name appears blank")),
            '.' => return Err(self.lexer.fault("unexpected '.': keys cannot start with a '.'")),
            _ => {}
        }
        let key = self.key()?;
        let (last, parents) = key
            .split_last()
            .map_or((Str::default(), Vec::new()), |(last, parents)| (last.clone(), parents.to_vec()));
        self.current = last.clone();
        for parent in &parents {
            let mut path = self.context.clone();
            path.push(parent.clone());
            self.implicit.insert(dotted(&path));
            self.add_context(&path, false)?;
        }
        let value = self.value(inline)?;
        self.set(&last, value.clone())?;
        if matches!(value, Value::List(_)) {
            self.arrays.insert(dotted(&self.path(&last)));
        }
        Ok((key, value))
    }

    fn key(&mut self) -> Lexed<Key> {
        let mut key = Vec::new();
        loop {
            self.lexer.skip_blanks()?;
            match self.lexer.peek()? {
                '=' | END => return Err(self.lexer.fault("unexpected '='")),
                '.' => return Err(self.lexer.fault("unexpected '.'")),
                _ => {}
            }
            let part = self.name()?;
            if key.is_empty() {
                self.line = self.lexer.line();
            }
            key.push(part);
            self.lexer.skip_blanks()?;
            match self.lexer.next()? {
                END => return Err(self.lexer.fault("unexpected EOF; expected key separator '='")),
                '.' => self.lexer.ignore(),
                '=' => return Ok(key),
                '\n' => {
                    return Err(self.lexer.fault_before("expected '.' or '=', but got '\\n' instead"));
                }
                c => {
                    return Err(self
                        .lexer
                        .fault(format!("expected '.' or '=', but got {} instead", quoted(c))));
                }
            }
        }
    }

    fn value(&mut self, in_array: bool) -> Lexed<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.fault("values are nested too deep"));
        }
        self.lexer.skip_blanks()?;
        let value = match self.lexer.next()? {
            '[' => self.array()?,
            '{' => self.inline_table(in_array)?,
            mark @ ('"' | '\'') => strings::string(&mut self.lexer, mark)?.into(),
            first => scalar::scalar(&mut self.lexer, first)?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Lexed<Value> {
        let path = self.path(&self.current.clone());
        self.arrays.insert(dotted(&path));
        let mut items = Vec::new();
        let mut separated = true;
        loop {
            match self.lexer.next()? {
                c if is_blank(c) || is_line_end(c) => {}
                '#' => self.lexer.comment()?,
                ']' => break,
                ',' if separated => return Err(self.lexer.fault("unexpected comma")),
                ',' => separated = true,
                c if !separated => {
                    let message =
                        format!("expected a comma (',') or array terminator (']'), but got {}", shown(c));
                    return Err(self.lexer.fault(message));
                }
                _ => {
                    self.lexer.back();
                    items.push(self.value(true)?);
                    separated = false;
                }
            }
        }
        self.lexer.ignore();
        Ok(Value::List(List::new(items)))
    }

    fn inline_table(&mut self, in_array: bool) -> Lexed<Value> {
        let table = Map::new();
        let (outer, outer_key) = (self.context.clone(), self.current.clone());
        let path = self.path(&outer_key);
        self.current = Str::default();
        self.context.clone_from(&path);
        self.implicit.insert(dotted(&path));
        self.add_context(&path, in_array)?;
        let within = self.context.clone();
        let mut separated = true;
        loop {
            match self.lexer.next()? {
                c if is_blank(c) || is_line_end(c) => {}
                '#' => self.lexer.comment()?,
                '}' => break,
                ',' if separated => return Err(self.lexer.fault("unexpected comma")),
                ',' => {
                    self.lexer.skip_blanks()?;
                    separated = self.lexer.peek()? != '}';
                }
                c if !separated => {
                    let message = format!(
                        "expected a comma or an inline table terminator '}}', but got {} instead",
                        shown(c)
                    );
                    return Err(self.lexer.fault(message));
                }
                _ => {
                    self.lexer.back();
                    let (key, value) = self.key_value(false)?;
                    self.insert_inline(&table, &key, value)?;
                    self.context.clone_from(&within);
                    separated = false;
                }
            }
        }
        self.lexer.ignore();
        (self.context, self.current) = (outer, outer_key);
        Ok(Value::Map(table))
    }
}
