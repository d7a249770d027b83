//! Values to JSON: `json.Marshal`, `json.MarshalIndent` and an encoder without HTML escapes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helm_template::{FloatType, List, Map, ObjectRef, Str, Type, Value};

use super::{Error, MAX_DEPTH};
use crate::objects::{Plain, plain};
use crate::strconv::{self, FloatStyle};
use crate::utf8;

/// From this depth on encoding/json looks for values that contain themselves.
const CYCLES_FROM: usize = 1000;

/// `json.Marshal`: compact, keys in order, `<`, `>` and `&` escaped.
///
/// # Errors
///
/// [`Error::UnsupportedValue`] and [`Error::UnsupportedType`] for what JSON cannot say, [`Error::Syntax`] for values that
/// are nested deeper than 10,000 levels.
pub fn to_json(value: &Value) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    push_value(&mut out, value)?;
    Ok(out)
}

/// An encoder with `SetEscapeHTML(false)`, without the line break at the end: sprig's `toRawJson`.
///
/// # Errors
///
/// Those of [`to_json`].
pub fn to_json_raw(value: &Value) -> Result<Vec<u8>, Error> {
    let mut writer =
        Writer { out: Vec::new(), layout: Layout { html: false, pretty: false }, frames: Vec::new() };
    writer.run(value)?;
    Ok(writer.out)
}

/// `json.MarshalIndent` with an indentation of two spaces: sprig's `toPrettyJson`.
///
/// # Errors
///
/// Those of [`to_json`].
pub fn to_json_pretty(value: &Value) -> Result<Vec<u8>, Error> {
    let mut writer =
        Writer { out: Vec::new(), layout: Layout { html: true, pretty: true }, frames: Vec::new() };
    writer.run(value)?;
    Ok(writer.out)
}

/// Appends what [`to_json`] returns.
pub(crate) fn push_value(out: &mut Vec<u8>, value: &Value) -> Result<(), Error> {
    let layout = Layout { html: true, pretty: false };
    let mut writer = Writer { out: std::mem::take(out), layout, frames: Vec::new() };
    let written = writer.run(value);
    *out = writer.out;
    written
}

#[derive(Debug, Clone, Copy)]
struct Layout {
    html: bool,
    pretty: bool,
}

/// A collection that is being written, with the number of its entries written so far.
enum Frame {
    Map { identity: Option<Map>, entries: std::vec::IntoIter<(Str, Value)>, written: usize },
    List { items: List, written: usize },
}

struct Writer {
    out: Vec<u8>,
    layout: Layout,
    frames: Vec<Frame>,
}

impl Writer {
    fn run(&mut self, value: &Value) -> Result<(), Error> {
        self.value(value)?;
        while let Some(frame) = self.frames.last_mut() {
            let (value, key, first) = match frame {
                Frame::Map { entries, written, .. } => match entries.next() {
                    Some((key, value)) => {
                        *written += 1;
                        (value, Some(key), *written == 1)
                    }
                    None => {
                        self.close(b'}');
                        continue;
                    }
                },
                Frame::List { items, written } => match items.get(*written) {
                    Some(value) => {
                        *written += 1;
                        (value.clone(), None, *written == 1)
                    }
                    None => {
                        self.close(b']');
                        continue;
                    }
                },
            };
            if !first {
                self.out.push(b',');
            }
            self.new_line();
            if let Some(key) = key {
                push_string(&mut self.out, key.as_bytes(), self.layout.html);
                self.out.extend_from_slice(if self.layout.pretty { b": " } else { b":" });
            }
            self.value(&value)?;
        }
        Ok(())
    }

    fn close(&mut self, bracket: u8) {
        self.frames.pop();
        self.new_line();
        self.out.push(bracket);
    }

