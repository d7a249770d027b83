//! Rust values into Go values. Rust's integer types become Go's type of the same name; `i32`
//! literals and `usize`, which Rust code uses for plain numbers, become `int`.

use std::rc::Rc;

use super::{FloatType, IntType, List, Map, ObjectRef, Str, UintType, Value};
use crate::function::Function;

macro_rules! from {
    ($($source:ty => |$value:ident| $make:expr),* $(,)?) => {$(
        impl From<$source> for Value {
            fn from($value: $source) -> Self {
                $make
            }
        }
    )*};
}

from! {
    bool => |v| Self::Bool(v),
    i32 => |v| Self::Int(v.into(), IntType::Int),
    i64 => |v| Self::Int(v, IntType::Int64),
    usize => |v| Self::Int(i64::try_from(v).unwrap_or(i64::MAX), IntType::Int),
    u8 => |v| Self::Uint(v.into(), UintType::Uint8),
    u32 => |v| Self::Uint(v.into(), UintType::Uint32),
    u64 => |v| Self::Uint(v, UintType::Uint64),
    f64 => |v| Self::Float(v, FloatType::Float64),
    f32 => |v| Self::Float(v.into(), FloatType::Float32),
    &str => |v| Self::String(v.into()),
    String => |v| Self::String(v.into()),
    &String => |v| Self::String(v.into()),
    Str => |v| Self::String(v),
    &Str => |v| Self::String(v.clone()),
    List => |v| Self::List(v),
    Map => |v| Self::Map(v),
    ObjectRef => |v| Self::Object(v),
    Rc<Function> => |v| Self::Func(v),
    Vec<Value> => |v| Self::List(List::new(v)),
}

impl Value {
    /// A Go `int`.
    pub fn int(number: i64) -> Self {
        Self::Int(number, IntType::Int)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nil, Into::into)
    }
}
