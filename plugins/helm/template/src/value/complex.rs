//! Complex numbers: templates can spell them (`1i`, `2+3i`), and do nothing with them but print and compare.

use super::object::Object;
use super::types::Type;
use super::{ObjectRef, Value};

/// A `complex128`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Complex {
    pub(crate) real: f64,
    pub(crate) imaginary: f64,
}

impl Complex {
    /// The number in a value of that type.
    pub(crate) fn of(object: &ObjectRef) -> Option<Self> {
        object.downcast().copied()
    }
}

impl From<Complex> for Value {
    fn from(number: Complex) -> Self {
        Self::object(number)
    }
}

impl Object for Complex {
    fn ty(&self) -> Type {
        Type::Complex
    }

    fn is_zero(&self) -> bool {
        self.real == 0.0 && self.imaginary == 0.0
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        let other: &dyn std::any::Any = other;
        Some(other.downcast_ref() == Some(self))
    }
}
