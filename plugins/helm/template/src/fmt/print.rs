//! Values under a verb (`printArg` and `printValue` of Go's fmt/print.go).

use super::spec::Spec;
use crate::value::{Complex, FloatType, Kind, List, MAX_DEPTH, Map, ObjectRef, Type, Value};

/// Writes values into a buffer under the current directive.
#[derive(Debug)]
pub(super) struct Printer<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) spec: Spec,
    /// Set while the value of a bad verb is shown, when methods are not called.
    erroring: bool,
    /// Set when something was nested too deep and left out.
    pub(super) too_deep: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, spec: Spec::default(), erroring: false, too_deep: false }
    }

    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn write_char(&mut self, character: char) {
        self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// An argument of a print function.
    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.spec.pad(self.out, b"<nil>"),
            (Value::Nil, _) => self.bad_verb(verb, None),
            (_, 'T') => self.spec.string(self.out, value.type_name().as_bytes()),
            (_, 'p') => self.pointer(value, verb),
            (Value::Bytes(bytes), _) => self.bytes(value, bytes, verb, "[]byte"),
            _ => self.value(value, verb, 0),
        }
    }

    /// `%!verb(type=value)`.
    fn bad_verb(&mut self, verb: char, value: Option<&Value>) {
        let outer = std::mem::replace(&mut self.erroring, true);
        self.write("%!");
        self.write_char(verb);
        self.write("(");
        match value {
            None => self.write("<nil>"),
            Some(value) => {
                self.write(&value.type_name());
                self.write("=");
                self.value(value, 'v', 0);
            }
        }
        self.write(")");
        self.erroring = outer;
    }

    /// A value at some depth inside of an argument.
    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        match value {
            Value::Nil if self.spec.sharp_v => self.write("interface {}(nil)"),
            Value::Nil => self.write("<nil>"),
            Value::Object(object) => self.object(value, object, verb, depth),
            Value::List(_) | Value::Map(_) | Value::Func(_) if verb == 'w' => {
                self.bad_verb(verb, Some(value));
            }
            Value::Func(_) => self.pointer(value, verb),
            _ => self.plain(value, value, verb, depth),
        }
    }

    /// A value whose kind alone decides; `shown` is what a bad verb names, the same but for
    /// objects that stand for a plain value.
    fn plain(&mut self, shown: &Value, plain: &Value, verb: char, depth: usize) {
        match plain {
            Value::Bool(truth) if matches!(verb, 't' | 'v') => self.spec.boolean(self.out, *truth),
            Value::Int(number, _) => self.integer(shown, *number < 0, number.unsigned_abs(), verb),
            Value::Uint(number, _) if verb == 'v' && self.spec.sharp_v => self.hex_number(*number, true),
            Value::Uint(number, _) => self.integer(shown, false, *number, verb),
            Value::Float(number, ty) => self.float(shown, *number, *ty, verb),
            Value::String(text) => self.string(shown, text.as_bytes(), verb),
            Value::Bytes(bytes) => self.bytes(shown, bytes, verb, "[]uint8"),
            Value::List(list) => self.list(shown, list, verb, depth),
            Value::Map(map) => self.map(shown, map, verb, depth),
            _ => self.bad_verb(verb, Some(shown)),
        }
    }

    fn integer(&mut self, shown: &Value, negative: bool, magnitude: u64, verb: char) {
        let code = if negative { magnitude.wrapping_neg() } else { magnitude };
        match verb {
            'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' => self.spec.integer(self.out, negative, magnitude, verb),
            'c' => self.spec.character(self.out, code),
            'q' => self.spec.quoted_character(self.out, code),
            'U' => self.spec.unicode(self.out, code),
            _ => self.bad_verb(verb, Some(shown)),
        }
    }

    /// A hexadecimal number with or without `0x`, whatever the `#` flag says.
    fn hex_number(&mut self, number: u64, prefix: bool) {
        Spec { sharp: prefix, ..self.spec }.integer(self.out, false, number, 'x');
    }

    fn float(&mut self, shown: &Value, number: f64, ty: FloatType, verb: char) {
        let bits = if ty == FloatType::Float32 { 32 } else { 64 };
        match verb {
            'v' => self.spec.float(self.out, number, bits, 'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.spec.float(self.out, number, bits, verb, None),
            'f' | 'e' | 'E' => self.spec.float(self.out, number, bits, verb, Some(6)),
            'F' => self.spec.float(self.out, number, bits, 'f', Some(6)),
            _ => self.bad_verb(verb, Some(shown)),
        }
    }

    /// Both parts, the second always with its sign.
    fn complex(&mut self, shown: &Value, number: Complex, verb: char) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(verb, Some(shown));
        }
        let plus = self.spec.plus;
        self.write("(");
        self.float(shown, number.real, FloatType::Float64, verb);
        self.spec.plus = true;
        self.float(shown, number.imaginary, FloatType::Float64, verb);
        self.write("i)");
        self.spec.plus = plus;
    }

    fn string(&mut self, shown: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.spec.sharp_v => self.spec.quoted(self.out, text),
            'v' | 's' => self.spec.string(self.out, text),
            'x' => self.spec.hex(self.out, text, false),
            'X' => self.spec.hex(self.out, text, true),
            'q' => self.spec.quoted(self.out, text),
            _ => self.bad_verb(verb, Some(shown)),
        }
    }

    fn bytes(&mut self, shown: &Value, bytes: &[u8], verb: char, type_name: &str) {
        match verb {
            's' | 'x' | 'X' | 'q' => self.string(shown, bytes, verb),
            'v' if self.spec.sharp_v => {
                self.write(type_name);
                self.sequence(bytes, ("{", ", ", "}"), |p, byte| p.hex_number((*byte).into(), true));
            }
            _ => {
                let brackets = if self.spec.sharp_v {
                    self.write("[]uint8");
                    ("{", ", ", "}")
                } else {
                    ("[", " ", "]")
                };
                self.sequence(bytes, brackets, |p, byte| p.value(&Value::from(*byte), verb, 1));
            }
        }
    }

    /// Items between brackets.
    fn sequence<T>(
        &mut self,
        items: &[T],
        (open, between, close): (&str, &str, &str),
        mut item: impl FnMut(&mut Self, &T),
    ) {
        self.write(open);
        for (index, one) in items.iter().enumerate() {
            if index > 0 {
                self.write(between);
            }
            item(self, one);
        }
        self.write(close);
    }

    /// Whether the depth of a container is beyond what is printed.
    fn beyond(&mut self, depth: usize) -> bool {
        self.too_deep |= depth >= MAX_DEPTH;
        depth >= MAX_DEPTH
    }

    fn list(&mut self, shown: &Value, list: &List, verb: char, depth: usize) {
        if self.beyond(depth) {
            return;
        }
        let brackets = if self.spec.sharp_v {
            self.write(&shown.type_name());
            if list.is_nil() {
                return self.write("(nil)");
            }
            ("{", ", ", "}")
        } else {
            ("[", " ", "]")
        };
        self.sequence(list.as_slice(), brackets, |p, item| p.value(item, verb, depth + 1));
    }

    fn map(&mut self, shown: &Value, map: &Map, verb: char, depth: usize) {
        if self.beyond(depth) {
            return;
        }
        let (open, between, close) = if self.spec.sharp_v {
            self.write(&shown.type_name());
            if map.is_nil() {
                return self.write("(nil)");
            }
            ("{", ", ", "}")
        } else {
            ("map[", " ", "]")
        };
        self.write(open);
        if let Some(entries) = map.borrow() {
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    self.write(between);
                }
                self.value(&Value::String(key.clone()), verb, depth + 1);
                self.write(":");
                self.value(value, verb, depth + 1);
            }
        }
        self.write(close);
    }

    fn object(&mut self, value: &Value, object: &ObjectRef, verb: char, depth: usize) {
        if verb == 'w' {
            return self.bad_verb(verb, Some(value));
        }
        if let Some(number) = Complex::of(object) {
            return self.complex(value, number, verb);
        }
        if let Some(text) = object.go_text().filter(|_| self.spec.sharp_v && !self.erroring) {
            return self.spec.string(self.out, text.as_bytes());
        }
        let by_method = !self.erroring && !self.spec.sharp_v && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q');
        if let Some(text) = object.text().filter(|_| by_method) {
            return self.string(value, text.as_bytes(), verb);
        }
        if let Some(plain) = object.underlying() {
            return self.plain(value, &plain, verb, depth);
        }
        match object.ty() {
            Type::Pointer(_) if depth > 0 || object.is_nil() => self.pointer(value, verb),
            Type::Pointer(target) => {
                self.write("&");
                self.fields(object, &target.to_string(), verb, depth + 1);
            }
            named => self.fields(object, &named.to_string(), verb, depth),
        }
    }

    /// What a pointer points to, by `%v`.
    pub(super) fn pointed_to(&mut self, value: &Value, object: &ObjectRef) {
        if object.is_nil() || object.text().is_some() {
            self.object(value, object, 'v', 0);
        } else {
            self.fields(object, "", 'v', 0);
        }
    }

    fn fields(&mut self, object: &ObjectRef, type_name: &str, verb: char, depth: usize) {
        if self.beyond(depth) {
            return;
        }
        if self.spec.sharp_v {
            self.write(type_name);
        }
        let named = self.spec.plus_v || self.spec.sharp_v;
        let between = if self.spec.sharp_v { ", " } else { " " };
        self.sequence(&object.fields(), ("{", between, "}"), |p, (name, field)| {
            if named {
                p.write(name);
                p.write(":");
            }
            p.value(field, verb, depth + 1);
        });
    }

    /// Addresses. They differ from run to run in Go as well; nil is what matters.
    fn pointer(&mut self, value: &Value, verb: char) {
        let address = match value {
            Value::Func(function) => std::rc::Rc::as_ptr(function).addr(),
            Value::Object(object) if object.ty().kind() == Kind::Pointer => object.address(),
            Value::List(list) => list.as_slice().as_ptr().addr() * usize::from(!list.is_nil()),
            Value::Bytes(bytes) => bytes.as_ptr().addr(),
            Value::Map(map) => map.address(),
            _ => return self.bad_verb(verb, Some(value)),
        };
        let address = u64::try_from(address).unwrap_or(u64::MAX);
        match verb {
            'v' if self.spec.sharp_v => {
                self.write(&format!("({})(", value.type_name()));
                if address == 0 {
                    self.write("nil");
                } else {
                    self.hex_number(address, true);
                }
                self.write(")");
            }
            'v' if address == 0 => self.spec.pad(self.out, b"<nil>"),
            'v' | 'p' => self.hex_number(address, !self.spec.sharp),
            'b' | 'o' | 'd' | 'x' | 'X' => self.spec.integer(self.out, false, address, verb),
            _ => self.bad_verb(verb, Some(value)),
        }
    }
}
