//! A run, one step further: what is next is found by [`progress`], written down, and done.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::afterwards::{self, Afterwards};
use super::announce::{Announcer, counterpart, in_the_way};
use super::metrics::Metrics;
use super::people;
use super::progress::{self, Next};
use super::run::{ABANDONED, Ending, HookState, Run, RunState, Spec, WITHDRAWN};
use super::store::{Store, StoreError};
use crate::cluster::Cluster;
use crate::controller::throttle::Throttle;
use crate::egress::Egress;
use crate::object::ObjectKey;
use crate::plugin::bindings::{Event, EventType, State, Trigger, Watch, WatchTarget};
use crate::plugin::call::Reply;
use crate::plugin::names::wit_ref;
use crate::status::events::{Recorder, Regarding};
use crate::status::publish::{Publisher, Told};
use crate::telemetry::series::PluginMetrics;

mod hooks;
mod words;

pub(crate) use words::wit_artefact;

/// Who the host is where it announces something itself.
const HOST: &str = "pilothouse";
/// Until a plugin is looked for again that is not at work. When it comes, it is called at once.
const ABSENT: Duration = Duration::from_secs(30);

/// Drives runs.
#[derive(Debug)]
pub struct Lifecycle {
    /// Runs, and whom they concern.
    pub announcer: Arc<Announcer>,
    /// The only writer of status.
    pub publisher: Publisher,
    /// Events.
    pub recorder: Recorder,
    /// For hooks.
    pub cluster: Arc<Cluster>,
    /// Series of plugins.
    pub metrics: Arc<PluginMetrics>,
    /// Servers other than the cluster's API.
    pub egress: Arc<Egress>,
    /// Series of runs.
    pub counts: Metrics,
    /// How long runs are kept that are over.
    pub history: Duration,
}

/// When a run is to be looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// When something of it moves.
    No,
    /// After so long.
    After(Duration),
    /// After a failure, with the queue's back-off.
    Retry,
}

/// What one step ended with.
#[derive(Debug)]
pub struct Driven {
    /// When it goes on.
    pub again: Again,
    /// Whose changes call it; none leaves those of the step before.
    pub watches: Option<Vec<Watch>>,
}

impl Driven {
    fn again(again: Again) -> Self {
        Self { again, watches: Some(Vec::new()) }
    }

    fn now() -> Self {
        Self::again(Again::After(Duration::ZERO))
    }

    fn watching(self, watches: Vec<Watch>) -> Self {
        Self { watches: Some(watches), ..self }
    }
}

impl Lifecycle {
    /// Takes a run one step further. Level-triggered; nothing is lost when the host ends at any point of it.
    pub async fn drive(&self, key: &ObjectKey, throttle: Arc<Throttle>) -> Driven {
        let step = async {
            // Not what the cache has: a hook is not to be called for a state that is over.
            match self.store().get(key).await? {
                Some(run) => self.step(run, throttle).await,
                None => Ok(Driven::again(Again::No)),
            }
        };
        match step.await {
            Ok(driven) => driven,
            Err(error) if error.is_malformed() => {
                tracing::warn!(run = %key, %error, "a LifecycleRun that the host did not write is left alone");
                Driven::again(Again::No)
            }
            Err(error) => {
                tracing::info!(run = %key, %error, "a LifecycleRun waits for the API server");
                Driven { again: Again::Retry, watches: None }
            }
        }
    }

