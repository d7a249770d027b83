//! Where in the tables a value belongs.

use helm_template::{List, Map, Str, Value, fmt};

use super::{Key, Parser, TABLES, dotted};
use crate::toml::lex::Lexed;

impl Parser<'_> {
    pub(super) fn insert_inline(&self, table: &Map, key: &[Str], value: Value) -> Lexed<()> {
        let Some((last, parents)) = key.split_last() else { return Ok(()) };
        let mut at = table.clone();
        for parent in parents {
            let inner = match at.get_str(parent) {
                None => {
                    let inner = Map::new();
                    at.insert(parent.clone(), inner.clone());
                    inner
                }
                Some(Value::Map(inner)) => inner,
                Some(_) => {
                    let context = fmt::quote(dotted(&self.context).as_bytes());
                    return Err(self.refuse(format!("{context} is not a table")));
                }
            };
            at = inner;
        }
        at.insert(last.clone(), value);
        Ok(())
    }

    pub(super) fn path(&self, key: &Str) -> Key {
        let mut path = self.context.clone();
        path.push(key.clone());
        path
    }

    /// The table that a value stands for: itself, or the last of an array of tables.
    pub(super) fn table_of(value: &Value) -> Option<Map> {
        match value {
            Value::Map(map) => Some(map.clone()),
            Value::List(list) if list.ty() == TABLES => {
                list.as_slice().last().and_then(Value::as_map).cloned()
            }
            _ => None,
        }
    }

    /// `addContext`: makes the table of a key the one that keys are set in.
    pub(super) fn add_context(&mut self, key: &[Str], array: bool) -> Lexed<()> {
        let Some((last, parents)) = key.split_last() else { return Ok(()) };
        let mut at = self.root.clone();
        let mut path: Key = Vec::new();
        for parent in parents {
            path.push(parent.clone());
            if !at.contains_key(parent) {
                self.implicit.insert(dotted(&path));
                at.insert(parent.clone(), Map::new());
            }
            at = at.get_str(parent).as_ref().and_then(Self::table_of).ok_or_else(|| {
                self.refuse(format!("Key '{}' was already created as a hash.", dotted(&path)))
            })?;
        }
        self.context = path;
        if array {
            let mut tables = match at.get_str(last) {
                None => Vec::new(),
                Some(Value::List(list)) if list.ty() == TABLES => list.as_slice().to_vec(),
                Some(_) => {
                    return Err(self.refuse(format!(
                        "Key '{}' was already created and cannot be used as an array.",
                        dotted(key)
                    )));
                }
            };
            tables.push(Value::Map(Map::new()));
            at.insert(last.clone(), List::typed(&TABLES, tables));
        } else {
            self.set(last, Value::Map(Map::new()))?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    /// `setValue`: sets a key of the current table, which must not have it unless it was only implied.
    pub(super) fn set(&mut self, key: &Str, value: Value) -> Lexed<()> {
        let mut at = self.root.clone();
        let mut path: Key = Vec::new();
        for part in &self.context {
            path.push(part.clone());
            at =
                at.get_str(part).as_ref().and_then(Self::table_of).ok_or_else(|| {
                    self.refuse(format!("Key '{}' has already been defined.", dotted(&path)))
                })?;
        }
        path.push(key.clone());
        let name = dotted(&path);
        if at.contains_key(key) {
            if !self.implicit.remove(&name) {
                return Err(self.refuse(format!("Key '{name}' has already been defined.")));
            }
            if !self.arrays.contains(&name) {
                return Ok(());
            }
        }
        at.insert(key.clone(), value);
        Ok(())
    }
}
