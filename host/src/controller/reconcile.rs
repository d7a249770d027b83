//! One object, from the queue to its status: the central function of the host.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tracing::Instrument as _;

use super::queue::{Reason, Verdict, Work};
use super::throttle::Throttle;
use crate::action::inventory::Inventories;
use crate::binding::Binding;
use crate::blob::table::Transfers;
use crate::capability::grants::Grants;
use crate::charts::Charts;
use crate::cluster::Cluster;
use crate::cluster::path::Resource;
use crate::cluster::request::{ApiError, Counts, counted};
use crate::egress::Egress;
use crate::exec::table::Commands;
use crate::handover::table::Handovers;
use crate::lifecycle;
use crate::lifecycle::drive::{Again, Lifecycle};
use crate::object::ObjectKey;
use crate::object::Owner;
use crate::plugin::bindings::{self, Event, EventType, HookError, Request, State, Watch};
use crate::plugin::call::{Answer, Fault, Hook, Reply, call};
use crate::plugin::context::HookContext;
use crate::plugin::registry::Registry;
use crate::plugin::revision::Revision;
use crate::status::events::{Recorder, Regarding};
use crate::status::publish::{Publisher, Told};
use crate::telemetry::series::PluginMetrics;

mod account;
mod children;
mod finalizer;
pub mod metrics;
pub mod quarantine;

use account::grants_of;
use metrics::ReconcileMetrics;
use quarantine::{Quarantine, Standing};

/// Everything a reconcile needs; shared by all workers.
#[derive(Debug)]
pub struct Reconciler {
    /// Which revision is at work.
    pub registry: Arc<Registry>,
    /// The API server.
    pub cluster: Arc<Cluster>,
    /// The only writer of status.
    pub publisher: Publisher,
    /// Events.
    pub recorder: Recorder,
    /// Children of declarative plugins.
    pub inventories: Inventories,
    /// Repeated faults.
    pub quarantine: Quarantine,
    /// Counters and times.
    pub metrics: ReconcileMetrics,
    /// Series of plugins.
    pub plugin_metrics: Arc<PluginMetrics>,
    /// Charts that lie elsewhere.
    pub charts: Arc<Charts>,
    /// Servers other than the cluster's API.
    pub egress: Arc<Egress>,
    /// What is carried out behind calls.
    pub transfers: Arc<Transfers>,
    /// Commands in containers.
    pub commands: Arc<Commands>,
    /// Objects between the cluster and object storage; none: the host serves none.
    pub handovers: Option<Arc<Handovers>>,
    /// Phases of changes, across plugins.
    pub lifecycle: Arc<Lifecycle>,
}

/// What a reconcile ended with.
#[derive(Debug)]
pub struct Done {
    /// For the queue.
    pub verdict: Verdict,
    /// The hook's wishes to be told; `None` leaves those of the call before.
    pub watches: Option<Vec<Watch>>,
    /// The newest resource version of the object that we wrote: wait for the watch to bring it before the next call.
    pub written: Option<String>,
}

impl Done {
    fn verdict(verdict: Verdict) -> Self {
        Self { verdict, watches: None, written: None }
    }
}

/// One object at hand.
struct Case<'a> {
    work: &'a Work,
    binding: &'a Arc<Binding>,
    resource: Arc<Resource>,
    object: Value,
    owner: Owner,
    grants: Arc<Grants>,
    throttle: Arc<Throttle>,
}

