//! `range` (`walkRange`).

use std::rc::Rc;

use super::{Form, Machine, Operand, Step};
use crate::fmt;
use crate::value::{IntType, List, ObjectRef, Str, Type, Value};

/// A loop on its way.
#[derive(Debug)]
pub(super) struct Loop {
    items: Items,
    index: usize,
    /// The variables for index and element, as many as `declared` says.
    slots: [u16; 2],
    declared: u8,
    /// The cursor outside of the loop.
    outer: Operand,
    /// How many cursors were put aside when it began; those of blocks left by `continue` go.
    dots: usize,
}

/// What a loop goes over. Maps are taken as they were when the loop began.
#[derive(Debug)]
enum Items {
    List(List),
    Bytes(Rc<[u8]>),
    Map(std::vec::IntoIter<(Str, Value)>, Type),
    /// Counts from 0 up to a number, with values of the number's type.
    Numbers(u64, Type),
    /// The same for an object that stands for a number.
    Objects(u64, ObjectRef),
}

impl Items {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::List(list) => Self::List(list.clone()),
            Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Value::Map(map) => Self::Map(map.snapshot().into_iter(), map.elem()),
            Value::Int(number, ty) => Self::Numbers(u64::try_from(*number).unwrap_or(0), Type::Int(*ty)),
            Value::Uint(number, ty) => Self::Numbers(*number, Type::Uint(*ty)),
            Value::Object(object) => match Self::of(&object.underlying()?)? {
                Self::Numbers(end, _) => Self::Objects(end, object.clone()),
                items => items,
            },
            _ => return None,
        })
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::List(list) => list.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Map(entries, _) => entries.len() == 0,
            Self::Numbers(end, _) | Self::Objects(end, _) => *end == 0,
        }
    }

    /// The element at an index and what it is indexed by.
    fn next(&mut self, index: usize) -> Option<(Operand, Operand)> {
        let position = || Operand::concrete(Value::from(index));
        match self {
            Self::List(list) => {
                list.get(index).map(|item| (position(), Operand::of_type(item.clone(), list.elem())))
            }
            Self::Bytes(bytes) => bytes.get(index).map(|&byte| (position(), Operand::concrete(byte.into()))),
            Self::Map(entries, elem) => entries
                .next()
                .map(|(key, value)| (Operand::concrete(key.into()), Operand::of_type(value, *elem))),
            Self::Objects(end, object) => {
                u64::try_from(index).ok().filter(|number| number < end)?;
                let number = i64::try_from(index).ok()?;
                let value = object.of_number(number).unwrap_or_else(|| Value::int(number));
                Some((Operand::ABSENT, Operand::concrete(value)))
            }
            Self::Numbers(end, ty) => {
                let number = u64::try_from(index).ok().filter(|number| number < end)?;
                let value = match ty {
                    Type::Uint(ty) => Value::Uint(number, *ty),
                    Type::Int(ty) => Value::Int(i64::try_from(number).ok()?, *ty),
                    _ => Value::Int(i64::try_from(number).ok()?, IntType::Int),
                };
                Some((Operand::ABSENT, Operand::concrete(value)))
            }
        }
    }
}

impl Machine<'_> {
    pub(super) fn begin_loop(&mut self, slots: [u16; 2], declared: u8, target: u32) -> Step<()> {
        let operand = self.pop();
        let items = match Items::of(&operand.value) {
            None if matches!(operand.value, Value::Nil) => None,
            None => {
                let bare = operand.value.in_interface();
                let value = shown(bare.as_ref().unwrap_or(&operand.value));
                return self.message(format!("range can't iterate over {value}"));
            }
            Some(Items::Numbers(..) | Items::Objects(..)) if declared > 1 => {
                let number = shown(&operand.value);
                return self.message(format!("can't use {number} to iterate over more than one variable"));
            }
            items => items.filter(|items| !items.is_empty()),
        };
        match items {
            None => self.pc = target as usize,
            Some(items) => {
                let (outer, dots) = (self.dot.clone(), self.dots.len());
                self.loops.push(Loop { items, index: 0, slots, declared, outer, dots });
            }
        }
        Ok(())
    }

    pub(super) fn next_element(&mut self, target: u32) -> Step<()> {
        self.context.charge(1)?;
        let Some(current) = self.loops.last_mut() else { return Ok(()) };
        let Some((key, element)) = current.items.next(current.index) else {
            self.end_loop();
            self.pc = target as usize;
            return Ok(());
        };
        current.index += 1;
        self.dots.truncate(current.dots);
        let (declared, [first, second]) = (current.declared, current.slots);
        if declared > 1 {
            self.set_variable(first, key);
        }
        if declared > 0 {
            self.set_variable(second, element.clone());
        }
        self.dot = element;
        Ok(())
    }

    /// Ends the innermost loop.
    pub(super) fn end_loop(&mut self) {
        if let Some(ended) = self.loops.pop() {
            self.dots.truncate(ended.dots);
            self.dot = ended.outer;
        }
    }
}

/// A value within a message.
fn shown(value: &Value) -> Str {
    let mut out = Vec::new();
    let printed = fmt::append_printable(&mut out, value);
    printed.map(|()| Str::from(out)).unwrap_or_default()
}

impl Form {
    /// Whether there is a value.
    pub(crate) fn is_present(self) -> bool {
        !matches!(self, Self::Absent | Self::Unset)
    }
}
