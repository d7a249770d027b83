//! [`Object`]: structs and other defined Go types that a template can touch.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use super::{Str, Type, Value};

/// A value of a defined Go type other than a map or slice: a struct (`.Capabilities`), a pointer
/// to one, or a named basic type (`time.Duration`).
///
/// Methods are not here but in the type: [`super::NamedType::methods`]; their bodies get the
/// receiver as a [`Value`] and reach the Rust type with [`ObjectRef::downcast`].
///
/// Defined map and slice types without state of their own are [`Value::Map`] and [`Value::List`]
/// with a named type instead.
pub trait Object: Any + fmt::Debug {
    /// The Go type, [`Type::Named`] or a pointer to it. Decides kind, truth and methods.
    fn ty(&self) -> Type;

    /// The value of an exported field; `None` when the struct has no such field.
    fn field(&self, name: &str) -> Option<Value> {
        let _ = name;
        None
    }

    /// Whether the struct has that exported field. Only pointers that can be nil need to say so
    /// themselves: of a nil pointer no field has a value.
    fn has_field(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// All fields in declaration order, as `%v` and `%+v` print them.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The plain value that a named basic type, slice or map is made of: the `int64` of a
    /// `time.Duration`. `None` for structs and pointers.
    fn underlying(&self) -> Option<Value> {
        None
    }

    /// The value of its type that is made of that number, for types that are made of numbers.
    fn of_number(&self, number: i64) -> Option<Value> {
        let _ = number;
        None
    }

    /// What Go's `Error` or `String` method returns, where the type has one. `fmt` prints that for
    /// `%v %s %q %x %X`. A nil pointer of such a type gives `<nil>`.
    fn text(&self) -> Option<Str> {
        None
    }

    /// What Go's `GoString` method returns, where the type has one. `fmt` prints that for `%#v`.
    fn go_text(&self) -> Option<Str> {
        None
    }

    /// What it is as an argument of a function, where that is not the object itself: a struct that is reached through a
    /// pointer has the methods of the pointer, its copy in an `interface {}` has not.
    fn in_interface(&self) -> Option<Value> {
        None
    }

    /// The fields as encoding/json names them, where struct tags say so.
    fn json_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        None
    }

    /// What a deep copy of it is, where that is not the object itself.
    fn copied(&self) -> Option<Value> {
        None
    }

    /// Whether it is a nil pointer.
    fn is_nil(&self) -> bool {
        false
    }

    /// Whether it is a number that is nought, which is not true.
    fn is_zero(&self) -> bool {
        false
    }

    /// Go's `==` with another value of the same type; `None` when the type cannot be compared.
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        let _ = other;
        None
    }
}

/// A shared [`Object`].
#[derive(Clone)]
pub struct ObjectRef(Rc<dyn Object>);

impl ObjectRef {
    /// Wraps an object.
    pub fn new(object: impl Object) -> Self {
        Self(Rc::new(object))
    }

    /// The object as its Rust type, when it is that.
    pub fn downcast<T: Object>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// Whether both are the same object in memory, which is Go's equality of pointers.
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Where the object lies; 0 for a nil pointer.
    pub(crate) fn address(&self) -> usize {
        if self.is_nil() { 0 } else { Rc::as_ptr(&self.0).cast::<()>().addr() }
    }
}

impl std::ops::Deref for ObjectRef {
    type Target = dyn Object;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
