//! Equality: Go's `reflect.DeepEqual` and `==`.

use std::collections::HashSet;

use super::{Map, Type, Value};

impl Value {
    /// Go's `reflect.DeepEqual`: same types all the way down, nil differs from empty, NaN from
    /// itself. Handles values of any depth and maps that contain themselves.
    pub fn deep_equal(&self, other: &Self) -> bool {
        let mut pending = vec![(self.clone(), other.clone())];
        let mut visited = HashSet::new();
        while let Some((a, b)) = pending.pop() {
            let equal = match (&a, &b) {
                (Self::List(x), Self::List(y)) => {
                    pending.extend(x.iter().cloned().zip(y.iter().cloned()));
                    x.ty() == y.ty() && x.len() == y.len() && x.is_nil() == y.is_nil()
                }
                (Self::Map(x), Self::Map(y)) => maps_match(x, y, &mut pending, &mut visited),
                (Self::Func(_), Self::Func(_)) => false,
                // What pointers point to counts, not where it lies.
                (Self::Object(x), Self::Object(y)) if matches!(x.ty(), Type::Pointer(_)) => {
                    x.ty() == y.ty() && x.is_nil() == y.is_nil() && fields_equal(&a, &b)
                }
                _ => a.plain_equal(&b).unwrap_or_else(|| fields_equal(&a, &b)),
            };
            if !equal {
                return false;
            }
        }
        true
    }

    /// Go's `==` of two interface values: `Some(false)` for different types, `None` where Go would
    /// panic because the type has no equality (maps, slices, functions).
    pub fn plain_equal(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a, s), Self::Int(b, t)) => a == b && s == t,
            (Self::Uint(a, s), Self::Uint(b, t)) => a == b && s == t,
            #[expect(clippy::float_cmp, reason = "Go's == on floats is exact")]
            (Self::Float(a, s), Self::Float(b, t)) => a == b && s == t,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Object(a), Self::Object(b)) if a.ty() == b.ty() => {
                return match a.ty() {
                    Type::Pointer(_) => Some(a.same(b)),
                    _ => a.equals(&**b),
                };
            }
            (Self::Bytes(_), Self::Bytes(_)) | (Self::Func(_), Self::Func(_)) => return None,
            (Self::List(a), Self::List(b)) if a.ty() == b.ty() => return None,
            (Self::Map(a), Self::Map(b)) if a.ty() == b.ty() => return None,
            _ => false,
        })
    }
}

/// `Value` equality is `deep_equal`: what tests want to ask.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.deep_equal(other)
    }
}

/// Compares two maps but for the values of their keys, which are put off into `pending`.
fn maps_match(
    a: &Map,
    b: &Map,
    pending: &mut Vec<(Value, Value)>,
    visited: &mut HashSet<(usize, usize)>,
) -> bool {
    if a.ty() != b.ty() || a.is_nil() != b.is_nil() || a.len() != b.len() {
        return false;
    }
    if a.same(b) || !visited.insert((a.address(), b.address())) {
        return true;
    }
    let (Some(left), Some(right)) = (a.borrow(), b.borrow()) else { return true };
    for ((key, x), (other, y)) in left.iter().zip(right.iter()) {
        if key != other {
            return false;
        }
        pending.push((x.clone(), y.clone()));
    }
    true
}

/// The rest of `DeepEqual`: byte slices, and structs without an equality of their own, field by field.
fn fields_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bytes(x), Value::Bytes(y)) => x == y,
        (Value::Object(x), Value::Object(y)) => {
            x.same(y)
                || match (x.underlying(), y.underlying()) {
                    (Some(x), Some(y)) => x.deep_equal(&y),
                    _ => !x.fields().is_empty() && x.fields() == y.fields(),
                }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::{List, Map, Str, Type, Value};

    fn map(entries: &[(&'static str, Value)]) -> Value {
        Value::Map(Map::from_iter(entries.iter().cloned()))
    }

    #[test]
    fn equal_numbers_of_different_types_are_not_deeply_equal() {
        assert_ne!(Value::from(1), Value::from(1i64));
        assert_ne!(Value::from(1), Value::from(1.0));
        assert_eq!(Value::from(1), Value::from(1));
    }

    #[test]
    fn nan_is_not_equal_to_itself() {
        assert_ne!(Value::from(f64::NAN), Value::from(f64::NAN));
    }

    #[test]
    fn nil_and_empty_lists_and_maps_differ() {
        assert_ne!(Value::List(List::nil(&Type::SLICE)), Value::List(List::new(vec![])));
        assert_ne!(Value::Map(Map::nil(&Type::MAP)), Value::Map(Map::new()));
    }

    #[test]
    fn lists_of_different_element_types_differ() {
        assert_ne!(Value::List(List::strings(["a"])), Value::List(List::new(vec!["a".into()])));
    }

    #[test]
    fn nested_maps_are_compared_by_key_and_value() {
        let a = map(&[("x", map(&[("y", 1.into())])), ("z", "s".into())]);
        let b = map(&[("x", map(&[("y", 1.into())])), ("z", "s".into())]);
        let c = map(&[("x", map(&[("y", 2.into())])), ("z", "s".into())]);
        assert_eq!(a, b);
        assert_ne!(a, c);
    }

    #[test]
    fn maps_that_contain_themselves_compare_without_end_less_looping() {
        let (a, b) = (Map::new(), Map::new());
        a.insert("self", Value::Map(a.clone()));
        b.insert("self", Value::Map(b.clone()));
        assert_eq!(Value::Map(a.clone()), Value::Map(b.clone()));
        a.remove("self");
        b.remove("self");
    }

    #[test]
    fn invalid_utf8_is_compared_by_bytes() {
        assert_eq!(Str::from_bytes(b"\xff"), Str::from_bytes(b"\xff"));
        assert_ne!(Str::from_bytes(b"\xff"), Str::from_bytes(b"\xfe"));
    }
}