impl Reconciler {
    /// Brings one object towards what its plugin asks for.
    ///
    /// # Flow
    /// 1. the finalizer is put on (or, for a deleted object without it, nothing is to be done);
    /// 2. the hook is called in its sandbox, under its grants;
    /// 3. declarative children: inventory, apply, prune;
    /// 4. status and conditions, then events;
    /// 5. the queue hears when to call again.
    ///
    /// # Guarantees
    /// Level-triggered: calling it again without a change sends nothing. A fault of the plugin ends as a condition of this
    /// object. Never fails: what goes wrong is told on the object, logged, counted and retried.
    pub async fn reconcile(
        &self,
        work: &Work,
        binding: &Arc<Binding>,
        object: Value,
        throttle: Arc<Throttle>,
    ) -> Done {
        let span = wide_span(work, binding);
        let (started, counts) = (std::time::Instant::now(), Arc::new(Counts::default()));
        let running = counted(&counts, self.prepare_and_run(work, binding, object, throttle));
        let done = running.instrument(span.clone()).await;
        self.metrics.reconciled(&binding.plugin, done.verdict, started.elapsed());
        let result = metrics::result_label(done.verdict);
        let reasons: Vec<_> = work.reasons.iter().map(Reason::word).collect();
        span.record("reasons", reasons.join(","));
        span.record("result", result).record("reads", counts.reads()).record("writes", counts.writes());
        if result == "error" {
            span.record("otel.status_code", "error");
        }
        span.in_scope(|| {
            tracing::debug!(
                elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
                "reconciled"
            );
        });
        done
    }

    async fn prepare_and_run(
        &self,
        work: &Work,
        binding: &Arc<Binding>,
        object: Value,
        throttle: Arc<Throttle>,
    ) -> Done {
        if lifecycle::is_own(binding) {
            return self.drive(work, throttle).await;
        }
        let Some(revision) = self.registry.active(&binding.plugin) else {
            tracing::warn!("no revision of the plugin is at work");
            return Done::verdict(Verdict::RetryAfter(Duration::from_secs(5)));
        };
        let span = tracing::Span::current();
        span.record("version", &revision.identity.version).record("revision", revision.identity.short());
        let resource = match self.cluster.discovery.resolve(&work.key.gvk).await {
            Ok(resource) => resource,
            Err(error) => {
                tracing::warn!(%error, "the object's kind cannot be resolved");
                return Done::verdict(Verdict::Retry);
            }
        };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let owner = Owner { key: work.key.clone(), uid: Arc::from(uid) };
        let grants = grants_of(&revision, binding, &object, &owner);
        let mut case =
            Case { work, binding, resource, object, owner, grants: Arc::clone(&revision.grants), throttle };
        match grants {
            Some(grants) => case.grants = grants,
            None => return self.without_account(&case, &revision).await,
        }
        if is_going(&case.object) {
            return if finalizer::holds(&case.object, case.binding) {
                self.run_hook(&case, &revision, Hook::Finalize).await
            } else {
                Done::verdict(Verdict::Done)
            };
        }
        match self.ensure_finalizer(case).await {
            Ok(case) => self.run_hook(&case, &revision, Hook::Reconcile).await,
            Err(error) => {
                tracing::info!(%error, "the finalizer could not be put on");
                Done::verdict(retry_of(&error))
            }
        }
    }

    /// A `LifecycleRun` is the host's own.
    async fn drive(&self, work: &Work, throttle: Arc<Throttle>) -> Done {
        let driven = self.lifecycle.drive(&work.key, throttle).await;
        let verdict = match driven.again {
            Again::No => Verdict::Done,
            Again::After(wait) => Verdict::RequeueAfter(wait),
            Again::Retry => Verdict::Retry,
        };
        Done { verdict, watches: driven.watches, written: None }
    }

    async fn run_hook(&self, case: &Case<'_>, revision: &Arc<Revision>, hook: Hook) -> Done {
        if case.work.reasons.iter().any(Reason::ends_backoff) {
            self.quarantine.pardon(&case.owner.key);
        }
        if let Standing::Closed(wait) = self.quarantine.standing(&revision.identity, &case.owner.key) {
            return Done::verdict(Verdict::RetryAfter(wait));
        }
        let request = request_of(case, revision);
        let context = self.context(case, revision);
        let wishes = Arc::clone(&context.wishes);
        let inner = tracing::debug_span!("hook", otel.name = format_args!("hook {}", hook.name()));
        let (answer, cost) = call(revision, hook, &request, context).instrument(inner).await;
        let span = tracing::Span::current();
        span.record("hook", hook.name());
        span.record("hook_ms", u64::try_from(cost.elapsed.as_millis()).unwrap_or(u64::MAX));
        if cost.dropped_lines > 0 {
            tracing::warn!(
                lines = cost.dropped_lines,
                "log lines of the plugin were dropped: its budget is used up"
            );
        }
        let fault = answer.as_ref().err().map(Fault::reason);
        span.record("fault", fault);
        self.metrics.called(&revision.identity.name, hook, fault, cost.elapsed);
        match answer {
            Err(fault) => self.after_fault(case, revision, &fault).await,
            Ok(answer) => {
                let wishes = std::mem::take(&mut *wishes.lock().unwrap_or_else(PoisonError::into_inner));
                self.charts.keep_only(&case.owner.key, &wishes.wished);
                self.quarantine.well(&revision.identity, &case.owner.key);
                self.after_answer(case, revision, answer).await
            }
        }
    }

