//! Deep copies.

use super::{List, Map, Value};
use crate::error::TooDeep;

/// How deep recursive work on values goes (printing, copying) before it gives up. Values that
/// contain themselves have no end, and a WebAssembly stack is small: printing takes about 250 bytes
/// of it for each level.
pub const MAX_DEPTH: usize = 500;

impl Value {
    /// A copy that shares no map with the original, types kept.
    ///
    /// # Errors
    /// [`TooDeep`] when the value is nested deeper than [`MAX_DEPTH`], so also when it contains itself.
    pub fn deep_copy(&self) -> Result<Self, TooDeep> {
        self.copy_at(0)
    }

    fn copy_at(&self, depth: usize) -> Result<Self, TooDeep> {
        match self {
            Self::List(_) | Self::Map(_) if depth >= MAX_DEPTH => Err(TooDeep),
            Self::List(list) if !list.is_nil() => {
                let items = list.iter().map(|item| item.copy_at(depth + 1)).collect::<Result<_, _>>()?;
                Ok(Self::List(List::typed(list.static_ty(), items)))
            }
            Self::Map(map) => {
                let Some(entries) = map.borrow() else { return Ok(self.clone()) };
                let copy = Map::typed(map.static_ty());
                for (key, value) in entries.iter() {
                    copy.insert(key.clone(), value.copy_at(depth + 1)?);
                }
                Ok(Self::Map(copy))
            }
            Self::Object(object) => Ok(object.copied().unwrap_or_else(|| self.clone())),
            other => Ok(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{List, Map, Value};

    #[test]
    fn a_deep_copy_does_not_see_later_changes() {
        let inner = Map::from_iter([("a", 1)]);
        let original = Value::List(List::new(vec![Value::Map(inner.clone())]));
        let copy = original.deep_copy().unwrap();
        inner.insert("a", 2);
        let list = copy.as_list().unwrap();
        assert_eq!(list.get(0).unwrap().as_map().unwrap().get("a"), Some(Value::from(1)));
    }

    #[test]
    fn a_map_that_contains_itself_cannot_be_copied() {
        let map = Map::new();
        map.insert("self", Value::Map(map.clone()));
        assert!(Value::Map(map.clone()).deep_copy().is_err());
        map.remove("self");
    }
}
