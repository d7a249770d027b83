//! Writing YAML: `Marshal` of sigs.k8s.io/yaml, and the encoder of go-yaml v3.
//!
//! sigs.k8s.io/yaml writes JSON, reads that with go-yaml v2 and writes what it got. For nearly all values the result can
//! be told without the detour; the rest takes it.

mod analysis;
mod emitter;
mod scalars;
mod sort;
mod unicode_tables;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helm_template::{FloatType, List, ObjectRef, Str, Type, Value};

pub(crate) use self::analysis::{is_break, is_printable};
use self::emitter::{Context, Emitter};
use crate::error::MarshalError;
use crate::json;
use crate::objects::{Plain, plain, plain_of_v3};
use crate::reader::{self, Duplicates};
use crate::resolve::{Scalar, resolve_plain};
use crate::strconv::{self, FloatStyle};
use crate::utf8;

/// Which of the go-yaml versions is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// go-yaml v2 behind sigs.k8s.io/yaml: lines are folded, sequences in mappings are not indented.
    V2,
    /// go-yaml v3 with an indentation of two.
    V3,
}

/// A key whose JSON may be longer than this many bytes could be too long for go-yaml's reader.
const LONGEST_PLAIN_KEY: usize = 1024 / 6 - 2;
/// From this depth on JSON may refuse the value.
const DEPTH_OF_CARE: usize = 1000;

/// Something was met that JSON may refuse or change.
struct Odd;

/// `yaml.Marshal` of sigs.k8s.io/yaml.
pub(crate) fn marshal(value: &Value) -> Result<Vec<u8>, MarshalError> {
    let mut writer = Writer::new(Dialect::V2);
    if writer.run(value).is_ok() {
        return Ok(writer.emitter.finish());
    }
    let mut json = Vec::new();
    json::push_value(&mut json, value)?;
    let value = reader::read(&json, reader::ExactTarget, Duplicates::LastWins)?.unwrap_or_default();
    let mut writer = Writer::new(Dialect::V2);
    writer.trusting = true;
    // A writer that trusts its values finds nothing odd.
    let _ = writer.run(&value);
    Ok(writer.emitter.finish())
}

/// An encoder of go-yaml v3 with `SetIndent(2)`.
///
/// Values that contain themselves, on which Go runs out of stack, end at a depth of 10,000.
pub(crate) fn marshal_pretty(value: &Value) -> Option<Vec<u8>> {
    let mut writer = Writer::new(Dialect::V3);
    writer.run(value).ok()?;
    Some(writer.emitter.finish())
}

/// A collection that is being written.
enum Frame {
    Map(std::vec::IntoIter<(Str, Value)>),
    List(List, usize),
}

struct Writer {
    emitter: Emitter,
    dialect: Dialect,
    /// Whether the values come out of JSON already.
    trusting: bool,
    frames: Vec<Frame>,
}

impl Writer {
    fn new(dialect: Dialect) -> Self {
        Self { emitter: Emitter::new(dialect), dialect, trusting: false, frames: Vec::new() }
    }

    fn run(&mut self, value: &Value) -> Result<(), Odd> {
        self.value(value, Context::Root)?;
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::Map(entries) => match entries.next() {
                    Some((key, value)) => {
                        self.emitter.start_entry();
                        self.key(&key)?;
                        self.value(&value, Context::Mapping)?;
                    }
                    None => self.close(),
                },
                Frame::List(items, next) => match items.get(*next).cloned() {
                    Some(value) => {
                        *next += 1;
                        self.emitter.start_item();
                        self.value(&value, Context::Sequence)?;
                    }
                    None => self.close(),
                },
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.frames.pop();
        self.emitter.close();
    }

    fn key(&mut self, key: &Str) -> Result<(), Odd> {
        match key.as_str() {
            Some(text) if self.is_plain(text) && (self.passes_json() || text.len() <= LONGEST_PLAIN_KEY) => {
                self.emitter.key(text);
                Ok(())
            }
            _ if self.dialect == Dialect::V3 => {
                self.emitter.binary_key(&encode_binary(key.as_bytes()));
                Ok(())
            }
            _ => Err(Odd),
        }
    }

