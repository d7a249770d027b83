//! What became of plugins, told in the log and as events about the host's own pod.

use std::sync::Arc;

use crate::cli::run::RunArgs;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::{Event, EventType};
use crate::plugin::registry::Change;
use crate::status::events::{Recorder, Regarding};

/// The host's own pod, where it runs in one: what events about plugins are about.
pub(super) fn own_pod(args: &RunArgs) -> Option<Regarding> {
    let pod = Arc::new(Gvk::new("", "v1", "Pod"));
    let key = ObjectKey::new(pod, Some(args.pod_namespace.as_deref()?), args.pod_name.as_deref()?);
    Some(Regarding { key, uid: Arc::from("") })
}

/// Loud on purpose: a plugin that does not come up must not be a riddle.
pub(super) fn announce(change: &Change, events: Option<&(Regarding, Recorder)>) {
    if let (Some((pod, recorder)), Some(event)) = (events, event_of(change)) {
        recorder.publish(pod, event);
    }
    match change {
        Change::Activated { revision, before: None } => {
            tracing::info!(plugin = %revision.identity, "plugin at work");
        }
        Change::Activated { revision, before: Some(before) } => {
            tracing::info!(plugin = %revision.identity, before = before.short(), "plugin swapped; calls under way end on the old code");
        }
        Change::Refused { origin, name, reason, message } => {
            let name = name.as_deref().unwrap_or("unknown");
            tracing::error!(
                file = origin,
                plugin = name,
                reason,
                message,
                "plugin refused; what was at work goes on"
            );
        }
        Change::Retired(identity) => {
            tracing::warn!(plugin = %identity, "plugin gone; its objects are left as they are");
        }
    }
}

fn event_of(change: &Change) -> Option<Event> {
    let event = |event_type, reason: &str, message| Event { event_type, reason: reason.to_owned(), message };
    Some(match change {
        Change::Activated { revision, .. } => {
            event(EventType::Normal, "PluginActivated", format!("plugin {} is at work", revision.identity))
        }
        Change::Refused { origin, reason, message, .. } => {
            event(EventType::Warning, "PluginRefused", format!("{origin}: {reason}: {message}"))
        }
        Change::Retired(identity) => {
            event(EventType::Warning, "PluginRetired", format!("plugin {identity} is gone"))
        }
    })
}
