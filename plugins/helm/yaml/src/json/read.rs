//! JSON to values: `json.Unmarshal` into `interface{}`, `map[string]interface{}` and `[]interface{}`.

mod string;

use std::borrow::Cow;

use helm_template::{FloatType, List, Map, Value};

use super::{Error, MAX_DEPTH};

/// Reads any JSON value, as sprig's `mustFromJson` does.
///
/// # Errors
///
/// The value as far as it could be read, which is nil for a syntax error, and what is wrong.
pub fn from_json(bytes: &[u8]) -> (Value, Option<Error>) {
    let mut reader = Reader::new(bytes);
    match reader.run() {
        Ok(value) => (value, reader.range),
        Err(error) => (Value::Nil, Some(error)),
    }
}

/// Reads a JSON object, as Helm's `fromJson` does. Null is an empty map.
///
/// Next to an error there is what could be read: Go keeps it as well, and Helm adds the error to it.
pub fn from_json_map(bytes: &[u8]) -> (Map, Option<Error>) {
    match from_json(bytes) {
        (Value::Map(map), error) => (map, error),
        (Value::Nil, error) => (Map::new(), error),
        (other, _) => (Map::new(), Some(Error::kind(&other, "map[string]interface {}"))),
    }
}

/// Reads a JSON array, as Helm's `fromJsonArray` does. Null is an empty list.
///
/// Next to an error there is what could be read.
pub fn from_json_list(bytes: &[u8]) -> (List, Option<Error>) {
    match from_json(bytes) {
        (Value::List(list), error) => (list, error),
        (Value::Nil, error) => (List::new(Vec::new()), error),
        (other, _) => (List::new(Vec::new()), Some(Error::kind(&other, "[]interface {}"))),
    }
}

/// What a stream of JSON breaks off with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamError {
    /// What is wrong, in the words of encoding/json.
    pub message: String,
    /// How many bytes had been looked at; `None` at the end of the stream.
    pub offset: Option<usize>,
}

/// Reads the first value of a stream, as `json.Decoder` does, and says how many bytes it took with the white space in
/// front of it; `None` at the end of the stream.
///
/// # Errors
///
/// What is wrong and where.
pub fn first_from_json(bytes: &[u8]) -> Result<Option<(Value, usize)>, StreamError> {
    let mut reader = Reader { buffer: FIRST_BUFFER, ..Reader::new(bytes) };
    reader.skip_space();
    if reader.peek().is_none() {
        return Ok(None);
    }
    let failed = |error: Error, offset| {
        if error == unexpected_end() {
            StreamError { message: "unexpected EOF".to_owned(), offset: None }
        } else {
            StreamError { message: error.to_string(), offset }
        }
    };
    let value = reader.one().map_err(|error| failed(error, Some(reader.position + 1)))?;
    match reader.range {
        Some(error) => Err(failed(error, None)),
        None => Ok(Some((value, reader.position))),
    }
}

/// A collection that is being read.
enum Frame {
    List(Vec<Value>),
    Map { map: Map, key: String },
}

struct Reader<'t> {
    bytes: &'t [u8],
    position: usize,
    frames: Vec<Frame>,
    /// The first number that no `float64` can hold. Reading goes on behind it.
    range: Option<Error>,
    /// How much of a stream Go has in its buffer at first; everything where there is no stream.
    buffer: usize,
}

/// The buffer that `json.Decoder` begins with. It is doubled whenever a value goes on behind its end.
const FIRST_BUFFER: usize = 64;

/// What stands where a value, a key or the end of a collection may.
type Step = Result<Option<Value>, Error>;

fn unexpected_end() -> Error {
    Error::Syntax("unexpected end of JSON input".to_owned())
}

