//! Conditions in CEL, as Flux has them: whether a dependency is ready (`readyExpr`, with the variables `dep` and `self`), and
//! how a custom object stands (`current`, `inProgress` and `failed`, with the object's own fields as variables). Pure.
//!
//! An expression of a stranger cannot cost more than is granted: its length and nesting are bounded, and before it is
//! evaluated the most that it can take with the objects at hand is estimated, and refused if that is too much.

mod cost;
mod error;
mod value;

use cel::{Context, Program};
use helm_health::Health;
use serde_json::Value;

pub use crate::error::ConditionError;

/// How long an expression may be, in bytes.
const LONGEST: usize = 4096;

/// Says whether a dependency is ready: `dep` is the dependency, `self` the object that depends on it.
///
/// # Errors
///
/// See [`Condition::compile`] and [`Condition::holds`].
pub fn ready(expr: &str, dep: &Value, own: &Value) -> Result<bool, ConditionError> {
    Condition::compile(expr)?.holds(&[("dep", dep), ("self", own)])
}

/// An expression that answers yes or no.
#[derive(Debug)]
pub struct Condition {
    text: String,
    program: Program,
}

impl Condition {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// [`ConditionError::Length`] and [`ConditionError::Depth`] for what is too much to be read,
    /// [`ConditionError::Syntax`] with line and column for what is no CEL.
    pub fn compile(expr: &str) -> Result<Self, ConditionError> {
        if expr.len() > LONGEST {
            return Err(ConditionError::Length { length: expr.len(), most: LONGEST });
        }
        let program = Program::compile(expr).map_err(|errors| error::syntax(&errors))?;
        cost::check_depth(program.expression())?;
        Ok(Self { text: expr.to_owned(), program })
    }

    /// Evaluates it with variables. Whole numbers of the objects are `int`s.
    ///
    /// # Errors
    ///
    /// [`ConditionError::Cost`] for what could take too long or too much memory with these objects,
    /// [`ConditionError::Evaluation`] for what fails, such as a field that is not there, and
    /// [`ConditionError::NotBoolean`] for an answer that is neither yes nor no.
    pub fn holds(&self, variables: &[(&str, &Value)]) -> Result<bool, ConditionError> {
        cost::check(self.program.expression(), variables)?;
        let mut context = Context::default();
        let references = self.program.references();
        for (name, object) in variables.iter().filter(|(name, _)| references.has_variable(name)) {
            context.add_variable_from_value(*name, value::to_cel(object));
        }
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(ConditionError::NotBoolean { found: other.type_of().to_string() }),
            Err(failure) => Err(error::evaluation(&failure, &self.program, &self.text)),
        }
    }
}

/// How to judge objects of a kind that has rules of its own, as an entry of Flux's `healthCheckExprs` does.
#[derive(Debug)]
pub struct HealthCheck {
    current: Condition,
    in_progress: Option<Condition>,
    failed: Option<Condition>,
}

impl HealthCheck {
    /// Parses the expressions; only `current` must be there.
    ///
    /// # Errors
    ///
    /// Those of [`Condition::compile`], with the name of the expression.
    pub fn compile(
        current: &str,
        in_progress: Option<&str>,
        failed: Option<&str>,
    ) -> Result<Self, ConditionError> {
        let named = |name, expr: &str| Condition::compile(expr).map_err(|error| error.of(name));
        Ok(Self {
            current: named("current", current)?,
            in_progress: in_progress.map(|expr| named("inProgress", expr)).transpose()?,
            failed: failed.map(|expr| named("failed", expr)).transpose()?,
        })
    }

    /// Judges an object. The first expression that holds decides, in the order `inProgress`, `failed`, `current`; if none does, the
    /// object is in progress. Its fields are variables; `metadata`, `spec`, `status` and `data` are empty when they are
    /// missing, so that `has(status.phase)` can be asked of an object that has no status yet.
    ///
    /// # Errors
    ///
    /// Those of [`Condition::holds`], with the name of the expression.
    pub fn judge(&self, object: &Value) -> Result<Health, ConditionError> {
        if object.pointer("/metadata/deletionTimestamp").and_then(Value::as_str).is_some() {
            return Ok(Health::Terminating);
        }
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or("Object");
        let variables = fields(object);
        let holds = |name, condition: &Condition| condition.holds(&variables).map_err(|error| error.of(name));
        if let Some(condition) = &self.in_progress
            && holds("inProgress", condition)?
        {
            return Ok(Health::InProgress(format!("{kind}: it is in progress by its check")));
        }
        if let Some(condition) = &self.failed
            && holds("failed", condition)?
        {
            return Ok(Health::Failed(format!("{kind}: it has failed by its check")));
        }
        if holds("current", &self.current)? {
            return Ok(Health::Current);
        }
        Ok(Health::InProgress(format!("{kind}: it is not current by its check")))
    }
}

fn fields(object: &Value) -> Vec<(&str, &Value)> {
    static EMPTY: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| Value::Object(serde_json::Map::new()));
    let own = object.as_object().into_iter().flatten();
    let mut variables: Vec<(&str, &Value)> = own.map(|(name, value)| (name.as_str(), value)).collect();
    for name in ["metadata", "spec", "status", "data"] {
        if object.get(name).is_none() {
            variables.push((name, &EMPTY));
        }
    }
    variables
}
