//! The `--set` family: `a.b[0].c=value` lines merged into values (Helm's `pkg/strvals`).
//!
//! A line is a list of `path=value` separated by commas, but for [`Style::Literal`], where everything after
//! the first `=` is the value. `\` takes the next character literally, `{a,b}` is a list. Whatever was set
//! before an error is found stays set.

mod error;

pub use error::StrvalsError;

use helm_template::{List, Map, Value, fmt::quote, strconv::parse_int};
use helm_yaml::json::first_from_json;

/// The highest list index that may be set.
pub const MAX_INDEX: usize = 65_536;

/// How deep a path may be nested by dots.
pub const MAX_NESTED_NAMES: usize = 30;

/// How deep lists may be nested by `[0][0]`. Helm has no such limit.
pub const MAX_NESTED_LISTS: usize = 500;

/// How values are read.
pub enum Style<'a> {
    /// `--set`: `true`, `false`, `null` and whole numbers get their type.
    Typed,
    /// `--set-string`, and operator-sdk's `overrideValues`: every value is a string.
    String,
    /// `--set-json`: values are JSON, an empty one is null.
    Json,
    /// `--set-file`: values name files whose content is set; the function reads one.
    File(&'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>),
    /// `--set-literal`: the rest of the line is one string, backslashes and commas included.
    Literal,
}

impl std::fmt::Debug for Style<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Typed => "Typed",
            Self::String => "String",
            Self::Json => "Json",
            Self::File(_) => "File",
            Self::Literal => "Literal",
        })
    }
}

