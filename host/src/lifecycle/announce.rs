//! What an announcer is told: its announcement becomes a run, and a run becomes an answer.

use std::collections::BTreeMap;

use serde_json::Value;

use super::listeners::Listeners;
use super::run::{ABANDONED, Artefact, Ending, Run, RunState, SPOKEN, Spec, Subject, WITHDRAWN};
use super::store::{Store, StoreError};
use crate::object::{Gvk, Owner};

/// What a plugin announces.
#[derive(Clone, Debug)]
pub struct Announcement {
    /// `pre-` or `post-`, and what is done.
    pub phase: String,
    /// Names the change.
    pub change: String,
    /// Of a rollback.
    pub undoes: Option<String>,
    /// Of `post-` phases.
    pub ending: Option<Ending>,
    /// An object.
    pub details: Value,
}

/// How it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Every hook has done its part.
    Done(Vec<Artefact>),
    /// A sentence that names what is waited for.
    Pending(String),
    /// A word and a sentence.
    Failed(String, String),
}

/// Turns announcements into runs.
#[derive(Debug)]
pub struct Announcer {
    /// Whom phases concern.
    pub listeners: Listeners,
    /// Where runs are.
    pub store: Store,
}

impl Announcer {
    /// Announces a phase of a change of an object on behalf of a plugin, or looks how it stands. Where nobody takes part, nothing is written
    /// and nothing asked.
    ///
    /// # Errors
    /// [`StoreError`]: nothing is known, and what was to be done must wait.
    pub async fn announce(
        &self,
        plugin: &str,
        owner: &Owner,
        announcement: &Announcement,
    ) -> Result<Standing, StoreError> {
        let mut spec = spec_of(plugin, owner, announcement);
        if !self.concerns_anybody(&spec).await? {
            return self.makes_way(&spec).await;
        }
        let key = self.store.key(&spec);
        if let Some(run) = self.store.get(&key).await? {
            return self.standing(&run).await;
        }
        match self.store.subject_labels(&owner.key, &owner.uid).await? {
            Some(labels) => spec.subject.labels = labels,
            None => return Ok(Standing::Pending(format!("{} is not there any more", owner.key))),
        }
        if spec.is_before() {
            self.supersede_others(&spec, &spec.change).await?;
        }
        match self.store.create(&spec).await {
            Ok(()) => {}
            // Nothing can be made in it any more, by nobody; what is in it goes in any case.
            Err(error) if error.is_of_a_dying_namespace() => {
                tracing::warn!(subject = %owner.key, spec.phase, "not announced: the namespace is being deleted");
                return Ok(Standing::Done(Vec::new()));
            }
            Err(error) => return Err(error),
        }
        Ok(Standing::Pending(format!("LifecycleRun {}: plugins are asked what is to be done", key.name)))
    }

    /// Whether somebody takes part in any change of a kind.
    pub fn is_of_concern(&self, kind: &Gvk) -> bool {
        self.listeners.has_any(kind)
    }

