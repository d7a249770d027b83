//! Changes and those who take part in them: what a reconciler announces, and hooks that do their part before and after it.

use std::time::{Duration, SystemTime};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Context, Error, ObjectRef, Watch};

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was carried out.
    Succeeded,
    /// It was not, or not whole.
    Failed,
    /// It will not come to an end: the object is gone, or another change has taken its place. Only the host says so.
    Abandoned,
}

/// What is about to be done to the object at hand, or was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// `pre-` or `post-`, and what is done.
    pub phase: String,
    /// Names the change, the same before and after it.
    pub change: String,
    /// Of a rollback: the change that is undone.
    pub undoes: Option<String>,
    /// After the change.
    pub ending: Option<Ending>,
    /// For others to know.
    pub details: Value,
}

impl Announcement {
    /// Something is about to be done: `before("upgrade", "v2-1a2b")`. A name is given to one change of an object and to no other ever.
    pub fn before(what: &str, change: impl Into<String>) -> Self {
        let (phase, details) = (format!("pre-{what}"), Value::Object(serde_json::Map::new()));
        Self { phase, change: change.into(), undoes: None, ending: None, details }
    }

    /// Something was done, or failed.
    pub fn after(what: &str, change: impl Into<String>, ending: Ending) -> Self {
        let phase = format!("post-{what}");
        Self { phase, ending: Some(ending), ..Self::before(what, change) }
    }

    /// Of a rollback: the change that is undone.
    #[must_use]
    pub fn undoing(self, change: Option<String>) -> Self {
        Self { undoes: change, ..self }
    }

    /// What others may want to know of it: an object without secrets.
    #[must_use]
    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }
}

/// What a hook made or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artefact {
    /// Within its hook.
    pub name: String,
    /// What it is, such as `Backup`.
    pub kind: String,
    /// Where it is.
    pub uri: String,
    /// Lower-case hex.
    pub sha256: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// The object that describes it.
    pub object: Option<ObjectRef>,
    /// What its maker has to know of it when a change is undone. No secrets.
    pub details: Option<Value>,
}

/// How an announcement stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every hook has done its part, or there is none: what they made.
    Done(Vec<Artefact>),
    /// Not yet: what is waited for. The object is called when it moves.
    Pending(String),
    /// A hook failed that must not: the change is not to be begun.
    Failed {
        /// UpperCamelCase.
        reason: String,
        /// What failed, and what a person can do.
        message: String,
    },
}

/// Why an announcement has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnnounceError {
    /// The grants do not have the phase.
    #[error("{0}")]
    Denied(String),
    /// The announcement breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// What was to be done must wait.
    #[error("{0}")]
    Unavailable(String),
    /// A budget of the call is used up.
    #[error("{0}")]
    Exhausted(String),
}

/// Grants and definitions come without anybody touching the object.
impl From<AnnounceError> for Error {
    fn from(error: AnnounceError) -> Self {
        let message = error.to_string();
        match error {
            AnnounceError::Denied(_) => Self::retry("AnnouncementDenied", message),
            AnnounceError::Invalid(_) => Self::permanent("InvalidAnnouncement", message),
            AnnounceError::Unavailable(_) => Self::retry("LifecycleUnavailable", message),
            AnnounceError::Exhausted(_) => Self::retry("Exhausted", message),
        }
    }
}

/// What the harness answers in place of a component's imports.
#[cfg(not(target_family = "wasm"))]
pub trait AnnouncerOfTests: std::fmt::Debug {
    /// [`Context::announce`].
    ///
    /// # Errors
    /// [`AnnounceError`].
    fn announce(&self, announcement: &Announcement) -> Result<Standing, AnnounceError>;

    /// [`Context::withdraw`].
    ///
    /// # Errors
    /// [`AnnounceError`].
    fn withdraw(&self) -> Result<(), AnnounceError>;

    /// [`Context::takes_part`].
    fn takes_part(&self, phase: &str, kind: &crate::Gvk) -> bool;
}

/// The object that something is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Which.
    pub object: ObjectRef,
    /// Its uid.
    pub uid: String,
    /// Its labels when it was announced.
    pub labels: Vec<(String, String)>,
}

/// An artefact and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The plugin.
    pub plugin: String,
    /// Its hook.
    pub hook: String,
    /// What it made.
    pub artefact: Artefact,
}

/// What was announced.
#[derive(Debug, Clone, PartialEq)]
pub struct Announced {
    /// The `LifecycleRun`.
    pub run: ObjectRef,
    /// The object that something is done to.
    pub subject: Subject,
    /// `pre-` or `post-`, and what is done.
    pub phase: String,
    /// Names the change.
    pub change: String,
    /// Of a rollback: the change that is undone.
    pub undoes: Option<String>,
    /// After the change.
    pub ending: Option<Ending>,
    /// What the announcer tells.
    pub details: Value,
    /// When.
    pub announced_at: SystemTime,
    /// Of a `post-` phase, what was made before the change; of a rollback, what was made before the change that it undoes.
    pub artefacts: Vec<Earlier>,
}

