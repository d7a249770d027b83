//! Calls of hooks, and what becomes of their answers.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::words;
use super::{ABSENT, Again, Driven, Lifecycle, until};
use crate::capability::grants::Grants;
use crate::controller::throttle::Throttle;
use crate::lifecycle::announce::counterpart;
use crate::lifecycle::progress::{self, Next};
use crate::lifecycle::run::{Hook, HookState, Run};
use crate::lifecycle::store::StoreError;
use crate::lifecycle::{self};
use crate::object::Owner;
use crate::plugin::bindings::lifecycle_hook::{Progress, Step};
use crate::plugin::bindings::{EventType, HookError};
use crate::plugin::call::Fault;
use crate::plugin::context::HookContext;
use crate::plugin::hook::{Ask, Called, Reply, ask};
use crate::plugin::revision::Revision;

/// What came of a call.
enum Told {
    /// The plugin's answer.
    Answer(Reply),
    /// Nothing is known yet: what stands in the way, and when to ask again.
    Nothing(String, Again),
    /// The plugin says that it never will.
    Never(String),
}

impl Lifecycle {
    /// Asks everybody whom the phase concerns what is to be done, and writes it down.
    pub(super) async fn plan(&self, mut run: Run, throttle: Arc<Throttle>) -> Result<Driven, StoreError> {
        let in_the_way = self.others_in_the_way(&run).await?;
        if let Some(first) = in_the_way.first() {
            run.status.message =
                format!("LifecycleRun {} of another change is brought to its end first", first.name);
            self.publish(&mut run).await?;
            let driven = Driven::again(Again::After(ABSENT));
            return Ok(driven.watching(words::on_objects(&in_the_way)));
        }
        let runs = self.store().of_subject(&run.spec).await?;
        let announced = words::announced(&run, &runs);
        let mut hooks = carried_over(&run, &runs);
        for listener in self.announcer.listeners.of(&run.spec.phase, &run.spec.subject.gvk()) {
            let plugin = &listener.plugin;
            let told = match listener.revision {
                None => Told::Nothing(absent(plugin), Again::After(ABSENT)),
                Some(revision) => self.ask(&run, &revision, &Ask::Plan(&announced), &throttle).await,
            };
            match told {
                Told::Answer(Reply::Planned(planned)) => match words::planned(plugin, planned) {
                    Ok(planned) => hooks.extend(planned),
                    Err(why) => return self.wait(run, format!("plugin {plugin}: {why}"), Again::Retry).await,
                },
                Told::Answer(_) => {}
                Told::Nothing(why, again) => return self.wait(run, why, again).await,
                // Not even then is a change let through that somebody is to guard.
                Told::Never(why) => return self.wait(run, why, Again::Retry).await,
            }
        }
        run.status.hooks = in_order(hooks);
        run.status.planned_at = Some(Timestamp::now());
        self.publish(&mut run).await?;
        Ok(Driven::now())
    }

    async fn wait(&self, mut run: Run, why: String, again: Again) -> Result<Driven, StoreError> {
        run.status.message = words::sentence(&why);
        self.publish(&mut run).await?;
        Ok(Driven::again(again))
    }

    /// Calls a hook, which does its part or looks how far it is.
    pub(super) async fn call(
        &self,
        mut run: Run,
        index: usize,
        throttle: Arc<Throttle>,
    ) -> Result<Driven, StoreError> {
        let Some(hook) = run.status.hooks.get(index).cloned() else { return Ok(Driven::now()) };
        let told = match self.announcer.listeners.at_work(&hook.plugin, &run.spec) {
            None => Told::Nothing(absent(&hook.plugin), Again::After(ABSENT)),
            Some(revision) => {
                let runs = self.store().of_subject(&run.spec).await?;
                let task = words::task(&run, &runs, &hook);
                self.ask(&run, &revision, &Ask::Run(&task), &throttle).await
            }
        };
        let now = Timestamp::now();
        let Some(slot) = run.status.hooks.get_mut(index) else { return Ok(Driven::now()) };
        let mut driven = match told {
            Told::Answer(Reply::Stepped(step)) => match take(slot, step, now) {
                Ok(driven) => driven,
                Err(why) => {
                    slot.message = format!("plugin {}: {why}", hook.plugin);
                    Driven::again(Again::Retry)
                }
            },
            Told::Answer(_) => Driven::again(Again::Retry),
            Told::Nothing(why, again) => {
                slot.message = words::sentence(&why);
                // What the hook waits for is still what it waits for.
                Driven { again, watches: None }
            }
            Told::Never(why) => {
                progress::give_up(slot, "PluginError", words::sentence(&why), now);
                Driven::now()
            }
        };
        if let (HookState::Running, Some(end)) = (slot.state, progress::deadline(slot)) {
            driven.again = sooner(driven.again, until(end, now));
        }
        let uid = run.uid.clone();
        driven.watches = driven.watches.map(|watches| words::watches(&hook.plugin, &uid, watches));
        progress::tell(&mut run.status, Next::Call(index));
        self.publish(&mut run).await?;
        Ok(driven)
    }