    async fn step(&self, mut run: Run, throttle: Arc<Throttle>) -> Result<Driven, StoreError> {
        let now = Timestamp::now();
        if run.key != self.store().key(&run.spec) {
            tracing::warn!(run = %run.key, "a LifecycleRun whose name does not follow from what it announces is left alone");
            return Ok(Driven::again(Again::No));
        }
        if let Some(driven) = self.hear(&mut run, now).await? {
            return Ok(driven);
        }
        progress::end_in_time(&run.spec, &mut run.status, now);
        let next = progress::next(&run.spec, &run.status, now);
        progress::tell(&mut run.status, next);
        match next {
            Next::Plan | Next::AwaitApproval(_) if self.is_pointless(&run).await? => {
                self.store().supersede(&run.key, Some(WITHDRAWN)).await?;
                Ok(Driven::now())
            }
            Next::Plan => self.plan(run, throttle).await,
            Next::Begin(index) if let Some(absent) = self.absent(&run, index) => {
                // Its time begins when somebody is there who can do it.
                run.status.message = absent;
                self.publish(&mut run).await?;
                Ok(Driven::again(Again::After(ABSENT)))
            }
            Next::Begin(index) => {
                if let Some(hook) = run.status.hooks.get_mut(index) {
                    progress::begin(hook, now);
                }
                progress::tell(&mut run.status, next);
                self.publish(&mut run).await?;
                self.call(run, index, throttle).await
            }
            Next::Call(index) => self.call(run, index, throttle).await,
            Next::Cancel(index) => {
                self.publish(&mut run).await?;
                self.cancel(run, index, throttle).await
            }
            Next::AwaitApproval(_) => {
                let is_news = self.publish(&mut run).await?;
                if is_news {
                    self.tell_subject(&run, EventType::Normal, "ApprovalNeeded", &run.status.message);
                }
                Ok(Driven::again(Again::No).watching(subject_watch(&run)))
            }
            Next::Wait(_, then) => {
                self.publish(&mut run).await?;
                Ok(Driven::again(Again::After(until(then, now))))
            }
            Next::End(state) => {
                let message = progress::verdict(&run.spec, &run.status);
                progress::end(&mut run.status, state, message, now);
                self.publish(&mut run).await?;
                let listeners = &self.announcer.listeners;
                self.counts.ended(&run, now, |hook| listeners.at_work(&hook.plugin, &run.spec).is_some());
                self.tell_end(&run);
                Ok(Driven::now())
            }
            Next::Over => self.afterwards(&run, now).await,
        }
    }

    /// Follows what people have said. None: nothing was, or its time has not come.
    async fn hear(&self, run: &mut Run, now: Timestamp) -> Result<Option<Driven>, StoreError> {
        if people::forget_taken_off(run) {
            self.publish(run).await?;
            return Ok(Some(Driven::now()));
        }
        if !run.status.heard.is_empty() {
            self.store().take_off(&run.key, &run.status.heard).await?;
            // The watch tells of it; where they could not be taken off, not without a pause.
            return Ok(Some(Driven::again(Again::After(Duration::from_secs(1)))));
        }
        let mut post = None;
        if people::wants_again(run) {
            post = self.post_of(run).await?;
            match &post {
                // What the run had begun is brought to its end first.
                Some(post) if !post.is_over() => {
                    return Ok(Some(Driven::again(Again::After(Duration::from_secs(2)))));
                }
                None if run.needs_close() => return Ok(None),
                _ => {}
            }
        }
        let heard = people::hear(run, post.is_some(), now);
        if run.status.heard.is_empty() {
            return Ok(None);
        }
        for why in &heard.refused {
            self.record(&run.key, &run.uid, EventType::Warning, "NotFollowed", why);
        }
        if heard.again {
            if let Some(post) = post {
                self.store().delete(&post.key).await?;
            }
            if run.spec.superseded_by.is_some() {
                self.store().supersede(&run.key, None).await?;
            }
        }
        if heard.abandoned {
            if run.is_over() {
                run.status.state = RunState::Failed;
                "it was given up by hand".clone_into(&mut run.status.message);
            }
            self.store().supersede(&run.key, Some(ABANDONED)).await?;
        }
        // With what came of them: nothing is heard twice, wherever the host ends.
        self.publish(run).await?;
        Ok(Some(Driven::now()))
    }

    /// The run on the other side of a run's change.
    async fn post_of(&self, run: &Run) -> Result<Option<Run>, StoreError> {
        let Some(phase) = run.spec.counterpart().filter(|_| run.spec.is_before()) else { return Ok(None) };
        self.store().get(&self.store().key(&Spec { phase, ..run.spec.clone() })).await
    }

    /// A run that is over.
    async fn afterwards(&self, run: &Run, now: Timestamp) -> Result<Driven, StoreError> {
        let runs = self.store().of_subject(&run.spec).await?;
        let history = SignedDuration::try_from(self.history).unwrap_or(SignedDuration::MAX);
        let other = counterpart(&runs, run);
        match afterwards::next(run, other, history, now) {
            Afterwards::Close(ending) => self.close(run, ending).await,
            Afterwards::Open if !self.is_alone(run).await? => {
                Ok(Driven::again(Again::No).watching(subject_watch(run)))
            }
            Afterwards::Open if run.needs_post() && other.is_none() => {
                self.close(run, Ending::Abandoned).await
            }
            Afterwards::AwaitPost => Ok(Driven::again(Again::After(ABSENT))),
            Afterwards::Keep(end) => Ok(Driven::again(Again::After(until(end, now)))),
            Afterwards::Open | Afterwards::Delete => {
                self.store().delete(&run.key).await?;
                Ok(Driven::again(Again::No))
            }
        }
    }