/// One thing to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedHook {
    /// Unique for the announcement; at most 63 letters, digits and `-._`.
    pub name: String,
    /// Lighter ones first.
    pub weight: i32,
    /// For all attempts together.
    pub timeout: Duration,
    /// After a failure, this often again.
    pub retries: u32,
    /// A failure does not keep the change from being begun.
    pub ignore_failure: bool,
    /// It begins when a person says so.
    pub approval: bool,
    /// Once it has begun before a change, a hook of its name is run after it, whatever happens.
    pub ensure_post: bool,
    /// Given back with every call for it. No secrets.
    pub parameters: Value,
}

impl PlannedHook {
    /// A hook that has half an hour, is tried once again, and must not fail.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            weight: 0,
            timeout: Duration::from_mins(30),
            retries: 1,
            ignore_failure: false,
            approval: false,
            ensure_post: false,
            parameters: Value::Object(serde_json::Map::new()),
        }
    }
}

/// A hook at work.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What was announced.
    pub announced: Announced,
    /// Which hook.
    pub name: String,
    /// As the plan had them.
    pub parameters: Value,
    /// From 1.
    pub attempt: u32,
    /// What the last call left.
    pub record: Option<Value>,
}

impl Task {
    /// The parameters as a type.
    ///
    /// # Errors
    /// Permanent, reason `InvalidData`, when they do not have its shape.
    pub fn parameters<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(T::deserialize(&self.parameters)?)
    }
}

/// How far a hook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookProgress {
    /// It has done its part, and made this.
    Done(Vec<Artefact>),
    /// What is waited for.
    Pending(String),
    /// This attempt failed.
    Failed {
        /// UpperCamelCase.
        reason: String,
        /// A sentence.
        message: String,
    },
    /// The same, and no other attempt will do better.
    Refused {
        /// UpperCamelCase.
        reason: String,
        /// A sentence.
        message: String,
    },
}

/// How a hook stands, put together step by step.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct HookStep {
    pub(crate) progress: HookProgress,
    pub(crate) record: Option<Value>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) requeue_after: Option<Duration>,
}

impl HookStep {
    /// It has done its part.
    pub fn done(artefacts: Vec<Artefact>) -> Self {
        Self::new(HookProgress::Done(artefacts))
    }

    /// It is called again when what it watches moves, or after a time.
    pub fn pending(message: impl Into<String>) -> Self {
        Self::new(HookProgress::Pending(message.into()))
    }

    /// This attempt failed.
    pub fn failed(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(HookProgress::Failed { reason: reason.into(), message: message.into() })
    }

    /// It failed, and no other attempt will do better.
    pub fn refused(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(HookProgress::Refused { reason: reason.into(), message: message.into() })
    }

    fn new(progress: HookProgress) -> Self {
        Self { progress, record: None, watches: Vec::new(), requeue_after: None }
    }

    /// Kept for the next call. No secrets.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn record(mut self, record: &impl Serialize) -> Result<Self, Error> {
        self.record = Some(serde_json::to_value(record)?);
        Ok(self)
    }

    /// Asks to be called when another object moves.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watches.push(watch);
        self
    }

    /// Calls again after this time.
    pub fn requeue_after(mut self, after: Duration) -> Self {
        self.requeue_after = Some(after);
        self
    }

    /// How far it is.
    pub fn progress(&self) -> &HookProgress {
        &self.progress
    }

    /// What it leaves for the next call.
    pub fn recorded(&self) -> Option<&Value> {
        self.record.as_ref()
    }
}

/// Takes part in what others do. A `LifecycleRun` is the object at hand.
pub trait LifecycleHook: 'static {
    /// What is to be done for an announcement. Does nothing.
    ///
    /// # Errors
    /// Asked again until it passes: what was announced waits.
    fn plan(&self, ctx: &Context, announced: &Announced) -> Result<Vec<PlannedHook>, Error>;

    /// Does it, or looks how far it is. Level-triggered: called again for the same task after a crash of anybody.
    ///
    /// # Errors
    /// Nothing is known yet: called again, within the hook's time. A permanent one is a failure of the hook.
    fn run(&self, ctx: &Context, task: &Task) -> Result<HookStep, Error>;

    /// Ends it before its time, and takes away what is half done.
    ///
    /// # Errors
    /// Called again until it passes; a permanent one leaves it as it is.
    fn cancel(&self, ctx: &Context, task: &Task) -> Result<(), Error>;
}
