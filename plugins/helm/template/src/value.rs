//! The values templates work on, with the types Go would give them.
//!
//! Values are single-threaded and cheap to clone: everything larger than a number is reference
//! counted. Maps are shared and mutable (Go's reference semantics), lists and strings immutable.

mod compare;
mod complex;
mod convert;
mod copy;
mod list;
mod map;
mod object;
mod release;
mod text;
mod types;

use std::rc::Rc;

pub(crate) use self::complex::Complex;
pub use self::copy::MAX_DEPTH;
pub use self::list::List;
pub use self::map::Map;
pub use self::object::{Object, ObjectRef};
pub use self::text::Str;
pub use self::types::{FloatType, IntType, Kind, Method, MethodBody, NamedType, Type, UintType};
use crate::function::Function;

/// A Go value.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `nil`: an empty interface.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// A signed integer with its Go type; the number fits the type.
    Int(i64, IntType),
    /// An unsigned integer with its Go type; the number fits the type.
    Uint(u64, UintType),
    /// A floating-point number with its Go type.
    Float(f64, FloatType),
    /// `string`.
    String(Str),
    /// `[]byte`.
    Bytes(Rc<[u8]>),
    /// A slice other than `[]byte`.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A struct, pointer or named basic type.
    Object(ObjectRef),
    /// A function as data, for the `call` builtin.
    Func(Rc<Function>),
}

impl Value {
    /// The empty string.
    pub fn empty_string() -> Self {
        Self::String(Str::default())
    }

    /// A `[]byte`.
    pub fn bytes(bytes: impl Into<Rc<[u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// What it is as an argument of a function, where that is something else: [`Object::in_interface`].
    pub(crate) fn in_interface(&self) -> Option<Self> {
        let Self::Object(object) = self else { return None };
        object.in_interface()
    }

    /// A value of a type of its own.
    pub fn object(object: impl Object) -> Self {
        Self::Object(ObjectRef::new(object))
    }

    /// The Go type; `None` for nil.
    pub fn ty(&self) -> Option<Type> {
        Some(match self {
            Self::Nil => return None,
            Self::Bool(_) => Type::Bool,
            Self::Int(_, ty) => Type::Int(*ty),
            Self::Uint(_, ty) => Type::Uint(*ty),
            Self::Float(_, ty) => Type::Float(*ty),
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::BYTES,
            Self::List(list) => list.ty(),
            Self::Map(map) => map.ty(),
            Self::Object(object) => object.ty(),
            Self::Func(_) => Type::Func,
        })
    }

    /// The kind, as `reflect.Kind`; [`Kind::Invalid`] for nil.
    pub fn kind(&self) -> Kind {
        match self {
            Self::String(_) => Kind::String,
            Self::Bytes(_) | Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            _ => self.ty().map_or(Kind::Invalid, Type::kind),
        }
    }

    /// The name of the type as `%T` prints it; `<nil>` for nil.
    pub fn type_name(&self) -> String {
        match self {
            Self::Func(function) => function.signature().to_string(),
            _ => self.ty().map_or_else(|| "<nil>".to_owned(), |ty| ty.to_string()),
        }
    }

    /// Go's truth, as `if` sees it: false for nil, zero numbers and everything empty.
    pub fn truth(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(truth) => *truth,
            Self::Int(number, _) => *number != 0,
            Self::Uint(number, _) => *number != 0,
            Self::Float(number, _) => *number != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => match object.underlying() {
                Some(plain) => plain.truth(),
                None => !object.is_nil() && !object.is_zero(),
            },
            Self::Func(_) => true,
        }
    }

    /// Whether it is nil or a nil map, slice or pointer.
    pub fn is_nil(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::List(list) => list.is_nil(),
            Self::Map(map) => map.is_nil(),
            Self::Object(object) => object.is_nil(),
            _ => false,
        }
    }

    /// The text of a string that is valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => text.as_str(),
            _ => None,
        }
    }

    /// The bytes of a string or of a `[]byte`.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::String(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The string.
    pub fn as_string(&self) -> Option<&Str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value of a bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number of a signed integer of any width.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number, _) => Some(*number),
            _ => None,
        }
    }

    /// The number of an unsigned integer of any width.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Uint(number, _) => Some(*number),
            _ => None,
        }
    }

    /// The number of a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(number, _) => Some(*number),
            _ => None,
        }
    }

    /// The list.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The map.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The object as its Rust type, when it is that.
    pub fn as_object<T: Object>(&self) -> Option<&T> {
        match self {
            Self::Object(object) => object.downcast(),
            _ => None,
        }
    }

    /// The zero value of a type (`reflect.Zero`): nil, 0, "", a nil map or slice.
    pub fn zero(ty: &'static Type) -> Self {
        match *ty {
            Type::Bool => Self::Bool(false),
            Type::Int(int) => Self::Int(0, int),
            Type::Uint(uint) => Self::Uint(0, uint),
            Type::Float(float) => Self::Float(0.0, float),
            Type::String => Self::empty_string(),
            Type::BYTES => Self::bytes([]),
            _ => match ty.kind() {
                Kind::Slice => Self::List(List::nil(ty)),
                Kind::Map => Self::Map(Map::nil(ty)),
                _ => Self::Nil,
            },
        }
    }
}
