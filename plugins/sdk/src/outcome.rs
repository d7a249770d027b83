//! What a hook asks of the host.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Condition, Error, Event, Gvk, ObjectRef};

/// Where the object stands, in kstatus' terms: becomes `Ready`, `Reconciling` and `Stalled`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// What was asked for is there and healthy.
    Ready,
    /// Under way.
    Progressing {
        /// UpperCamelCase.
        reason: String,
        /// A sentence that names what is waited for.
        message: String,
    },
    /// It will not get further without a change by people.
    Stalled {
        /// UpperCamelCase.
        reason: String,
        /// What has to be changed.
        message: String,
    },
    /// Another operator's: nothing is written on it.
    Foreign,
}

/// Which changes of a watched object matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Any change.
    Any,
    /// Deletion, and changes of anything but `status`.
    Drift,
}

/// Objects whose changes wake the object that is being reconciled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchTarget {
    /// Objects of a kind that were applied with `Mark` or `Reference` for this one.
    Owned(Gvk),
    /// One object, there or not.
    Object(ObjectRef),
    /// Objects of a kind by label selector.
    Selected {
        /// Their kind.
        kind: Gvk,
        /// None: all namespaces.
        namespace: Option<String>,
        /// As in the Kubernetes API; empty selects everything.
        label_selector: String,
    },
}

/// One wish to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Whose changes.
    pub target: WatchTarget,
    /// Which changes.
    pub trigger: Trigger,
}

impl Watch {
    /// Objects of a kind that were applied for this one.
    pub fn owned(kind: Gvk) -> Self {
        Self { target: WatchTarget::Owned(kind), trigger: Trigger::Any }
    }

    /// One object, there or not.
    pub fn object(object: ObjectRef) -> Self {
        Self { target: WatchTarget::Object(object), trigger: Trigger::Any }
    }

    /// Objects of a kind in a namespace (none: all) by label selector.
    pub fn selected<'a>(
        kind: Gvk,
        namespace: impl Into<Option<&'a str>>,
        label_selector: impl Into<String>,
    ) -> Self {
        let namespace = namespace.into().map(str::to_owned);
        Self {
            target: WatchTarget::Selected { kind, namespace, label_selector: label_selector.into() },
            trigger: Trigger::Any,
        }
    }

    /// Leaves out changes of `status`.
    #[must_use]
    pub fn drift_only(mut self) -> Self {
        self.trigger = Trigger::Drift;
        self
    }
}

/// What a call asks of the host, put together step by step.
///
/// A value that cannot be serialised does not interrupt the chain: the call then fails as a whole, permanently, with
/// reason `InvalidData`, and nothing of the outcome takes effect.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Outcome {
    pub(crate) state: State,
    pub(crate) children: Option<Vec<String>>,
    pub(crate) status: Option<Value>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) drop_conditions: Vec<String>,
    pub(crate) events: Vec<Event>,
    pub(crate) requeue_after: Option<Duration>,
    pub(crate) watches: Vec<Watch>,
    broken: Option<Error>,
}

impl Outcome {
    /// What was asked for is there and healthy.
    pub fn ready() -> Self {
        Self::new(State::Ready)
    }

    /// Under way: `message` names what is waited for.
    pub fn progressing(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(State::Progressing { reason: reason.into(), message: message.into() })
    }

    /// It will not get further without a change by people: `message` says which.
    pub fn stalled(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(State::Stalled { reason: reason.into(), message: message.into() })
    }

    /// The object is another operator's: nothing is written on it, whatever else the outcome says of its status.
    pub fn foreign() -> Self {
        Self::new(State::Foreign)
    }

    /// An outcome that stands at `state`.
    pub fn new(state: State) -> Self {
        Self {
            state,
            children: None,
            status: None,
            conditions: Vec::new(),
            drop_conditions: Vec::new(),
            events: Vec::new(),
            requeue_after: None,
            watches: Vec::new(),
            broken: None,
        }
    }