    fn new_line(&mut self) {
        if self.layout.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.frames.len(), b' ');
        }
    }

    /// Writes a value, or the start of a collection.
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value {
            Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Int(value, _) => strconv::push_i64(&mut self.out, *value),
            Value::Uint(value, _) => strconv::push_u64(&mut self.out, *value),
            Value::Float(value, ty) => push_number(&mut self.out, *value, *ty)?,
            Value::String(text) => push_string(&mut self.out, text.as_bytes(), self.layout.html),
            Value::Bytes(bytes) => {
                let text = BASE64_STANDARD.encode(bytes);
                push_string(&mut self.out, text.as_bytes(), self.layout.html);
            }
            Value::List(list) => self.list(list)?,
            Value::Map(map) => self.map(map)?,
            Value::Object(object) => self.object(object)?,
            Value::Func(_) => return Err(Error::UnsupportedType(value.type_name())),
        }
        Ok(())
    }

    fn list(&mut self, list: &List) -> Result<(), Error> {
        if list.is_nil() {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        let again = |frame: &Frame| match frame {
            Frame::List { items, .. } => std::ptr::eq(items.as_slice(), list.as_slice()) && !list.is_empty(),
            Frame::Map { .. } => false,
        };
        self.check_cycle(again, || list.ty().to_string())?;
        if list.is_empty() {
            self.out.extend_from_slice(b"[]");
            return Ok(());
        }
        self.open(b'[', Frame::List { items: list.clone(), written: 0 })
    }

    fn map(&mut self, map: &Map) -> Result<(), Error> {
        if map.is_nil() {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        let again = |frame: &Frame| match frame {
            Frame::Map { identity: Some(open), .. } => open.same(map),
            _ => false,
        };
        self.check_cycle(again, || map.ty().to_string())?;
        let entries = map.snapshot();
        if entries.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        self.open(b'{', Frame::Map { identity: Some(map.clone()), entries: entries.into_iter(), written: 0 })
    }

    fn object(&mut self, object: &ObjectRef) -> Result<(), Error> {
        if object.ty() == Type::Complex {
            return Err(Error::UnsupportedType(object.ty().to_string()));
        }
        let fields = match plain(object) {
            Plain::Null => return self.value(&Value::Nil),
            Plain::Value(value) => return self.value(&value),
            Plain::Text(text) => return self.value(&Value::String(text)),
            Plain::Time(time) => return self.value(&Value::from(time)),
            Plain::OddTime(_) => return Err(Error::Year),
            Plain::Fields(fields) => fields,
        };
        let fields: Vec<(Str, Value)> =
            fields.into_iter().map(|(name, value)| (Str::from(name), value)).collect();
        if fields.is_empty() {
            self.out.extend_from_slice(b"{}");
            return Ok(());
        }
        self.open(b'{', Frame::Map { identity: None, entries: fields.into_iter(), written: 0 })
    }

    fn open(&mut self, bracket: u8, frame: Frame) -> Result<(), Error> {
        if self.frames.len() == MAX_DEPTH {
            return Err(Error::Syntax("exceeded max depth".to_owned()));
        }
        self.out.push(bracket);
        self.frames.push(frame);
        Ok(())
    }

    /// Whether the value about to be opened is among the open ones, which Go tells by their pointers.
    fn check_cycle(&self, again: impl Fn(&Frame) -> bool, ty: impl FnOnce() -> String) -> Result<(), Error> {
        if self.frames.get(CYCLES_FROM..).unwrap_or_default().iter().any(again) {
            return Err(Error::UnsupportedValue(format!("encountered a cycle via {}", ty())));
        }
        Ok(())
    }
}

fn push_number(out: &mut Vec<u8>, value: f64, ty: FloatType) -> Result<(), Error> {
    if !value.is_finite() {
        return Err(Error::UnsupportedValue(strconv::non_finite(value).to_owned()));
    }
    match ty {
        FloatType::Float64 => strconv::push_float(out, value, FloatStyle::Json),
        FloatType::Float32 => strconv::push_json_float32(out, value),
    }
    Ok(())
}

/// Appends a quoted string; every byte that is no UTF-8 becomes U+FFFD.
pub(super) fn push_string(out: &mut Vec<u8>, text: &[u8], html: bool) {
    let text = utf8::to_valid(text);
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    // What is written so far of `bytes`.
    let mut done = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let plain = match byte {
            b'"' | b'\\' | 0..=0x1F => false,
            b'<' | b'>' | b'&' => !html,
            0xE2 => !matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])),
            _ => true,
        };
        if plain {
            continue;
        }
        out.extend_from_slice(bytes.get(done..at).unwrap_or_default());
        done = at + push_escape(out, *byte, bytes.get(at + 2).copied());
    }
    out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    out.push(b'"');
}

/// Appends the escape of a byte, or of the LS or PS it starts; returns the length of the character.
fn push_escape(out: &mut Vec<u8>, byte: u8, third: Option<u8>) -> usize {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0xE2 => {
            out.extend_from_slice(if third == Some(0xA8) { b"\\u2028" } else { b"\\u2029" });
            return 3;
        }
        _ => {
            let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xF)]);
            return 1;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
    1
}
