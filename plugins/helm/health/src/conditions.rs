//! `status.conditions`, read as strictly as kstatus reads them.

use serde_json::Value;

use crate::{Odd, field};

/// One condition. Fields that are not there are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

impl Condition<'_> {
    pub(crate) fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }

    /// What the condition says, for the end of a sentence.
    pub(crate) fn told(&self, otherwise: &str) -> String {
        match (self.reason, self.message) {
            ("", "") => otherwise.to_owned(),
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{message} ({reason})"),
        }
    }
}

pub(crate) fn of(object: &Value) -> Result<Vec<Condition<'_>>, Odd> {
    let status = match object.get("status") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(status)) => status,
        Some(_) => return Err(Odd),
    };
    match status.get("conditions") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(condition).collect(),
        Some(_) => Err(Odd),
    }
}

fn condition(value: &Value) -> Result<Condition<'_>, Odd> {
    let text = |name| match field::at(value, name)? {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(Odd),
    };
    Ok(Condition {
        kind: text("type")?,
        status: text("status")?,
        reason: text("reason")?,
        message: text("message")?,
    })
}
