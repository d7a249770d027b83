//! A report as the host wants it.

use etcd_core::{
    decision::{ConditionChange, EventNote, Report, Standing},
    spec::Plan,
};
use pilothouse_sdk::{Condition, Context, Event, Gvk, ObjectRef, Outcome, State, Watch, merge_difference};
use serde_json::{Map, Value};

use crate::{object::ClusterObject, restore};

/// The report as outcome of a call. Events are not in it: they are told with the record.
pub(crate) fn outcome(object: &ClusterObject, report: &Report) -> Outcome {
    let mut outcome = Outcome::new(state(&report.standing)).children(&report.children);
    let after = serde_json::to_value(&report.status).unwrap_or_default();
    if let Some(patch) = merge_difference(&without_conditions(&object.status), &without_conditions(&after)) {
        outcome = outcome.status(&patch);
    }
    for change in &report.conditions {
        outcome = outcome.condition(condition(change));
    }
    for kind in &report.dropped {
        outcome = outcome.drop_condition(*kind);
    }
    watched(object, outcome)
}

/// Asks to be called when something of the cluster moves. Services and the budget are children and watched as such.
pub(crate) fn watched(object: &ClusterObject, outcome: Outcome) -> Outcome {
    let selector = etcd_core::manifest::selector(&object.metadata.name);
    let namespace = object.metadata.namespace.as_str();
    let outcome = ["Pod", "PersistentVolumeClaim"].into_iter().fold(outcome, |outcome, kind| {
        outcome.watch(Watch::selected(Gvk::new("", "v1", kind), namespace, selector.as_str()))
    });
    let restore = restore::reference(namespace, &object.metadata.name);
    let outcome = outcome.watch(Watch::object(restore));
    let tls = Plan::of(&object.cluster()).map(|plan| plan.tls).unwrap_or_default();
    tls.secrets.into_values().fold(outcome, |outcome, name| {
        outcome.watch(Watch::object(ObjectRef::new(Gvk::new("", "v1", "Secret"), namespace, name)))
    })
}

/// Conditions are set one by one, beside those of the host.
fn without_conditions(status: &Value) -> Value {
    let fields = status.as_object().into_iter().flatten().filter(|(field, _)| *field != "conditions");
    Value::Object(fields.map(|(field, value)| (field.clone(), value.clone())).collect::<Map<_, _>>())
}

fn state(standing: &Standing) -> State {
    match standing {
        Standing::Ready => State::Ready,
        Standing::Progressing { reason, message } => {
            State::Progressing { reason: (*reason).to_owned(), message: message.clone() }
        }
        Standing::Stalled { reason, message } => {
            State::Stalled { reason: (*reason).to_owned(), message: message.clone() }
        }
    }
}

fn condition(change: &ConditionChange) -> Condition {
    Condition::new(change.kind, change.status).reason(change.reason).message(change.message.clone())
}

/// Tells events, at once: they belong to the record that was just written.
pub(crate) fn publish(ctx: &Context, events: &[EventNote]) {
    events.iter().for_each(|note| ctx.publish(&event(note)));
}

/// An event, word for word and blank for blank: scripts compare them.
fn event(note: &EventNote) -> Event {
    let event = if note.warning { Event::warning } else { Event::normal };
    event(note.reason, note.message.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_the_blank_that_the_old_operators_sentence_ends_with() {
        let message = "Member example-a upgraded from 3.5.35 to 3.6.16 ".to_owned();
        let note = EventNote { warning: false, reason: "Member Upgraded", message: message.clone() };
        assert_eq!(event(&note).message, message);
    }
}