    /// Whether the text passes JSON and go-yaml's reader unchanged.
    fn is_plain(&self, text: &str) -> bool {
        self.passes_json() || survives_json(text)
    }

    /// Whether there is no JSON on the way, or it was taken already.
    fn passes_json(&self) -> bool {
        self.trusting || self.dialect == Dialect::V3
    }

    fn value(&mut self, value: &Value, context: Context) -> Result<(), Odd> {
        match value {
            Value::Nil => self.emitter.word("null"),
            Value::Bool(true) => self.emitter.word("true"),
            Value::Bool(false) => self.emitter.word("false"),
            Value::Int(value, _) => self.emitter.digits(|out| strconv::push_i64(out, *value)),
            Value::Uint(value, _) => self.emitter.digits(|out| strconv::push_u64(out, *value)),
            Value::Float(value, ty) => self.float(*value, *ty)?,
            Value::String(text) => self.text(text)?,
            Value::Bytes(bytes) => self.bytes(bytes, context)?,
            Value::List(list) => self.list(list, context)?,
            Value::Map(map) => {
                if map.is_nil() && self.dialect == Dialect::V2 {
                    self.emitter.word("null");
                    return Ok(());
                }
                self.entries(map.snapshot())?;
            }
            Value::Object(object) => self.object(object, context)?,
            Value::Func(_) => return Err(Odd),
        }
        Ok(())
    }

    fn text(&mut self, text: &Str) -> Result<(), Odd> {
        match text.as_str() {
            Some(text) if self.is_plain(text) => {
                self.emitter.text(text);
                Ok(())
            }
            _ if self.dialect == Dialect::V3 => {
                self.emitter.binary(&encode_binary(text.as_bytes()));
                Ok(())
            }
            _ => Err(Odd),
        }
    }

    fn float(&mut self, value: f64, ty: FloatType) -> Result<(), Odd> {
        if self.dialect == Dialect::V3 {
            self.v3_float(value, ty);
            return Ok(());
        }
        if !value.is_finite() {
            return Err(Odd);
        }
        if ty == FloatType::Float32 {
            let mut text = Vec::new();
            strconv::push_json_float32(&mut text, value);
            self.number(&String::from_utf8(text).unwrap_or_default());
        } else if value.fract() == 0.0 && value.abs() < 1e15 {
            // An integer in JSON, and read back as one. Adding 0 makes -0 the 0 it becomes then.
            self.emitter.digits(|out| strconv::push_float(out, value + 0.0, FloatStyle::Json));
        } else if value.fract() == 0.0 {
            let mut text = Vec::new();
            strconv::push_float(&mut text, value, FloatStyle::Json);
            self.number(&String::from_utf8(text).unwrap_or_default());
        } else {
            self.emitter.digits(|out| strconv::push_float(out, value, FloatStyle::General));
        }
        Ok(())
    }

    /// A number as go-yaml reads it from JSON.
    fn number(&mut self, json: &str) {
        match resolve_plain(json) {
            Scalar::Int(value) => self.emitter.digits(|out| strconv::push_i64(out, value)),
            Scalar::Uint(value) => self.emitter.digits(|out| strconv::push_u64(out, value)),
            Scalar::Float(value) => {
                self.emitter.digits(|out| strconv::push_float(out, value, FloatStyle::General));
            }
            _ => self.emitter.word(json),
        }
    }

    fn v3_float(&mut self, value: f64, ty: FloatType) {
        match strconv::non_finite(value) {
            _ if value.is_finite() && ty == FloatType::Float32 => {
                self.emitter.digits(|out| strconv::push_float32(out, value));
            }
            _ if value.is_finite() => {
                self.emitter.digits(|out| strconv::push_float(out, value, FloatStyle::General));
            }
            "+Inf" => self.emitter.word(".inf"),
            "-Inf" => self.emitter.word("-.inf"),
            _ => self.emitter.word(".nan"),
        }
    }