    async fn after_answer(&self, case: &Case<'_>, revision: &Revision, answer: Answer) -> Done {
        match answer {
            Answer::Done(mut reply) => {
                let children = reply.children.take();
                if let Some(children) = children
                    && let Err(problem) = self.apply_children(case, revision, children).await
                {
                    reply.state = State::Progressing((problem.reason.to_owned(), problem.message.clone()));
                    reply.events.push(warning(problem.reason, &problem.message));
                    return self.tell(case, *reply, problem.verdict).await;
                }
                let verdict = reply.requeue_after.map_or(Verdict::Done, Verdict::RequeueAfter);
                self.tell(case, *reply, verdict).await
            }
            Answer::Finalized(events) => self.after_finalized(case, revision, events).await,
            Answer::Failed(_) if is_going(&case.object) && self.account_is_gone(case).await => {
                self.let_go_without_account(case, revision).await
            }
            Answer::Failed(refusal) => {
                let mut told = refusal.told;
                let (sentence, verdict) = match refusal.error {
                    HookError::Retry(sentence) => (sentence, Verdict::Retry),
                    HookError::RetryAfter((sentence, ms)) => {
                        (sentence, Verdict::RetryAfter(Duration::from_millis(ms)))
                    }
                    HookError::Permanent(sentence) => {
                        told.state = State::Stalled((refusal.reason.clone(), sentence.clone()));
                        (sentence, Verdict::Done)
                    }
                };
                tracing::info!(reason = refusal.reason, message = sentence, "the hook reports an error");
                if told.events.is_empty() {
                    told.events.push(warning(&refusal.reason, &sentence));
                }
                self.tell(case, told, verdict).await
            }
        }
    }

    async fn after_fault(&self, case: &Case<'_>, revision: &Revision, fault: &Fault) -> Done {
        let message = format!("plugin {} {fault}", revision.identity);
        tracing::warn!(reason = fault.reason(), message, "plugin fault");
        let standing = self.quarantine.fault(&revision.identity, &case.owner.key);
        let (state, verdict) = match standing {
            Standing::Open => {
                (State::Progressing((fault.reason().to_owned(), message.clone())), Verdict::Retry)
            }
            Standing::Closed(wait) => {
                let told =
                    format!("{message}; it is not called for this object for the next {} s", wait.as_secs());
                (State::Stalled((fault.reason().to_owned(), told)), Verdict::RetryAfter(wait))
            }
        };
        let reply = empty_reply(state, vec![warning(fault.reason(), &message)]);
        Done { watches: None, ..self.tell(case, reply, verdict).await }
    }

    /// Status first, then events; the watches go to the supervisor.
    async fn tell(&self, case: &Case<'_>, mut reply: Reply, verdict: Verdict) -> Done {
        let events = std::mem::take(&mut reply.events);
        let told = Told { object: &case.object, reply: &reply, update_time: case.binding.update_time };
        let published = self.publisher.publish(&case.resource, &case.owner.key, told).await;
        let regarding = Regarding { key: case.owner.key.clone(), uid: Arc::clone(&case.owner.uid) };
        for event in events {
            self.recorder.publish(&regarding, event);
        }
        match published {
            Ok(written) => Done { verdict, watches: Some(reply.watches), written },
            Err(error) => {
                tracing::warn!(%error, "status could not be written");
                let verdict = if matches!(verdict, Verdict::Done) { retry_of(&error) } else { verdict };
                Done { verdict, watches: Some(reply.watches), written: None }
            }
        }
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.publisher.forget(key);
        self.quarantine.pardon(key);
        self.charts.forget(key);
        self.transfers.forget_all(key);
        self.commands.forget_all(key);
        if let Some(handovers) = &self.handovers {
            handovers.forget_all(key);
        }
        self.plugin_metrics.forget(key);
        self.lifecycle.forget(key);
    }

