//! Go's types as templates can see them: kinds, type names, named types and their methods.

use std::fmt;

use super::Value;
use crate::context::Context;
use crate::error::CallError;
use crate::function::Signature;

/// What Go's `reflect.Kind` tells apart. `Display` gives Go's name (`map`, `slice`, `ptr`, …).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of reflect.Kind")]
pub enum Kind {
    Invalid,
    Bool,
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float32,
    Float64,
    Complex128,
    Func,
    Interface,
    Map,
    Pointer,
    Slice,
    String,
    Struct,
}

impl Kind {
    /// Whether the kind is one of Go's signed integers.
    pub fn is_int(self) -> bool {
        matches!(self, Self::Int | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64)
    }

    /// Whether the kind is one of Go's unsigned integers.
    pub fn is_uint(self) -> bool {
        matches!(self, Self::Uint | Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64)
    }

    /// Whether the kind is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Go's name of the kind, as `reflect.Kind.String` gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint => "uint",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex128 => "complex128",
            Self::Func => "func",
            Self::Interface => "interface",
            Self::Map => "map",
            Self::Pointer => "ptr",
            Self::Slice => "slice",
            Self::String => "string",
            Self::Struct => "struct",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which of Go's signed integer types a [`Value::Int`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Go's")]
pub enum IntType {
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
}

/// Which of Go's unsigned integer types a [`Value::Uint`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Go's")]
pub enum UintType {
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
}

/// Which of Go's floating-point types a [`Value::Float`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are Go's")]
pub enum FloatType {
    Float32,
    Float64,
}

/// A Go type. All types are known when the program is built, so the nested ones are `'static`.
///
/// `Display` writes the name as `%T` does: `map[string]interface {}`, `[]string`, `common.Values`.
/// Maps are keyed by `string`, which is all that YAML and JSON give a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `interface {}`.
    Any,
    /// `bool`.
    Bool,
    /// A signed integer.
    Int(IntType),
    /// An unsigned integer.
    Uint(UintType),
    /// A floating-point number.
    Float(FloatType),
    /// `complex128`.
    Complex,
    /// `string`.
    String,
    /// `[]T`; `[]byte` is `Slice(&Type::BYTE)`.
    Slice(&'static Type),
    /// `map[string]T`.
    Map(&'static Type),
    /// `*T`.
    Pointer(&'static Type),
    /// A function; templates never need more of its type than its printed form.
    Func,
    /// The underlying type of a named struct.
    Struct,
    /// A defined type: `common.Values`, `time.Time`.
    Named(&'static NamedType),
}

impl Type {
    /// `int`.
    pub const INT: Type = Type::Int(IntType::Int);
    /// `int32`, also spelled `rune`.
    pub const INT32: Type = Type::Int(IntType::Int32);
    /// `int64`.
    pub const INT64: Type = Type::Int(IntType::Int64);
    /// `uint8`, also spelled `byte`.
    pub const BYTE: Type = Type::Uint(UintType::Uint8);
    /// `float64`.
    pub const FLOAT64: Type = Type::Float(FloatType::Float64);
    /// `[]interface {}`.
    pub const SLICE: Type = Type::Slice(&Type::Any);
    /// `[]string`.
    pub const STRINGS: Type = Type::Slice(&Type::String);
    /// `[]byte`.
    pub const BYTES: Type = Type::Slice(&Type::BYTE);
    /// `map[string]interface {}`.
    pub const MAP: Type = Type::Map(&Type::Any);
    /// `map[string]string`.
    pub const STRING_MAP: Type = Type::Map(&Type::String);

    /// The type a defined type is made of; any other type itself.
    pub fn underlying(self) -> Type {
        match self {
            Type::Named(named) => named.underlying.underlying(),
            other => other,
        }
    }

    /// What a pointer points to; any other type itself.
    pub(crate) fn target(self) -> Type {
        match self {
            Type::Pointer(target) => *target,
            other => other,
        }
    }

    /// The element type of a slice, map or pointer; `interface {}` for all others.
    pub fn elem(self) -> Type {
        match self.underlying() {
            Type::Slice(elem) | Type::Map(elem) | Type::Pointer(elem) => *elem,
            _ => Type::Any,
        }
    }

    /// The kind of values of this type.
    pub fn kind(self) -> Kind {
        match self.underlying() {
            Type::Any => Kind::Interface,
            Type::Bool => Kind::Bool,
            Type::Int(IntType::Int) => Kind::Int,
            Type::Int(IntType::Int8) => Kind::Int8,
            Type::Int(IntType::Int16) => Kind::Int16,
            Type::Int(IntType::Int32) => Kind::Int32,
            Type::Int(IntType::Int64) => Kind::Int64,
            Type::Uint(UintType::Uint) => Kind::Uint,
            Type::Uint(UintType::Uint8) => Kind::Uint8,
            Type::Uint(UintType::Uint16) => Kind::Uint16,
            Type::Uint(UintType::Uint32) => Kind::Uint32,
            Type::Uint(UintType::Uint64) => Kind::Uint64,
            Type::Float(FloatType::Float32) => Kind::Float32,
            Type::Float(FloatType::Float64) => Kind::Float64,
            Type::Complex => Kind::Complex128,
            Type::String => Kind::String,
            Type::Slice(_) => Kind::Slice,
            Type::Map(_) => Kind::Map,
            Type::Pointer(_) => Kind::Pointer,
            Type::Func => Kind::Func,
            Type::Struct | Type::Named(_) => Kind::Struct,
        }
    }

    /// Whether `nil` can be assigned to the type (`canBeNil` of text/template/exec.go).
    pub fn can_be_nil(self) -> bool {
        matches!(self.kind(), Kind::Interface | Kind::Map | Kind::Slice | Kind::Pointer | Kind::Func)
    }

    /// Whether the type has a name of its own, which matters for assignability: a `common.Values`
    /// may be given where `map[string]interface {}` is wanted because the latter is unnamed.
    pub fn is_defined(self) -> bool {
        !matches!(self, Type::Slice(_) | Type::Map(_) | Type::Pointer(_) | Type::Func | Type::Struct)
    }

    /// Go's assignability of a value of type `self` to a variable of type `target`.
    pub fn assignable_to(self, target: Type) -> bool {
        self == target
            || target == Type::Any
            || (self.underlying() == target.underlying() && (!self.is_defined() || !target.is_defined()))
    }

    /// The method of that name, which only defined types (and pointers to them) have.
    pub fn method(self, name: &str) -> Option<&'static Method> {
        match self {
            Type::Named(named) => named.methods.iter().find(|method| method.name == name),
            Type::Pointer(Type::Named(named)) => named.methods.iter().find(|method| method.name == name),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Any => f.write_str("interface {}"),
            Type::Slice(elem) => write!(f, "[]{elem}"),
            Type::Map(elem) => write!(f, "map[string]{elem}"),
            Type::Pointer(elem) => write!(f, "*{elem}"),
            Type::Func => f.write_str("func()"),
            Type::Named(named) => f.write_str(named.name),
            other => f.write_str(other.kind().name()),
        }
    }
}

/// A defined Go type. Declare one as a `static` and refer to it by [`Type::Named`].
#[derive(Debug)]
pub struct NamedType {
    /// The name with its package, as `%T` prints it: `common.Values`.
    pub name: &'static str,
    /// What it is made of; [`Type::Struct`] for structs.
    pub underlying: Type,
    /// The exported methods a template can call.
    pub methods: &'static [Method],
}

/// Two defined types are the same type when they have the same name.
impl PartialEq for NamedType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.name == other.name
    }
}

impl Eq for NamedType {}

/// The body of a [`Method`]: the receiver, then the checked arguments.
pub type MethodBody = fn(&mut Context, &Value, &[Value]) -> Result<Value, CallError>;

/// A method that templates can call: `.Files.Get "x"`.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// The exported name.
    pub name: &'static str,
    /// Parameters and result, without the receiver.
    pub signature: Signature,
    /// What runs when it is called; the arguments fit the signature.
    pub body: MethodBody,
}
