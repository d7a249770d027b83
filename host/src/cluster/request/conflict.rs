//! What stands in the way: fields of others in that of an apply, budgets in that of an eviction.

use serde_json::Value;

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// Who owns it.
    pub manager: String,
    /// Where it is: `.spec.replicas`.
    pub field: String,
}

/// What a refused apply names: `conflict with "kubectl-edit" using apps/v1`, and the field.
pub(super) fn all(status: &Value) -> Vec<FieldConflict> {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
    let conflict = |cause: &Value| {
        let text = |name: &str| cause.get(name).and_then(Value::as_str);
        text("reason").filter(|reason| *reason == "FieldManagerConflict")?;
        let (_, quoted) = text("message")?.split_once('"')?;
        let (manager, _) = quoted.split_once('"')?;
        Some(FieldConflict { manager: manager.to_owned(), field: text("field")?.to_owned() })
    };
    causes.filter_map(conflict).collect()
}

/// What the disruption budget that stands in the way of an eviction says.
pub(super) fn of_budget(status: &Value) -> Option<&str> {
    let mut causes = status.pointer("/details/causes")?.as_array()?.iter();
    let of_budget = |cause: &&Value| cause.get("reason").and_then(Value::as_str) == Some("DisruptionBudget");
    Some(causes.find(of_budget)?.get("message").and_then(Value::as_str).unwrap_or_default())
}
