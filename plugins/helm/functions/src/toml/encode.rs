//! Values as TOML (encode.go of BurntSushi/toml).

use helm_template::{Kind, List, MAX_DEPTH, Map, Str, Type, Value, fmt};

use crate::time::Time;

/// Why a value cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EncodeError {
    #[error("toml: cannot encode array with nil element")]
    NilElement,
    #[error("toml: top-level values must be Go maps or structs")]
    NoKey,
    #[error("reflect: call of reflect.Value.Type on zero Value")]
    Nil,
    #[error("unsupported type: {0}")]
    Unsupported(&'static str),
    #[error("value is nested too deep or contains itself")]
    TooDeep,
}

type Result<T> = std::result::Result<T, EncodeError>;

/// A key in quotes.
pub(super) fn quoted_key(key: &Str) -> String {
    let mut writer = Writer { out: Vec::new() };
    writer.quoted(key);
    String::from_utf8_lossy(&writer.out).into_owned()
}

/// What TOML makes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Plain,
    Table,
    ArrayOfTables,
}

/// A value without its Go type.
enum Plain<'v> {
    Scalar(&'v Value),
    Text(Str),
    Bare(Vec<u8>),
    List(Vec<Value>),
    Table(Vec<(Str, Value)>),
    Nil,
}

/// What the encoder sees in a value.
fn plain(value: &Value) -> Plain<'_> {
    match value {
        Value::Nil => Plain::Nil,
        Value::List(list) if list.is_nil() => Plain::Nil,
        Value::Map(map) if map.is_nil() => Plain::Nil,
        Value::List(list) => Plain::List(List::as_slice(list).to_vec()),
        Value::Bytes(bytes) => Plain::List(bytes.iter().copied().map(Value::from).collect()),
        Value::Map(map) => Plain::Table(Map::snapshot(map)),
        Value::Object(object) if object.is_nil() => Plain::Nil,
        Value::Object(object) if object.ty() == Type::Complex => Plain::Scalar(value),
        Value::Object(object) => {
            if let Some(time) = value.as_object::<Time>() {
                // The reader's zones say what a time without an offset was.
                return Plain::Bare(time.format(match time.zone.name() {
                    "datetime-local" => b"2006-01-02T15:04:05.999999999",
                    "date-local" => b"2006-01-02",
                    "time-local" => b"15:04:05.999999999",
                    _ => b"2006-01-02T15:04:05.999999999Z07:00",
                }));
            }
            let mut fields = object.fields();
            fields.retain(|(name, _)| name.starts_with(|first: char| first.is_uppercase()));
            match object.text() {
                Some(text) => Plain::Text(text),
                None => Plain::Table(fields.into_iter().map(|(name, value)| (name.into(), value)).collect()),
            }
        }
        other => Plain::Scalar(other),
    }
}

/// `Encoder.Encode`.
pub(super) fn encode(value: &Value) -> Result<Vec<u8>> {
    let mut writer = Writer { out: Vec::new() };
    if matches!(value, Value::Nil) {
        return Err(EncodeError::Nil);
    }
    writer.value(&[], value)?;
    Ok(writer.out)
}

/// `tomlTypeOfGo`.
fn shape(value: &Value, depth: usize) -> Result<Shape> {
    if depth > MAX_DEPTH {
        return Err(EncodeError::TooDeep);
    }
    Ok(match plain(value) {
        Plain::Nil => Shape::Nothing,
        Plain::Table(_) => Shape::Table,
        Plain::Text(_) | Plain::Bare(_) => Shape::Plain,
        Plain::Scalar(Value::Func(_)) => return Err(EncodeError::Unsupported(Kind::Func.name())),
        Plain::Scalar(Value::Object(_)) => return Err(EncodeError::Unsupported(Kind::Complex128.name())),
        Plain::Scalar(_) => Shape::Plain,
        Plain::List(items) => {
            let mut tables = !items.is_empty();
            for item in &items {
                match shape(item, depth + 1)? {
                    Shape::Nothing => return Err(EncodeError::NilElement),
                    Shape::Table => {}
                    _ => tables = false,
                }
            }
            if tables { Shape::ArrayOfTables } else { Shape::Plain }
        }
    })
}

/// Keys and values.
type Entries = Vec<(Str, Value)>;

struct Writer {
    out: Vec<u8>,
}

impl Writer {
    fn text(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, key: &[Str]) {
        for _ in 1..key.len() {
            self.text("  ");
        }
    }

