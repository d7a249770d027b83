//! The rules of what runs no pods.

use serde_json::Value;

use crate::{
    Health, Odd, conditions,
    field::{kind, text},
};

pub(crate) fn volume_claim(object: &Value) -> Health {
    match text(object, "status.phase") {
        Some("Bound") => Health::Current,
        phase => {
            let phase = phase.filter(|phase| !phase.is_empty()).unwrap_or("unknown");
            Health::InProgress(format!("{}: it is not bound to a volume (phase {phase})", kind(object)))
        }
    }
}

pub(crate) fn service(object: &Value) -> Health {
    let balanced = text(object, "spec.type") == Some("LoadBalancer");
    if balanced && text(object, "spec.clusterIP").unwrap_or_default().is_empty() {
        return Health::InProgress(format!("{}: its load balancer has no address yet", kind(object)));
    }
    Health::Current
}

pub(crate) fn definition(object: &Value) -> Result<Health, Odd> {
    for condition in conditions::of(object)? {
        let established = condition.kind == "Established";
        if condition.is("NamesAccepted", "False")
            || established && condition.status == "False" && condition.reason != "Installing"
        {
            let told = condition.told("the API server does not accept it");
            return Ok(Health::Failed(format!("{}: {told}", kind(object))));
        }
        if established && condition.status == "True" {
            return Ok(Health::Current);
        }
    }
    Ok(Health::InProgress(format!("{}: it is not served yet", kind(object))))
}

/// What nobody has judged yet is current, as with kstatus: the aggregator says at once when a server does not answer.
pub(crate) fn api_service(object: &Value) -> Result<Health, Odd> {
    for condition in conditions::of(object)? {
        if condition.kind == "Available" && condition.status != "True" {
            let told = condition.told("its server is not available");
            return Ok(Health::InProgress(format!("{}: {told}", kind(object))));
        }
    }
    crate::generic::ready_condition(object)
}