/// Sets what `line` says in `values`; what it does not name stays.
///
/// # Errors
/// [`StrvalsError`] as Helm's parser.
pub fn parse_into(line: &str, style: Style<'_>, values: &Map) -> Result<(), StrvalsError> {
    let mut parser = Parser { rest: line, style };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// `--set`: [`parse_into`] with [`Style::Typed`] (`strvals.ParseInto`).
///
/// # Errors
/// [`StrvalsError`] as Helm's parser.
pub fn parse_into_typed(line: &str, values: &Map) -> Result<(), StrvalsError> {
    parse_into(line, Style::Typed, values)
}

/// `--set-string`, operator-sdk's `overrideValues`: [`parse_into`] with [`Style::String`]
/// (`strvals.ParseIntoString`).
///
/// # Errors
/// [`StrvalsError`] as Helm's parser.
pub fn parse_into_string(line: &str, values: &Map) -> Result<(), StrvalsError> {
    parse_into(line, Style::String, values)
}

/// Why parsing ends: Go's parser uses `io.EOF` as an error that means success at the top.
enum Stop {
    End,
    Error(StrvalsError),
}

impl From<StrvalsError> for Stop {
    fn from(error: StrvalsError) -> Self {
        Self::Error(error)
    }
}

struct Parser<'a, 's> {
    rest: &'a str,
    style: Style<'s>,
}

impl Parser<'_, '_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    fn skip_if(&mut self, wanted: char) -> bool {
        let stripped = self.rest.strip_prefix(wanted);
        self.rest = stripped.unwrap_or(self.rest);
        stripped.is_some()
    }

    /// Text up to one of `stops`, which is consumed and returned; `None` at the end of the line.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let escapes = !matches!(self.style, Style::Literal);
        let mut text = String::new();
        while let Some(c) = self.next() {
            if stops.contains(&c) {
                return (text, Some(c));
            }
            if c == '\\' && escapes {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => return (text, None),
                }
            } else {
                text.push(c);
            }
        }
        (text, None)
    }

    /// One `path=value`, with `values` as the table the path starts in.
    fn key(&mut self, values: &Map, depth: usize) -> Result<(), Stop> {
        let stops: &[char] =
            if matches!(self.style, Style::Literal) { &['=', '[', '.'] } else { &['=', '[', ',', '.'] };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => Err(StrvalsError::NoValue(quote(key.as_bytes())).into()),
            Some('[') => self.indexed(values, &key, depth),
            Some('.') => self.nested(values, &key, depth + 1),
            Some(',') => {
                set(values, &key, Value::empty_string());
                Err(StrvalsError::EndsWithComma(quote(key.as_bytes())).into())
            }
            Some(_) => {
                let listed = self.rest.starts_with('{');
                let (value, end) = match self.value() {
                    Err(Stop::Error(error @ StrvalsError::File(_))) if !listed => {
                        // What could not be read stays as a null, unless it was to be in a list.
                        set(values, &key, Value::Nil);
                        return Err(error.into());
                    }
                    other => other?,
                };
                set(values, &key, value);
                if end { Err(Stop::End) } else { Ok(()) }
            }
        }
    }

    fn nested(&mut self, values: &Map, key: &str, depth: usize) -> Result<(), Stop> {
        if depth > MAX_NESTED_NAMES {
            return Err(StrvalsError::TooDeep.into());
        }
        let inner = match values.get(key) {
            None => Map::new(),
            Some(Value::Map(map)) => map,
            Some(other) => return Err(wrong_type(&other, "map[string]interface {}")),
        };
        let result = self.key(&inner, depth);
        if inner.is_empty() {
            result?;
            return Err(StrvalsError::EmptyMap(quote(key.as_bytes())).into());
        }
        set(values, key, Value::Map(inner));
        result
    }

    fn indexed(&mut self, values: &Map, key: &str, depth: usize) -> Result<(), Stop> {
        let index = self.index()?;
        let mut list = match values.get(key) {
            None => Vec::new(),
            Some(value) => into_items(&value)?,
        };
        let result = self.list_item(&mut list, index, depth, 0);
        set(values, key, Value::List(List::new(list)));
        result
    }

    fn index(&mut self) -> Result<i64, Stop> {
        let (text, stop) = self.until(&[']']);
        if stop.is_none() {
            return Err(Stop::End);
        }
        parse_int(&text, 10, 64).map_err(|error| {
            let range = error.to_string().ends_with("value out of range");
            let reason = if range { "value out of range" } else { "invalid syntax" };
            StrvalsError::Index(quote(text.as_bytes()), reason).into()
        })
    }

    /// What follows `]`: a value, another index or a nested name, for element `index` of `list`.
    fn list_item(
        &mut self,
        list: &mut Vec<Value>,
        index: i64,
        depth: usize,
        lists: usize,
    ) -> Result<(), Stop> {
        if lists > MAX_NESTED_LISTS {
            return Err(StrvalsError::ListsTooDeep.into());
        }
        let index = usize::try_from(index).map_err(|_| StrvalsError::NegativeIndex(index))?;
        let (text, stop) = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            return Err(StrvalsError::AfterIndex(quote_runes(&text)).into());
        }
        match stop {
            None => Err(Stop::End),
            Some('[') => {
                let inner_index = self.index()?;
                let mut inner = match list.get(index) {
                    None | Some(Value::Nil) => Vec::new(),
                    Some(value) => into_items(value)?,
                };
                let result = self.list_item(&mut inner, inner_index, depth, lists + 1);
                if result.is_ok() || list.get(index).is_some_and(|known| !matches!(known, Value::Nil)) {
                    set_index(list, index, Value::List(List::new(inner)))?;
                }
                result
            }
            Some('.') => {
                let inner = match list.get_mut(index) {
                    Some(Value::Map(map)) => map.clone(),
                    Some(other) => {
                        let map = Map::new();
                        *other = Value::Map(map.clone());
                        map
                    }
                    None => Map::new(),
                };
                self.key(&inner, depth)?;
                set_index(list, index, Value::Map(inner))
            }
            Some(_) => {
                let (value, _) = self.value()?;
                set_index(list, index, value)
            }
        }
    }

    /// The value after `=`, its comma consumed. The flag says that the line ended before any value.
    fn value(&mut self) -> Result<(Value, bool), Stop> {
        if matches!(self.style, Style::Json) {
            return Ok((self.json_value()?, false));
        }
        if matches!(self.style, Style::Literal) {
            let text = std::mem::take(&mut self.rest);
            return Ok((text.into(), false));
        }
        if self.rest.is_empty() {
            return Ok((Value::empty_string(), true));
        }
        if self.skip_if('{') {
            return Ok((self.list()?, false));
        }
        let (text, _) = self.until(&[',']);
        Ok((self.scalar(text)?, false))
    }

    fn list(&mut self) -> Result<Value, Stop> {
        let mut items = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            if stop.is_none() {
                return Err(StrvalsError::UnclosedList.into());
            }
            items.push(self.scalar(text)?);
            if stop == Some('}') {
                self.skip_if(',');
                return Ok(Value::List(List::new(items)));
            }
        }
    }

    fn scalar(&mut self, text: String) -> Result<Value, StrvalsError> {
        match &mut self.style {
            Style::File(read) => {
                read(&text).map(|data| Value::String(data.into())).map_err(StrvalsError::File)
            }
            Style::Typed => Ok(typed(text)),
            _ => Ok(text.into()),
        }
    }

    fn json_value(&mut self) -> Result<Value, StrvalsError> {
        if self.skip_empty() {
            return Ok(Value::Nil);
        }
        let found =
            first_from_json(self.rest.as_bytes()).map_err(|error| StrvalsError::Json(error.message))?;
        let (value, length) = found.ok_or_else(|| StrvalsError::Json("EOF".to_owned()))?;
        self.rest = self.rest.get(length..).unwrap_or("");
        self.skip_empty();
        Ok(value)
    }

    /// Skips blanks and one comma; true when there was nothing else before the comma or the end.
    fn skip_empty(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty() || self.skip_if(',')
    }
}

