//! The most that an expression can take, estimated before it is evaluated: CEL always ends, but `x.map(i, i + i)` after
//! itself a few dozen times does not end today.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use serde_json::Value;

use crate::ConditionError;

/// How deep an expression may be nested.
const DEEPEST: usize = 100;
/// How many steps an evaluation may take, about the bytes that it touches.
const MOST_WORK: u64 = 400_000_000;
/// How large a value may become, in about bytes.
const LARGEST: u64 = 8_000_000;
/// What a value takes besides its texts. Nothing is smaller than this.
const UNIT: u64 = 16;

pub(crate) fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(all) => {
            vec![&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(made) => made.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Refuses what is nested too deeply for those who walk it.
pub(crate) fn check_depth(expr: &IdedExpr) -> Result<(), ConditionError> {
    let mut level = vec![expr];
    for _ in 0..DEEPEST {
        level = level.into_iter().flat_map(children).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    Err(ConditionError::Depth { most: DEEPEST })
}

/// Refuses what could take too much with these variables.
pub(crate) fn check(expr: &IdedExpr, variables: &[(&str, &Value)]) -> Result<(), ConditionError> {
    let mut estimate = Estimate { scope: Vec::new(), work: 0 };
    for (name, value) in variables {
        estimate.scope.push(((*name).to_owned(), Bound::Known(value)));
    }
    estimate.of(expr).map(drop)
}

/// What is known of a value: the value itself, or how large it is at most.
#[derive(Debug, Clone, Copy)]
enum Bound<'a> {
    Known(&'a Value),
    UpTo(u64),
    /// What a macro gathers: at most so many elements, each at most so large.
    List(u64, u64),
}

impl Bound<'_> {
    fn size(self) -> u64 {
        match self {
            Self::Known(value) => size(value),
            Self::UpTo(size) => size,
            Self::List(count, largest) => count.saturating_mul(largest).saturating_add(UNIT),
        }
    }

    /// How many elements it has at most, and how large one of these is at most.
    fn elements(self) -> (u64, u64) {
        let length = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        match self {
            Self::Known(Value::Array(list)) => (length(list.len()), list.iter().map(size).max().unwrap_or(0)),
            Self::Known(Value::Object(map)) => (
                length(map.len()),
                map.iter().map(|(key, value)| text(key).max(size(value))).max().unwrap_or(0),
            ),
            Self::List(count, largest) => (count, largest),
            other => (other.size() / UNIT, other.size()),
        }
    }
}

fn text(text: &str) -> u64 {
    UNIT.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

fn size(value: &Value) -> u64 {
    match value {
        Value::String(value) => text(value),
        Value::Array(list) => list.iter().map(size).fold(UNIT, u64::saturating_add),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| text(key).saturating_add(size(value)))
            .fold(UNIT, u64::saturating_add),
        _ => UNIT,
    }
}

struct Estimate<'a> {
    scope: Vec<(String, Bound<'a>)>,
    work: u64,
}

impl<'a> Estimate<'a> {
    fn spend(&mut self, work: u64) -> Result<(), ConditionError> {
        self.work = self.work.saturating_add(work);
        if self.work > MOST_WORK { Err(ConditionError::Cost) } else { Ok(()) }
    }

    fn made(&mut self, size: u64) -> Result<Bound<'a>, ConditionError> {
        self.spend(size)?;
        if size > LARGEST { Err(ConditionError::Cost) } else { Ok(Bound::UpTo(size)) }
    }

    fn of(&mut self, expr: &IdedExpr) -> Result<Bound<'a>, ConditionError> {
        self.spend(1)?;
        match &expr.expr {
            Expr::Ident(name) => {
                let found = self.scope.iter().rev().find(|(known, _)| known == name);
                Ok(found.map_or(Bound::UpTo(UNIT), |(_, bound)| *bound))
            }
            Expr::Literal(literal) => self.made(match literal {
                LiteralValue::String(value) => text(value.inner()),
                LiteralValue::Bytes(value) => {
                    UNIT.saturating_add(u64::try_from(value.inner().len()).unwrap_or(u64::MAX))
                }
                _ => UNIT,
            }),
            Expr::Select(select) => Ok(match self.of(&select.operand)? {
                _ if select.test => Bound::UpTo(UNIT),
                Bound::Known(value) => value.get(&select.field).map_or(Bound::UpTo(UNIT), Bound::Known),
                bound => Bound::UpTo(bound.size()),
            }),
            Expr::Call(call) => self.call(expr, call),
            Expr::Comprehension(all) => self.comprehension(all),
            Expr::List(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                let parts = self.parts(expr)?;
                self.made(sum(&parts))
            }
        }
    }

    fn parts(&mut self, expr: &IdedExpr) -> Result<Vec<Bound<'a>>, ConditionError> {
        children(expr).into_iter().map(|child| self.of(child)).collect()
    }

    fn call(&mut self, expr: &IdedExpr, call: &CallExpr) -> Result<Bound<'a>, ConditionError> {
        let parts = self.parts(expr)?;
        let all = sum(&parts);
        match call.func_name.as_str() {
            // Neither of these makes a value: they answer with one of their own.
            "_?_:_" | "_||_" | "_&&_" => {
                Ok(Bound::UpTo(parts.iter().map(|part| part.size()).max().unwrap_or(UNIT)))
            }
            "_[_]" | "_?._" | "_[?_]" => Ok(Bound::UpTo(parts.first().map_or(UNIT, |part| part.size()))),
            "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in" | "!_" | "startsWith" | "endsWith"
            | "contains" => {
                self.spend(all)?;
                Ok(Bound::UpTo(UNIT))
            }
            "size" => Ok(Bound::UpTo(UNIT)),
            // A pattern is compiled each time.
            "matches" => {
                self.spend(all.saturating_mul(100).saturating_add(100_000))?;
                Ok(Bound::UpTo(UNIT))
            }
            "_+_" | "_-_" | "_*_" | "_/_" | "_%_" | "-_" => self.made(all),
            // Texts of bytes and numbers are a few times as long as these.
            _ => self.made(all.saturating_mul(8)),
        }
    }

    /// Macros only ever add one element to what they gather, or nothing.
    fn comprehension(&mut self, all: &ComprehensionExpr) -> Result<Bound<'a>, ConditionError> {
        let (count, largest) = self.of(&all.iter_range)?.elements();
        let init = self.of(&all.accu_init)?.size();
        let before = self.scope.len();
        let variables = std::iter::once(&all.iter_var).chain(&all.iter_var2);
        self.scope.extend(variables.map(|name| (name.clone(), Bound::UpTo(largest))));
        // What one round adds, and then what the last round costs, when everything is gathered.
        self.scope.push((all.accu_var.clone(), Bound::UpTo(0)));
        let spent = self.work;
        let added = self.of(&all.loop_step)?.size();
        let gathered = count.saturating_mul(added).saturating_add(init);
        if let Some(last) = self.scope.last_mut() {
            last.1 = Bound::UpTo(gathered);
        }
        self.work = spent;
        self.of(&all.loop_cond)?;
        self.of(&all.loop_step)?;
        let round = self.work.saturating_sub(spent).saturating_add(UNIT);
        self.spend(round.saturating_mul(count))?;
        self.of(&all.result)?;
        self.scope.truncate(before);
        self.made(gathered)?;
        Ok(Bound::List(count, added.saturating_add(init)))
    }
}

fn sum(parts: &[Bound<'_>]) -> u64 {
    parts.iter().map(|part| part.size()).fold(UNIT, u64::saturating_add)
}