impl<'t> Reader<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, position: 0, frames: Vec::new(), range: None, buffer: usize::MAX }
    }

    /// A value with nothing but space around it.
    fn run(&mut self) -> Result<Value, Error> {
        let value = self.one()?;
        self.skip_space();
        if self.peek().is_some() { self.invalid("after top-level value") } else { Ok(value) }
    }

    /// A value, whatever follows it.
    fn one(&mut self) -> Result<Value, Error> {
        self.skip_space();
        let mut ready = self.value()?;
        loop {
            if let Some(value) = ready {
                match self.frames.last_mut() {
                    None => return Ok(value),
                    Some(Frame::List(items)) => items.push(value),
                    Some(Frame::Map { map, key }) => {
                        map.insert(std::mem::take(key), value);
                    }
                }
                ready = self.after_value()?;
            } else {
                ready = self.next_value()?;
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.position += 1;
        }
    }

    /// The rest as far as Go's buffer has it when it comes here: of a character or an escape across the end of the
    /// buffer complaints show only the beginning.
    fn in_sight(&self) -> &'t [u8] {
        let mut end = self.buffer;
        while end <= self.position {
            end = end.saturating_mul(2);
        }
        let rest = self.rest();
        rest.get(..end - self.position).unwrap_or(rest)
    }

    /// Complains about the character here, or about the end.
    fn invalid<T>(&self, place: &str) -> Result<T, Error> {
        let character = string::first_character(self.in_sight());
        if character.is_empty() {
            return Err(unexpected_end());
        }
        Err(Error::Syntax(format!("invalid character {} {place}", string::quote_character(character))))
    }

    /// A value, or `None` behind the start of a collection that is not empty.
    fn value(&mut self) -> Step {
        match self.peek() {
            Some(b'n') => self.literal("null", Value::Nil),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'"') => Ok(Some(Value::String(self.string()?.into()))),
            Some(b'-' | b'0'..=b'9') => self.number().map(Some),
            Some(b'[') => self.open(b']', Frame::List(Vec::new())),
            Some(b'{') => self.open(b'}', Frame::Map { map: Map::new(), key: String::new() }),
            _ => self.invalid("looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Step {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return self.invalid(&place);
            }
            self.position += 1;
        }
        Ok(Some(value))
    }

    fn open(&mut self, end: u8, frame: Frame) -> Step {
        if self.frames.len() == MAX_DEPTH {
            return Err(Error::Syntax("exceeded max depth".to_owned()));
        }
        self.position += 1;
        self.skip_space();
        self.frames.push(frame);
        if self.peek() == Some(end) {
            return Ok(self.close());
        }
        Ok(None)
    }

    /// The end of the innermost collection.
    fn close(&mut self) -> Option<Value> {
        self.position += 1;
        self.frames.pop().map(|frame| match frame {
            Frame::List(items) => Value::List(List::new(items)),
            Frame::Map { map, .. } => Value::Map(map),
        })
    }

    /// The next entry of the innermost collection, whose start or comma was passed.
    fn next_value(&mut self) -> Step {
        self.skip_space();
        if let Some(Frame::Map { .. }) = self.frames.last() {
            let name = self.name()?;
            if let Some(Frame::Map { key, .. }) = self.frames.last_mut() {
                *key = name.into_owned();
            }
        }
        self.value()
    }

    /// A key and its colon.
    fn name(&mut self) -> Result<Cow<'t, str>, Error> {
        if self.peek() != Some(b'"') {
            return self.invalid("looking for beginning of object key string");
        }
        let name = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.invalid("after object key");
        }
        self.position += 1;
        self.skip_space();
        Ok(name)
    }

    /// What follows an entry: the value of the collection at its end, `None` behind a comma.
    fn after_value(&mut self) -> Step {
        self.skip_space();
        let (end, place) = match self.frames.last() {
            Some(Frame::Map { .. }) => (b'}', "after object key:value pair"),
            _ => (b']', "after array element"),
        };
        match self.peek() {
            Some(b',') => {
                self.position += 1;
                Ok(None)
            }
            Some(byte) if byte == end => Ok(self.close()),
            _ => self.invalid(place),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.position;
        self.skip_byte(b'-');
        if !self.skip_byte(b'0') {
            self.digits()?;
        }
        if self.skip_byte(b'.') {
            self.digits()?;
        }
        if self.skip_byte(b'e') || self.skip_byte(b'E') {
            if !self.skip_byte(b'-') {
                self.skip_byte(b'+');
            }
            self.digits()?;
        }
        let text = self.bytes.get(start..self.position).unwrap_or_default();
        let text = std::str::from_utf8(text).unwrap_or_default();
        let number = match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => {
                self.out_of_range(text);
                0.0
            }
        };
        Ok(Value::Float(number, FloatType::Float64))
    }

    fn skip_byte(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.position += usize::from(here);
        here
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Error> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return self.invalid("in numeric literal");
        }
        self.position += digits;
        Ok(())
    }

    /// Keeps the complaint about the first such number, with the way to it.
    fn out_of_range(&mut self, text: &str) {
        let path: Vec<String> = self
            .frames
            .iter()
            .map(|frame| match frame {
                Frame::List(items) => items.len().to_string(),
                Frame::Map { key, .. } => key.replace('~', "~0").replace('/', "~1"),
            })
            .collect();
        let path = path.join(".");
        let last = path.rsplit('.').next().unwrap_or_default();
        // Go guesses from the last step whether this is an element of a list.
        let place = if path.is_empty() {
            "Go value".to_owned()
        } else if !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()) {
            format!(".{path}")
        } else {
            format!("Go struct field .{path}")
        };
        self.range.get_or_insert(Error::Type { value: format!("number {text}"), place, target: "float64" });
    }
}
