//! [`List`]: a Go slice.

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use super::release::Backing;
use super::{Type, Value};

/// A Go slice: shared, immutable elements and an element type. Cutting a piece out copies nothing.
///
/// Nothing a template can call changes an element of a slice in place, so sharing is safe.
/// `[]byte` is not a `List` but [`Value::Bytes`].
#[derive(Clone)]
pub struct List {
    ty: &'static Type,
    /// `None` is the nil slice, which differs from an empty one for `%#v` and `DeepEqual`.
    items: Option<Rc<Backing>>,
    start: u32,
    end: u32,
}

impl List {
    /// A `[]interface {}`.
    pub fn new(items: Vec<Value>) -> Self {
        Self::typed(&Type::SLICE, items)
    }

    /// A slice of the given slice type, `[]string` for instance. The caller sees to it that the
    /// elements are of the element type.
    pub fn typed(ty: &'static Type, items: Vec<Value>) -> Self {
        let end = u32::try_from(items.len()).unwrap_or(u32::MAX);
        Self { ty, items: Some(Rc::new(Backing::new(items))), start: 0, end }
    }

    /// A `[]string`.
    pub fn strings<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::typed(&Type::STRINGS, items.into_iter().map(Into::into).collect())
    }

    /// The nil slice of a type.
    pub fn nil(ty: &'static Type) -> Self {
        Self { ty, items: None, start: 0, end: 0 }
    }

    /// The elements.
    #[inline]
    pub fn as_slice(&self) -> &[Value] {
        self.items
            .as_deref()
            .and_then(|items| items.as_slice().get(self.start as usize..self.end as usize))
            .unwrap_or_default()
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Go's `cap`: how far a piece of this slice may reach.
    pub fn capacity(&self) -> usize {
        self.items.as_deref().map_or(0, |items| items.as_slice().len() - self.start as usize)
    }

    /// The element at an index.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.as_slice().get(index)
    }

    /// Iterates over the elements.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.as_slice().iter()
    }

    /// `list[range]` on the same elements; `None` when it reaches beyond [`List::capacity`].
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.capacity() {
            return None;
        }
        let start = self.start + u32::try_from(range.start).ok()?;
        let end = self.start + u32::try_from(range.end).ok()?;
        Some(Self { ty: self.ty, items: self.items.clone(), start, end })
    }

    /// The slice type, named or not.
    pub fn ty(&self) -> Type {
        *self.ty
    }

    pub(crate) fn static_ty(&self) -> &'static Type {
        self.ty
    }

    /// The type of the elements.
    pub fn elem(&self) -> Type {
        self.ty.elem()
    }

    /// Whether it is the nil slice.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    /// Gives up the shared elements, for freeing them.
    pub(super) fn into_backing(self) -> Option<Rc<Backing>> {
        self.items
    }

    /// The same elements under another slice type of the same element type (a Go conversion).
    #[must_use]
    pub fn with_type(mut self, ty: &'static Type) -> Self {
        self.ty = ty;
        self
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
