//! What can be wrong with a condition.

use cel::{
    ExecutionError, ParseErrors, Program,
    common::ast::{Expr, IdedExpr},
};
use thiserror::Error;

use crate::cost;

/// Why there is no answer. Values of objects are never told: they may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// The expression is too long.
    #[error("the expression is {length} bytes long, {most} are the most")]
    Length {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// The expression is nested too deeply.
    #[error("the expression is nested deeper than {most} levels")]
    Depth {
        /// How deep it may be.
        most: usize,
    },
    /// It is no CEL.
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Evaluating it could take more than is granted.
    #[error("the expression could take too much time or memory with these objects")]
    Cost,
    /// It cannot be evaluated.
    #[error("{place}{problem}")]
    Evaluation {
        /// `line 1, column 5: `, or nothing where it is not known.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// It answers something else than yes or no.
    #[error("the expression must be true or false, it is of type {found}")]
    NotBoolean {
        /// The type of the answer.
        found: String,
    },
    /// One of several expressions is wrong.
    #[error("{name}: {error}")]
    Named {
        /// `current`, `inProgress` or `failed`.
        name: &'static str,
        /// What is wrong with it.
        error: Box<Self>,
    },
}

impl ConditionError {
    pub(crate) fn of(self, name: &'static str) -> Self {
        Self::Named { name, error: Box::new(self) }
    }
}

pub(crate) fn syntax(errors: &ParseErrors) -> ConditionError {
    let Some(first) = errors.errors.first() else {
        return ConditionError::Syntax { line: 1, column: 1, problem: "no expression".to_owned() };
    };
    let number = |number: isize| usize::try_from(number).unwrap_or(1).max(1);
    let problem = first.msg.chars().take(300).collect();
    ConditionError::Syntax { line: number(first.pos.0), column: number(first.pos.1), problem }
}

/// The words for a failure, and where the expression speaks of what failed.
pub(crate) fn evaluation(failure: &ExecutionError, program: &Program, text: &str) -> ConditionError {
    let (named, problem) = match failure {
        ExecutionError::NoSuchKey(key) => (Some(key.as_str()), format!("no such key: {key}")),
        ExecutionError::UndeclaredReference(name) => {
            (Some(name.as_str()), format!("undeclared reference to {name:?}"))
        }
        ExecutionError::NoSuchOverload(overload) => (Some(overload.function()), overload.to_string()),
        ExecutionError::FunctionError { function, .. } => {
            (Some(function.as_str()), format!("{function} failed"))
        }
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            (None, format!("a function takes {expected} arguments, not {actual}"))
        }
        ExecutionError::UnexpectedType { got, want } => {
            (None, format!("unexpected type: got {got}, want {want}"))
        }
        ExecutionError::IndexOutOfBounds(_) => (None, "an index is out of bounds".to_owned()),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            (None, "division by zero".to_owned())
        }
        ExecutionError::Overflow(..) => (None, "a number is too large".to_owned()),
        _ => (None, "values are not of the types that their operator or function takes".to_owned()),
    };
    let at = named.and_then(|name| find(program.expression(), name));
    let start = at.and_then(|id| program.source_info().offset_for(id)).map(|(start, _)| start);
    let place = start.map(|start| place(text, start)).unwrap_or_default();
    ConditionError::Evaluation { place, problem }
}

fn find(expr: &IdedExpr, name: &str) -> Option<u64> {
    let here = match &expr.expr {
        Expr::Ident(ident) => ident == name,
        Expr::Select(select) => select.field == name,
        Expr::Call(call) => call.func_name == name,
        _ => false,
    };
    let below = || cost::children(expr).into_iter().find_map(|child| find(child, name));
    if here { below().or(Some(expr.id)) } else { below() }
}

fn place(text: &str, start: u32) -> String {
    let before: String = text.chars().take(usize::try_from(start).unwrap_or(0)).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: ")
}