    /// `encode`: a value under a key, which is empty for the document.
    fn value(&mut self, key: &[Str], value: &Value) -> Result<()> {
        match (shape(value, key.len())?, plain(value)) {
            (Shape::Nothing, _) if key.is_empty() && matches!(value, Value::List(_)) => self.element(value),
            (Shape::Nothing, _) => Ok(()),
            (Shape::ArrayOfTables, Plain::List(items)) => {
                if key.is_empty() {
                    return Err(EncodeError::NoKey);
                }
                for item in &items {
                    self.newline();
                    self.header(key, ("[[", "]]"));
                    self.table(key, item)?;
                }
                Ok(())
            }
            (Shape::Table, _) => {
                if key.len() == 1 {
                    self.newline();
                }
                if !key.is_empty() {
                    self.header(key, ("[", "]"));
                }
                self.table(key, value)
            }
            _ => self.pair(key, value, false),
        }
    }

    fn header(&mut self, key: &[Str], (open, close): (&str, &str)) {
        self.indent(key);
        self.text(open);
        for (index, part) in key.iter().enumerate() {
            if index > 0 {
                self.text(".");
            }
            self.key(part);
        }
        self.text(close);
        self.newline();
    }

    /// Plain values first, then tables; each in the order of their keys. A struct's fields stay in theirs.
    fn entries(value: &Value) -> Result<(Entries, Entries)> {
        let entries = match plain(value) {
            Plain::Table(entries) => entries,
            _ => Vec::new(),
        };
        let (mut direct, mut tables) = (Vec::new(), Vec::new());
        for (key, value) in entries {
            match shape(&value, 1)? {
                Shape::Table | Shape::ArrayOfTables => tables.push((key, value)),
                _ => direct.push((key, value)),
            }
        }
        Ok((direct, tables))
    }

    fn table(&mut self, key: &[Str], value: &Value) -> Result<()> {
        let (direct, tables) = Self::entries(value)?;
        for (name, value) in direct.into_iter().chain(tables) {
            let mut inner = key.to_vec();
            inner.push(name);
            self.value(&inner, &value)?;
        }
        Ok(())
    }

    fn inline_table(&mut self, value: &Value) -> Result<()> {
        self.text("{");
        let (direct, tables) = Self::entries(value)?;
        let more = !tables.is_empty();
        for (group, trailing) in [(direct, more), (tables, false)] {
            let last = group.len().saturating_sub(1);
            for (index, (name, value)) in group.iter().enumerate() {
                if matches!(plain(value), Plain::Nil) {
                    continue;
                }
                self.pair(std::slice::from_ref(name), value, true)?;
                if trailing || index != last {
                    self.text(", ");
                }
            }
        }
        self.text("}");
        Ok(())
    }

    /// `key = value`; without a key the value alone.
    fn pair(&mut self, key: &[Str], value: &Value, inline: bool) -> Result<()> {
        let Some(name) = key.last() else { return self.element(value) };
        self.indent(key);
        self.key(name);
        self.text(" = ");
        self.element(value)?;
        if !inline {
            self.newline();
        }
        Ok(())
    }

    fn element(&mut self, value: &Value) -> Result<()> {
        match plain(value) {
            Plain::Nil if matches!(value, Value::List(_)) => self.text("[]"),
            Plain::Nil if matches!(value, Value::Map(_)) => self.text("{}"),
            Plain::Nil => return Err(EncodeError::NilElement),
            Plain::Bare(text) => self.text(text),
            Plain::Text(text) => self.quoted(&text),
            Plain::Table(_) => self.inline_table(value)?,
            Plain::List(items) => {
                self.text("[");
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.text(", ");
                    }
                    self.element(item)?;
                }
                self.text("]");
            }
            Plain::Scalar(Value::String(text)) => self.quoted(text),
            Plain::Scalar(Value::Float(number, ty)) => {
                let bits = if *ty == helm_template::FloatType::Float32 { 32 } else { 64 };
                self.text(float(*number, bits));
            }
            Plain::Scalar(other) => {
                let shown = fmt::text(other).map_err(|_| EncodeError::TooDeep)?;
                self.text(&shown);
            }
        }
        Ok(())
    }

    fn key(&mut self, key: &Str) {
        let bare = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !key.is_empty() && key.as_bytes().iter().all(bare) { self.text(key) } else { self.quoted(key) }
    }

    fn quoted(&mut self, text: &Str) {
        self.text("\"");
        for byte in text.as_bytes() {
            match byte {
                b'"' => self.text("\\\""),
                b'\\' => self.text("\\\\"),
                0x08 => self.text("\\b"),
                b'\t' => self.text("\\t"),
                b'\n' => self.text("\\n"),
                0x0C => self.text("\\f"),
                b'\r' => self.text("\\r"),
                0..=0x1F | 0x7F => self.text(format!("\\u{byte:04x}")),
                other => self.out.push(*other),
            }
        }
        self.text("\"");
    }
}

/// Floats have a point or an exponent.
fn float(number: f64, bits: u32) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        return format!("{sign}nan");
    }
    if number.is_infinite() {
        return format!("{sign}inf");
    }
    let shown = fmt::format_float(number, 'g', None, bits);
    if shown.contains(['e', '.']) { shown } else { format!("{shown}.0") }
}