    /// No change of an object is wanted that was announced and has not begun: what was begun for it is taken back.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn withdraw(&self, plugin: &str, owner: &Owner) -> Result<(), StoreError> {
        if !self.is_of_concern(&owner.key.gvk) {
            return Ok(());
        }
        let nothing = Announcement {
            phase: String::new(),
            change: String::new(),
            undoes: None,
            ending: None,
            details: Value::Null,
        };
        self.supersede_others(&spec_of(plugin, owner, &nothing), WITHDRAWN).await.map(drop)
    }

    /// Nobody takes part in what is about to be done; those who do in the change before may still be at work.
    async fn makes_way(&self, spec: &Spec) -> Result<Standing, StoreError> {
        if !spec.is_before() {
            return Ok(Standing::Done(Vec::new()));
        }
        let runs = self.supersede_others(spec, &spec.change).await?;
        Ok(match in_the_way(&runs, &spec.change).first() {
            Some(run) => Standing::Pending(format!(
                "LifecycleRun {} of another change is brought to its end first: {}",
                run.key.name, run.status.message
            )),
            None => Standing::Done(Vec::new()),
        })
    }

    /// Whether somebody takes part in the phase, or took part before the change: then its end is written down in any case.
    async fn concerns_anybody(&self, spec: &Spec) -> Result<bool, StoreError> {
        let kind = spec.subject.gvk();
        if !self.listeners.of(&spec.phase, &kind).is_empty() {
            return Ok(true);
        }
        let Some(before) = spec.counterpart().filter(|_| !spec.is_before()) else { return Ok(false) };
        if self.listeners.of(&before, &kind).is_empty() {
            return Ok(false);
        }
        let before = Spec { phase: before, ..spec.clone() };
        Ok(self.store.get(&self.store.key(&before)).await?.is_some())
    }

    /// A subject has one change at a time: those that were announced before and have not come to an end make way, and so does what
    /// failed, which nobody is to have tried again beside it. All runs of the subject.
    async fn supersede_others(&self, spec: &Spec, by: &str) -> Result<Vec<Run>, StoreError> {
        let runs = self.store.of_subject(spec).await?;
        let failed = |run: &&Run| run.spec.is_before() && run.status.state == RunState::Failed;
        let others = open_changes(&runs).chain(runs.iter().filter(failed));
        for run in others.filter(|run| run.spec.change != spec.change && run.spec.superseded_by.is_none()) {
            self.store.supersede(&run.key, Some(by)).await?;
        }
        Ok(runs)
    }

    async fn standing(&self, run: &Run) -> Result<Standing, StoreError> {
        let name = &run.key.name;
        match run.spec.superseded_by.as_deref() {
            Some(ABANDONED) => {
                let sentence = format!(
                    "LifecycleRun {name}: it was given up by hand; annotate it with {SPOKEN}retry=\"who and why\" to take it up again"
                );
                return Ok(Standing::Failed("Abandoned".to_owned(), sentence));
            }
            Some(_) => return self.begin_anew(run).await,
            None => {}
        }
        if run.spec.is_before() && run.status.state == RunState::Succeeded && self.has_ended(run).await? {
            // What was done for it was used up.
            return self.begin_anew(run).await;
        }
        Ok(match run.status.state {
            RunState::Succeeded => {
                Standing::Done(run.status.hooks.iter().flat_map(|hook| hook.artefacts.clone()).collect())
            }
            RunState::Failed => Standing::Failed(
                "HookFailed".to_owned(),
                format!(
                    "LifecycleRun {name}: {}; annotate it with {SPOKEN}retry=\"who and why\" to have it tried again, or with {SPOKEN}skip=\"HOOK: why\" to go on without it",
                    run.status.message
                ),
            ),
            _ => Standing::Pending(format!("LifecycleRun {name}: {}", run.status.message)),
        })
    }

    /// Whether it was told how a change ended, and everybody has heard it.
    async fn has_ended(&self, run: &Run) -> Result<bool, StoreError> {
        let Some(phase) = run.spec.counterpart() else { return Ok(false) };
        let post = self.store.get(&self.store.key(&Spec { phase, ..run.spec.clone() })).await?;
        Ok(post.is_some_and(|post| post.is_over()))
    }

    /// A change had been taken back and is wanted again: what was done for it then is no longer of use.
    async fn begin_anew(&self, run: &Run) -> Result<Standing, StoreError> {
        let name = &run.key.name;
        let taken_back =
            Standing::Pending(format!("LifecycleRun {name}: what it had begun is being taken back"));
        let Some(phase) = run.spec.counterpart().filter(|_| run.is_over()) else { return Ok(taken_back) };
        let after = self.store.key(&Spec { phase, ..run.spec.clone() });
        match self.store.get(&after).await? {
            Some(post) if !post.is_over() => return Ok(taken_back),
            None if run.needs_post() => return Ok(taken_back),
            Some(_) => self.store.delete(&after).await?,
            None => {}
        }
        self.store.delete(&run.key).await?;
        Ok(Standing::Pending(format!("LifecycleRun {name} is made anew")))
    }
}

/// The changes of which nobody has said yet how they ended: their runs of the time before.
pub fn open_changes(runs: &[Run]) -> impl Iterator<Item = &Run> {
    runs.iter().filter(|run| run.spec.is_before() && counterpart(runs, run).is_none())
}

/// Runs of other changes that have to come to their end first.
pub fn in_the_way<'a>(runs: &'a [Run], change: &str) -> Vec<&'a Run> {
    let at_work =
        |other: &&Run| !other.is_over() || (other.needs_post() && counterpart(runs, other).is_none());
    let posts = runs.iter().filter(|other| !other.spec.is_before() && !other.is_over());
    open_changes(runs).filter(at_work).chain(posts).filter(|other| other.spec.change != change).collect()
}

/// The run on the other side of a change.
pub fn counterpart<'a>(runs: &'a [Run], run: &Run) -> Option<&'a Run> {
    let phase = run.spec.counterpart()?;
    runs.iter().find(|other| other.spec.phase == phase && other.spec.change == run.spec.change)
}

fn spec_of(plugin: &str, owner: &Owner, announcement: &Announcement) -> Spec {
    let Announcement { phase, change, undoes, ending, details } = announcement.clone();
    let subject = Subject {
        api_version: owner.key.gvk.api_version(),
        kind: owner.key.gvk.kind.clone(),
        namespace: owner.key.namespace.as_deref().map(ToOwned::to_owned),
        name: owner.key.name.to_string(),
        uid: owner.uid.to_string(),
        labels: BTreeMap::new(),
    };
    Spec {
        subject,
        phase,
        change,
        undoes,
        ending,
        announced_by: plugin.to_owned(),
        details,
        superseded_by: None,
    }
}