    fn context(&self, case: &Case<'_>, revision: &Arc<Revision>) -> Arc<HookContext> {
        Arc::new(HookContext {
            plugin: Arc::clone(&revision.identity),
            grants: Arc::clone(&case.grants),
            owner: case.owner.clone(),
            binding: Arc::clone(case.binding),
            manager: revision.manifest.manager(),
            throttle: Arc::clone(&case.throttle),
            cluster: Arc::clone(&self.cluster),
            metrics: Arc::clone(&self.plugin_metrics),
            charts: Some(Arc::clone(&self.charts)),
            wishes: Arc::default(),
            egress: Arc::clone(&self.egress),
            transfers: Some(Arc::clone(&self.transfers)),
            commands: Some(Arc::clone(&self.commands)),
            handovers: self.handovers.clone(),
            announcer: Some(Arc::clone(&self.lifecycle.announcer)),
        })
    }
}

fn request_of(case: &Case<'_>, revision: &Revision) -> Request {
    Request {
        kind: crate::plugin::names::wit_gvk(&case.owner.key.gvk),
        object: case.object.to_string(),
        reasons: case.work.reasons.iter().map(wit_reason).collect(),
        failures: case.work.failures,
        deadline_ms: u32::try_from(revision.limits.wall.as_millis()).unwrap_or(u32::MAX),
    }
}

fn wit_reason(reason: &Reason) -> bindings::Reason {
    match reason {
        Reason::Start => bindings::Reason::Start,
        Reason::Changed => bindings::Reason::Changed,
        Reason::Child(key) => bindings::Reason::Child(crate::plugin::names::wit_ref(key)),
        Reason::Related(key) => bindings::Reason::Related(crate::plugin::names::wit_ref(key)),
        Reason::Timer => bindings::Reason::Timer,
        Reason::Resync => bindings::Reason::Resync,
        Reason::Configuration => bindings::Reason::Configuration,
        Reason::Retry => bindings::Reason::Retry,
        Reason::Manual => bindings::Reason::Manual,
    }
}

fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn warning(reason: &str, message: &str) -> Event {
    Event { event_type: EventType::Warning, reason: reason.to_owned(), message: message.to_owned() }
}

fn empty_reply(state: State, events: Vec<Event>) -> Reply {
    Reply {
        state,
        children: None,
        status: None,
        conditions: Vec::new(),
        drop_conditions: Vec::new(),
        events,
        requeue_after: None,
        watches: Vec::new(),
    }
}

fn retry_of(error: &ApiError) -> Verdict {
    error.retry_after.map_or(Verdict::Retry, Verdict::RetryAfter)
}

/// One span says all there is to know of a reconcile: where it came from, what it did, how it ended. What is known only
/// later is recorded later.
fn wide_span(work: &Work, binding: &Binding) -> tracing::Span {
    use tracing::field::Empty;
    tracing::info_span!(
        "reconcile",
        object = %work.key, plugin = %binding.plugin, version = Empty, revision = Empty,
        failures = work.failures, waited_ms = u64::try_from(work.waited.as_millis()).unwrap_or(u64::MAX),
        reasons = Empty, hook = Empty, hook_ms = Empty, fault = Empty, reads = Empty, writes = Empty,
        result = Empty, otel.status_code = Empty,
    )
}

/// A JSON merge patch of the finalizers that only holds for the object as it was read.
fn finalizer_patch(object: &Value, finalizers: &[String]) -> Value {
    json!({"metadata": {
        "finalizers": finalizers,
        "resourceVersion": object.pointer("/metadata/resourceVersion"),
    }})
}
