//! From the SDK's outcome and errors to the bindings'.

use std::time::Duration;

use serde_json::Value;

use super::bindings::{exports::pilothouse::operator::reconciler as wit, pilothouse::operator::types};
use crate::{
    Condition, ConditionStatus, Error, ErrorClass, Event, EventType, Outcome, State, Trigger, Watch,
    WatchTarget,
};

impl From<Outcome> for wit::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            state: outcome.state.into(),
            children: outcome.children,
            status: outcome.status.as_ref().map(Value::to_string),
            conditions: outcome.conditions.into_iter().map(Into::into).collect(),
            drop_conditions: outcome.drop_conditions,
            events: outcome.events.into_iter().map(Into::into).collect(),
            requeue_after_ms: outcome.requeue_after.map(millis),
            watches: outcome.watches.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Error> for wit::Failure {
    fn from(error: Error) -> Self {
        let inner = error.into_inner();
        let error = match inner.class {
            ErrorClass::Retry => types::HookError::Retry(inner.message),
            ErrorClass::RetryAfter(after) => types::HookError::RetryAfter((inner.message, millis(after))),
            ErrorClass::Permanent => types::HookError::Permanent(inner.message),
        };
        Self {
            error,
            reason: inner.reason,
            conditions: inner.conditions.into_iter().map(Into::into).collect(),
            drop_conditions: inner.drop_conditions,
            status: inner.status.as_ref().map(Value::to_string),
            events: inner.events.into_iter().map(Into::into).collect(),
            watches: inner.watches.into_iter().map(Into::into).collect(),
        }
    }
}

/// Whole milliseconds, rounded up: zero would mean at once.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}

impl From<Error> for types::HookError {
    fn from(error: Error) -> Self {
        let inner = error.into_inner();
        match inner.class {
            ErrorClass::Retry => Self::Retry(inner.message),
            ErrorClass::RetryAfter(after) => Self::RetryAfter((inner.message, millis(after))),
            ErrorClass::Permanent => Self::Permanent(inner.message),
        }
    }
}

impl From<State> for wit::State {
    fn from(state: State) -> Self {
        match state {
            State::Ready => Self::Ready,
            State::Progressing { reason, message } => Self::Progressing((reason, message)),
            State::Stalled { reason, message } => Self::Stalled((reason, message)),
            State::Foreign => Self::Foreign,
        }
    }
}

impl From<Condition> for types::Condition {
    fn from(Condition { kind, status, reason, message }: Condition) -> Self {
        let status = match status {
            ConditionStatus::Yes => types::ConditionStatus::Yes,
            ConditionStatus::No => types::ConditionStatus::No,
            ConditionStatus::Unknown => types::ConditionStatus::Unknown,
        };
        Self { kind, status, reason, message }
    }
}

impl From<Event> for types::Event {
    fn from(Event { event_type, reason, message }: Event) -> Self {
        let event_type = match event_type {
            EventType::Normal => types::EventType::Normal,
            EventType::Warning => types::EventType::Warning,
        };
        Self { event_type, reason, message }
    }
}

impl From<Watch> for types::Watch {
    fn from(Watch { target, trigger }: Watch) -> Self {
        let target = match target {
            WatchTarget::Owned(kind) => types::WatchTarget::Owned((&kind).into()),
            WatchTarget::Object(object) => types::WatchTarget::Object((&object).into()),
            WatchTarget::Selected { kind, namespace, label_selector } => {
                types::WatchTarget::Selected(((&kind).into(), namespace, label_selector))
            }
        };
        let trigger = match trigger {
            Trigger::Any => types::Trigger::Any,
            Trigger::Drift => types::Trigger::Drift,
        };
        Self { target, trigger }
    }
}