/// Sets a key; an empty one is left out, as Helm does.
fn set(values: &Map, key: &str, value: Value) {
    if !key.is_empty() {
        values.insert(key, value);
    }
}

fn set_index(list: &mut Vec<Value>, index: usize, value: Value) -> Result<(), Stop> {
    if index > MAX_INDEX {
        return Err(StrvalsError::IndexTooLarge(index).into());
    }
    if list.len() <= index {
        list.resize(index + 1, Value::Nil);
    }
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
    Ok(())
}

fn into_items(value: &Value) -> Result<Vec<Value>, Stop> {
    value.as_list().map(|list| list.as_slice().to_vec()).ok_or_else(|| wrong_type(value, "[]interface {}"))
}

fn wrong_type(value: &Value, wanted: &'static str) -> Stop {
    let found = if matches!(value, Value::Nil) { "nil".to_owned() } else { value.type_name() };
    StrvalsError::WrongType { found, wanted }.into()
}

/// Go prints a `[]rune` with `%q` as a list of quoted characters.
fn quote_runes(text: &str) -> String {
    let runes: Vec<_> = text.chars().map(quote_rune).collect();
    format!("[{}]", runes.join(" "))
}

/// `strconv.QuoteRune`.
fn quote_rune(rune: char) -> String {
    match rune {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote(rune.encode_utf8(&mut [0; 4]).as_bytes());
            format!("'{}'", quoted.trim_matches('"'))
        }
    }
}

fn typed(text: String) -> Value {
    if text.eq_ignore_ascii_case("true") {
        return true.into();
    }
    // To Unicode the long s is an s in another case.
    if text.replace('\u{17F}', "s").eq_ignore_ascii_case("false") {
        return false.into();
    }
    if text.eq_ignore_ascii_case("null") {
        return Value::Nil;
    }
    // A leading zero keeps its string: it is more often a telephone number or a file mode than a number.
    match text.parse::<i64>() {
        Ok(number) if text == "0" || !text.starts_with('0') => number.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests;