    /// Tells a hook to end before its time.
    pub(super) async fn cancel(
        &self,
        mut run: Run,
        index: usize,
        throttle: Arc<Throttle>,
    ) -> Result<Driven, StoreError> {
        let Some(hook) = run.status.hooks.get(index).cloned() else { return Ok(Driven::now()) };
        let told = match self.announcer.listeners.at_work(&hook.plugin, &run.spec) {
            None => Told::Nothing(absent(&hook.plugin), Again::After(ABSENT)),
            Some(revision) => {
                let runs = self.store().of_subject(&run.spec).await?;
                let task = words::task(&run, &runs, &hook);
                self.ask(&run, &revision, &Ask::Cancel(&task), &throttle).await
            }
        };
        let Some(slot) = run.status.hooks.get_mut(index) else { return Ok(Driven::now()) };
        match told {
            Told::Answer(_) => {}
            Told::Never(why) => {
                slot.message = words::sentence(&format!("{}; not ended: {why}", slot.message));
            }
            Told::Nothing(why, again) => {
                run.status.message = words::sentence(&format!("{} is to end: {why}", hook.full_name()));
                self.publish(&mut run).await?;
                return Ok(Driven { again, watches: None });
            }
        }
        progress::cancelled(slot, Timestamp::now());
        self.publish(&mut run).await?;
        Ok(Driven::now())
    }

    async fn ask(
        &self,
        run: &Run,
        revision: &Arc<Revision>,
        what: &Ask<'_>,
        throttle: &Arc<Throttle>,
    ) -> Told {
        let context = self.context(run, revision, throttle);
        match ask(revision, what, context).await {
            Err(fault) => self.fault(run, revision, &fault),
            Ok(Called { answer, events }) => {
                for event in events {
                    self.record(&run.key, &run.uid, event.event_type, &event.reason, &event.message);
                }
                match answer {
                    Ok(reply) => Told::Answer(reply),
                    Err(HookError::Retry(why)) => Told::Nothing(why, Again::Retry),
                    Err(HookError::RetryAfter((why, ms))) => {
                        Told::Nothing(why, Again::After(Duration::from_millis(ms)))
                    }
                    Err(HookError::Permanent(why)) => Told::Never(why),
                }
            }
        }
    }

    fn fault(&self, run: &Run, revision: &Revision, fault: &Fault) -> Told {
        let message = format!("plugin {} {fault}", revision.identity);
        tracing::warn!(run = %run.key, reason = fault.reason(), message, "plugin fault");
        self.record(&run.key, &run.uid, EventType::Warning, fault.reason(), &message);
        Told::Nothing(message, Again::Retry)
    }

    fn context(&self, run: &Run, revision: &Arc<Revision>, throttle: &Arc<Throttle>) -> Arc<HookContext> {
        let grants: &Arc<Grants> = &revision.grants;
        let mut binding = lifecycle::binding(Duration::MAX);
        binding.plugin = Arc::clone(&revision.identity.name);
        Arc::new(HookContext {
            plugin: Arc::clone(&revision.identity),
            grants: Arc::clone(grants),
            owner: Owner { key: run.key.clone(), uid: Arc::from(run.uid.as_str()) },
            binding: Arc::new(binding),
            manager: revision.manifest.manager(),
            throttle: Arc::clone(throttle),
            cluster: Arc::clone(&self.cluster),
            metrics: Arc::clone(&self.metrics),
            charts: None,
            wishes: Arc::default(),
            egress: Arc::clone(&self.egress),
            transfers: None,
            commands: None,
            handovers: None,
            announcer: None,
        })
    }
}

/// What a step makes of its hook.
///
/// # Errors
/// The sentence says how the answer breaks the contract; the hook is as it was.
fn take(hook: &mut Hook, step: Step, now: Timestamp) -> Result<Driven, String> {
    let record = words::record(step.record.as_deref())?;
    let driven = match step.progress {
        Progress::Done(artefacts) => {
            progress::succeed(hook, words::artefacts(artefacts)?, now);
            Driven::now()
        }
        Progress::Pending(sentence) => {
            hook.message = words::sentence(&sentence);
            let again = step.requeue_after_ms.map_or(Again::No, |ms| Again::After(Duration::from_millis(ms)));
            Driven::again(again).watching(step.watches)
        }
        Progress::Failed((reason, sentence)) => {
            progress::fail(hook, &reason, words::sentence(&sentence), now);
            Driven::now()
        }
        Progress::Refused((reason, sentence)) => {
            progress::give_up(hook, &reason, words::sentence(&sentence), now);
            Driven::now()
        }
    };
    if record.is_some() {
        hook.record = record;
    }
    Ok(driven)
}

/// What was begun before the change and has to be brought to its end, as it was planned then.
fn carried_over(run: &Run, runs: &[Run]) -> Vec<Hook> {
    let before = counterpart(runs, run).filter(|other| other.spec.is_before());
    let hooks = before.into_iter().flat_map(|other| &other.status.hooks);
    hooks
        .filter(|hook| hook.ensure_post && hook.has_begun())
        .map(|hook| Hook { approval: false, ensure_post: false, ..hook.anew() })
        .collect()
}

/// In the order in which they run. What was carried over comes before what was planned anew under the same name, and stands for it.
fn in_order(hooks: Vec<Hook>) -> Vec<Hook> {
    let mut kept: Vec<Hook> = Vec::with_capacity(hooks.len());
    for hook in hooks {
        if !kept.iter().any(|known| known.plugin == hook.plugin && known.name == hook.name) {
            kept.push(hook);
        }
    }
    kept.sort_by(|a, b| (a.weight, &a.plugin, &a.name).cmp(&(b.weight, &b.plugin, &b.name)));
    kept
}

pub(super) fn absent(plugin: &str) -> String {
    format!("plugin {plugin}, which takes part in this by its grants, is not at work")
}

fn sooner(again: Again, end: Duration) -> Again {
    match again {
        Again::No => Again::After(end),
        Again::After(wait) => Again::After(wait.min(end)),
        Again::Retry => Again::Retry,
    }
}