    /// Adds one object to the *complete* set of desired children. The host applies them server-side under the
    /// plugin's field manager, ties them to the object, and deletes what a former outcome had and this one has not.
    /// `apiVersion`, `kind` and `metadata.name` must be there; a child of a namespaced kind without a namespace gets the
    /// object's.
    pub fn child(mut self, child: &impl Serialize) -> Self {
        match child_object(child) {
            Ok(child) => self.children.get_or_insert_default().push(child),
            Err(error) => self.broken = self.broken.or(Some(error)),
        }
        self
    }

    /// Adds several children; with none at all, the set is empty and everything former outcomes had is deleted
    /// (an outcome without `child` and `children` leaves former children alone).
    pub fn children<C: Serialize>(mut self, children: impl IntoIterator<Item = C>) -> Self {
        self.children.get_or_insert_default();
        children.into_iter().fold(self, |outcome, child| outcome.child(&child))
    }

    /// A JSON merge patch (RFC 7386) for `status`: what is `null` in it is removed, what is not in it stays. So a
    /// field that may vanish must be written as `null`, not skipped. `conditions` in it are left out: they are set
    /// by [`condition`](Self::condition).
    pub fn status(mut self, status: &impl Serialize) -> Self {
        match status_patch(status) {
            Ok(patch) => self.status = Some(patch),
            Err(error) => self.broken = self.broken.or(Some(error)),
        }
        self
    }

    /// Sets a condition; others stay. `Ready`, `Reconciling` and `Stalled` are the host's, from the state.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Removes a condition.
    pub fn drop_condition(mut self, kind: impl Into<String>) -> Self {
        self.drop_conditions.push(kind.into());
        self
    }

    /// Publishes an event about the object, after status was written.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Calls again after this time even if nothing moves. Whole milliseconds.
    pub fn requeue_after(mut self, after: Duration) -> Self {
        self.requeue_after = Some(after);
        self
    }

    /// The same, unless it is to be called sooner anyway.
    pub fn requeue_within(mut self, after: Duration) -> Self {
        self.requeue_after = Some(self.requeue_after.map_or(after, |known| known.min(after)));
        self
    }

    /// Asks to be called when another object moves. The watches of an outcome replace those of the one before. Children
    /// are watched for drift anyway; ask with [`Watch::owned`] to be called for their status too.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// The finished outcome, or why it could not be built.
    pub(crate) fn finish(self) -> Result<Self, Error> {
        match self.broken {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

/// What a call for an object that is being deleted ended with.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Finalized {
    /// Everything is cleaned up: the host removes the finalizer.
    Done,
    /// Not yet: as for reconcile, call again when something moves.
    Waiting(Box<Outcome>),
}

impl Finalized {
    /// Not yet: `outcome` says what is waited for.
    pub fn waiting(outcome: Outcome) -> Self {
        Self::Waiting(Box::new(outcome))
    }
}

/// What every applied object must say of itself; the rest is skipped over, not built.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "apiVersion", borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    metadata: HeadMetadata<'a>,
}

#[derive(Deserialize, Default)]
struct HeadMetadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

/// A child as JSON text, if it says what it is.
fn child_object(child: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string(child).map_err(|error| Error::from(error).context("a child"))?;
    let head: Head<'_> =
        serde_json::from_str(&text).map_err(|error| Error::from(error).context("a child"))?;
    let name = &head.metadata.name;
    for (field, value) in [("apiVersion", &head.api_version), ("kind", &head.kind), ("metadata.name", name)] {
        if value.is_empty() {
            let message = format!("a child (kind {:?}, name {name:?}) has no {field}", head.kind);
            return Err(Error::permanent("InvalidData", message));
        }
    }
    Ok(text)
}

/// A status as merge patch, without `conditions`.
pub(crate) fn status_patch(status: &impl Serialize) -> Result<Value, Error> {
    let mut value = serde_json::to_value(status).map_err(|error| Error::from(error).context("the status"))?;
    let Some(fields) = value.as_object_mut() else {
        return Err(Error::permanent("InvalidData", "the status is not a JSON object"));
    };
    fields.shift_remove("conditions");
    Ok(value)
}