    /// Announces the phase after a change that nobody else will.
    async fn close(&self, run: &Run, ending: Ending) -> Result<Driven, StoreError> {
        let spec = Spec {
            phase: run.spec.counterpart().unwrap_or_default(),
            ending: Some(ending),
            announced_by: HOST.to_owned(),
            superseded_by: None,
            ..run.spec.clone()
        };
        self.store().create(&spec).await?;
        Ok(Driven::again(Again::After(Duration::from_secs(1))))
    }

    /// Whether nobody is there any more for whom something is to be done.
    async fn is_pointless(&self, run: &Run) -> Result<bool, StoreError> {
        Ok(run.spec.is_before() && run.spec.superseded_by.is_none() && self.is_alone(run).await?)
    }

    /// Whether the subject is gone.
    async fn is_alone(&self, run: &Run) -> Result<bool, StoreError> {
        let subject = &run.spec.subject;
        Ok(self.store().subject_labels(&subject.key(), &subject.uid).await?.is_none())
    }

    /// What is to be said when the plugin of a hook is not at work.
    fn absent(&self, run: &Run, index: usize) -> Option<String> {
        let hook = run.status.hooks.get(index)?;
        let there = self.announcer.listeners.at_work(&hook.plugin, &run.spec);
        there.is_none().then(|| hooks::absent(&hook.plugin))
    }

    /// Changes of the subject that make way for this run's and have not come to their end: it waits for them.
    async fn others_in_the_way(&self, run: &Run) -> Result<Vec<ObjectKey>, StoreError> {
        if !run.spec.is_before() {
            return Ok(Vec::new());
        }
        let runs = self.store().of_subject(&run.spec).await?;
        Ok(in_the_way(&runs, &run.spec.change).into_iter().map(|other| other.key.clone()).collect())
    }

    /// Writes the status. True: it was another one before.
    async fn publish(&self, run: &mut Run) -> Result<bool, StoreError> {
        let status = &run.status;
        let state = match status.state {
            RunState::Succeeded => State::Ready,
            RunState::Failed => State::Stalled(("HookFailed".to_owned(), status.message.clone())),
            RunState::AwaitingApproval => {
                State::Progressing(("AwaitingApproval".to_owned(), status.message.clone()))
            }
            RunState::Planning | RunState::Running => {
                State::Progressing((format!("{:?}", status.state), status.message.clone()))
            }
        };
        let reply = Reply {
            state,
            children: None,
            status: Some(status.patch()),
            conditions: Vec::new(),
            drop_conditions: Vec::new(),
            events: Vec::new(),
            requeue_after: None,
            watches: Vec::new(),
        };
        let told = Told { object: &run.object, reply: &reply, update_time: false };
        let written = self.publisher.publish(&Store::resource(), &run.key, told).await?;
        Ok(written.is_some())
    }

    fn tell_end(&self, run: &Run) {
        for hook in run.status.hooks.iter().filter(|hook| hook.state == HookState::Ignored) {
            let message =
                format!("{} {}: {}: {}", run.spec.phase, hook.full_name(), hook.reason, hook.message);
            self.tell_subject(run, EventType::Warning, "HookIgnored", &message);
        }
        if run.status.state == RunState::Failed && run.spec.superseded_by.is_none() {
            let message = format!("{} of {}: {}", run.spec.phase, run.spec.change, run.status.message);
            self.tell_subject(run, EventType::Warning, "HookFailed", &message);
        }
    }

    fn tell_subject(&self, run: &Run, event_type: EventType, reason: &str, message: &str) {
        let subject = &run.spec.subject;
        self.record(&subject.key(), &subject.uid, event_type, reason, message);
        self.record(&run.key, &run.uid, event_type, reason, message);
    }

    fn record(&self, key: &ObjectKey, uid: &str, event_type: EventType, reason: &str, message: &str) {
        let regarding = Regarding { key: key.clone(), uid: Arc::from(uid) };
        let event = Event { event_type, reason: reason.to_owned(), message: message.to_owned() };
        self.recorder.publish(&regarding, event);
    }

    /// Forgets a run that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.publisher.forget(key);
    }

    fn store(&self) -> &Store {
        &self.announcer.store
    }
}

fn subject_watch(run: &Run) -> Vec<Watch> {
    let subject = wit_ref(&run.spec.subject.key());
    vec![Watch { target: WatchTarget::Object(subject), trigger: Trigger::Drift }]
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}
