//! The rules for every kind: deletion, generations, and the conditions `Reconciling`, `Stalled` and `Ready`.

use serde_json::Value;

use crate::{Health, Odd, conditions, field};

/// What can be said without knowing the kind, before the rules of the kind.
pub(crate) fn judge(object: &Value) -> Result<Option<Health>, Odd> {
    if let Some(deletion) = field::at(object, "metadata.deletionTimestamp")?
        && !deletion.as_str().ok_or(Odd)?.is_empty()
    {
        return Ok(Some(Health::Terminating));
    }
    if let Some(behind) = behind(object)? {
        return Ok(Some(behind));
    }
    let kind = field::kind(object);
    for condition in conditions::of(object)? {
        if condition.is("Reconciling", "True") {
            return Ok(Some(Health::InProgress(format!(
                "{kind}: {}",
                condition.told("its controller is at work")
            ))));
        }
        if condition.is("Stalled", "True") {
            return Ok(Some(Health::Failed(format!(
                "{kind}: {}",
                condition.told("its controller cannot go on")
            ))));
        }
    }
    Ok(None)
}

fn behind(object: &Value) -> Result<Option<Health>, Odd> {
    let Some(generation) = field::strict_integer(object, "metadata.generation")? else { return Ok(None) };
    let Some(observed) = field::strict_integer(object, "status.observedGeneration")? else { return Ok(None) };
    Ok((observed != generation).then(|| {
        let kind = field::kind(object);
        Health::InProgress(format!("{kind}: its controller has seen generation {observed} of {generation}"))
    }))
}

/// Kinds without rules of their own are as ready as they say, and current when they say nothing.
pub(crate) fn ready_condition(object: &Value) -> Result<Health, Odd> {
    for condition in conditions::of(object)?.iter().filter(|condition| condition.kind == "Ready") {
        match condition.status {
            "True" => return Ok(Health::Current),
            "False" | "Unknown" => {
                let told = condition.told("it is not ready");
                return Ok(Health::InProgress(format!("{}: {told}", field::kind(object))));
            }
            _ => {}
        }
    }
    Ok(Health::Current)
}