    /// JSON has base64 for bytes, go-yaml v3 a sequence of numbers.
    fn bytes(&mut self, bytes: &[u8], context: Context) -> Result<(), Odd> {
        match self.dialect {
            Dialect::V2 => {
                self.emitter.text(&BASE64_STANDARD.encode(bytes));
                Ok(())
            }
            Dialect::V3 => self.list(&bytes.iter().map(|byte| Value::from(*byte)).collect(), context),
        }
    }

    fn list(&mut self, list: &List, context: Context) -> Result<(), Odd> {
        if list.is_nil() && self.dialect == Dialect::V2 {
            self.emitter.word("null");
        } else if list.is_empty() {
            self.emitter.word("[]");
        } else {
            self.check_depth()?;
            self.emitter.open_sequence(context);
            self.frames.push(Frame::List(list.clone(), 0));
        }
        Ok(())
    }

    fn entries(&mut self, mut entries: Vec<(Str, Value)>) -> Result<(), Odd> {
        if entries.iter().all(|(key, _)| key.as_str().is_some()) {
            sort::sort(&mut entries, |(key, _)| key.as_str().unwrap_or_default(), self.dialect);
        } else {
            let mut named: Vec<(String, (Str, Value))> = entries
                .into_iter()
                .map(|entry| (utf8::to_valid(entry.0.as_bytes()).into_owned(), entry))
                .collect();
            sort::sort(&mut named, |(name, _)| name, self.dialect);
            entries = named.into_iter().map(|(_, entry)| entry).collect();
        }
        self.open_mapping(entries)
    }

    fn open_mapping(&mut self, entries: Vec<(Str, Value)>) -> Result<(), Odd> {
        if entries.is_empty() {
            self.emitter.word("{}");
            return Ok(());
        }
        self.check_depth()?;
        self.emitter.open_mapping();
        self.frames.push(Frame::Map(entries.into_iter()));
        Ok(())
    }

    fn object(&mut self, object: &ObjectRef, context: Context) -> Result<(), Odd> {
        if object.ty() == Type::Complex {
            return Err(Odd);
        }
        let seen = match self.dialect {
            Dialect::V2 => plain(object),
            Dialect::V3 => plain_of_v3(object),
        };
        match seen {
            Plain::Null => self.emitter.word("null"),
            Plain::Value(value) => self.value(&value, context)?,
            Plain::Text(text) => self.text(&text)?,
            Plain::Time(time) | Plain::OddTime(time) if self.dialect == Dialect::V3 => {
                self.emitter.word(&time);
            }
            Plain::OddTime(_) => return Err(Odd),
            Plain::Time(time) => self.emitter.text(&time),
            Plain::Fields(fields) => self.fields(fields)?,
        }
        Ok(())
    }

    fn fields(&mut self, fields: Vec<(&str, Value)>) -> Result<(), Odd> {
        match self.dialect {
            Dialect::V2 => {
                self.entries(fields.into_iter().map(|(name, value)| (Str::from(name), value)).collect())
            }
            // A struct keeps its order there.
            Dialect::V3 => {
                let lower = |(name, value): (&str, Value)| (Str::from(name.to_lowercase()), value);
                self.open_mapping(fields.into_iter().map(lower).collect())
            }
        }
    }

    fn check_depth(&self) -> Result<(), Odd> {
        let limit = if self.passes_json() { 10 * DEPTH_OF_CARE } else { DEPTH_OF_CARE };
        if self.frames.len() >= limit { Err(Odd) } else { Ok(()) }
    }
}

/// Whether JSON and go-yaml's reader give back the very text: it has no DEL, no C1 control (of which NEL would be read
/// as a line break) and no noncharacter.
fn survives_json(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        0x7F => false,
        0xC2 => bytes.get(at + 1).is_some_and(|next| *next >= 0xA0),
        0xEF => !matches!(bytes.get(at + 1..at + 3), Some([0xBF, 0xBE | 0xBF])),
        _ => true,
    })
}

/// Base64 as go-yaml puts it behind `!!binary`: in lines of 70 characters if it is longer than one.
fn encode_binary(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let encoded = BASE64_STANDARD.encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    encoded
        .as_bytes()
        .chunks(LINE)
        .flat_map(|line| line.iter().map(|byte| char::from(*byte)).chain(['\n']))
        .collect()
}
