//! One `EtcdCluster`: rounds of looking, deciding, writing down, acting, until there is nothing to do now.

use std::time::Duration;

use etcd_api::{ChangeEnding, Record, names::condition};
use etcd_core::{
    act::{Act, HookPhase},
    decide,
    decision::Decision,
    naming::Place,
    observed::{Hook, HookState, View},
    refusal::Refusal,
    settled,
    spec::Plan,
};
use jiff::Timestamp;
use pilothouse_sdk::{
    Announcement, Context, Ending, Error, Finalized, KubeError, Level, Outcome, Patch, Reconciler,
    Resource as _, Standing, merge_difference,
};
use serde_json::{Value, json};

use crate::{
    act::Hands,
    gateway::Gateway,
    look::{Seen, look},
    object::{ClusterObject, Metadata},
    outcome::{outcome, publish, watched},
    refused,
    settings::Settings,
};

/// So many rounds in one call at most, and none is begun after so long: others wait for the worker. One in which everybody hangs takes
/// six seconds for the look and four for the act, which is less than is left of the call's time (`wallMs` of the manifest).
const ROUNDS: usize = 8;
const ENOUGH: Duration = Duration::from_secs(3);
/// On every cluster of this operator's: others may want to prepare for its deletion.
const FINALIZER: &str = "etcd.database.coreos.com/cluster";
/// Kubernetes' own, of a deletion that leaves dependents where they are.
const ORPHAN: &str = "orphan";
/// When to look again at what only its object tells of.
const A_MOMENT: Duration = Duration::from_secs(2);
/// When to go on after that.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Brings `EtcdCluster`s to what they ask for.
#[derive(Debug)]
pub(crate) struct Clusters;

impl Reconciler for Clusters {
    type Resource = ClusterObject;

    fn reconcile(&self, ctx: &Context, object: &ClusterObject) -> Result<Outcome, Error> {
        if !is_responsible(ctx, object)? {
            return Ok(Outcome::foreign());
        }
        Ok(rounds(ctx, held(ctx, object.clone())?)?.unwrap_or_else(Outcome::ready))
    }

    fn finalize(&self, ctx: &Context, object: &ClusterObject) -> Result<Finalized, Error> {
        if object.metadata.finalizers.iter().any(|name| name == ORPHAN) {
            // Kubernetes lets the members go on without their owner; when it has, none of them is ours to delete.
            let waiting =
                Outcome::progressing("Deleting", "waiting until Kubernetes has orphaned the members");
            return Ok(Finalized::waiting(waiting.requeue_after(A_MOMENT)));
        }
        if is_responsible(ctx, object)? {
            return Ok(rounds(ctx, object.clone())?.map_or(Finalized::Done, Finalized::waiting));
        }
        // Another of our operators put it on, and takes it off.
        Ok(Finalized::waiting(Outcome::foreign()))
    }
}

/// The object with the finalizer, which is put on before anything is made.
fn held(ctx: &Context, object: ClusterObject) -> Result<ClusterObject, Error> {
    let Metadata { finalizers, resource_version, .. } = &object.metadata;
    if object.cluster().deleting || finalizers.iter().any(|name| name == FINALIZER) {
        return Ok(object);
    }
    let all: Vec<&str> = finalizers.iter().map(String::as_str).chain([FINALIZER]).collect();
    let patch = Patch::merge(&json!({"metadata": {"resourceVersion": resource_version, "finalizers": all}}))?;
    match ctx.kube().patch_ref::<Value>(&object.reference(), &patch) {
        Ok(patched) => ClusterObject::from_json(patched.to_string()),
        // One that is there already is taken care of all the same.
        Err(error) if object.record()?.cluster_id.is_some() => {
            let told = format_args!("deletions of the cluster cannot be announced: {error}");
            ctx.log(Level::Warn, told, &[("cluster", &object.metadata.name)]);
            Ok(object)
        }
        Err(error) => Err(error.into()),
    }
}

fn is_responsible(ctx: &Context, object: &ClusterObject) -> Result<bool, Error> {
    Ok(ctx.config::<Settings>()?.is_responsible(&object.metadata))
}

/// Rounds until there is nothing to do now. None: there is no such object any more, or nothing holds it.
fn rounds(ctx: &Context, object: ClusterObject) -> Result<Option<Outcome>, Error> {
    let mut call = Call { ctx, object, view: View::Cached, hook: None };
    let started = ctx.now();
    for round in 1.. {
        match call.round()? {
            Next::End(outcome) => return Ok(Some(*outcome)),
            Next::Again(decision) => {
                let spent = ctx.now().duration_since(started).unwrap_or_default();
                if round >= ROUNDS || spent >= ENOUGH {
                    return Ok(Some(outcome(&call.object, &decision.report).requeue_after(AT_ONCE)));
                }
            }
            Next::Gone => break,
        }
    }
    Ok(None)
}

/// What comes after a round.
enum Next {
    /// Look again at once: something was done.
    Again(Box<Decision>),
    /// Nothing to do now.
    End(Box<Outcome>),
    /// There is no such object any more, or nothing holds it.
    Gone,
}

/// One call of the hook.
struct Call<'a> {
    ctx: &'a Context,
    object: ClusterObject,
    view: View,
    /// What other plugins said of a phase in this call.
    hook: Option<Hook>,
}

impl Call<'_> {
    /// Looks, decides, writes down, acts.
    fn round(&mut self) -> Result<Next, Error> {
        if self.view == View::Live && !self.read()? {
            return Ok(Next::Gone);
        }
        let record = self.object.record()?;
        let Seen { cluster, mut observed, speaker, held_back } =
            look(self.ctx, &self.object, record, self.view)?;
        if let Some(outcome) = held_back {
            return Ok(Next::End(Box::new(watched(&self.object, outcome))));
        }
        observed.hook.clone_from(&self.hook);
        let now = Timestamp::try_from(self.ctx.now()).unwrap_or_default();
        let mut decision = decide(&cluster, &observed, now);
        self.view = View::Live;
        if decision.act == Act::Look {
            return Ok(Next::Again(Box::new(decision)));
        }
        if decision.act == Act::Finish {
            return Ok(Next::Gone);
        }
        let changed = decision.record != observed.record;
        if changed {
            if let Err(refusal) = self.commit(&mut decision, None) {
                return Ok(self.refused(&decision, &refusal));
            }
            publish(self.ctx, &decision.report.events);
        }
        if let Act::Announce { phase, change } = &decision.act {
            let state = self.announce(*phase, change, &decision)?;
            self.hook = Some(Hook { phase: *phase, change: change.clone(), state });
            return Ok(Next::Again(Box::new(decision)));
        }
        let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
        let secure = Plan::of(&cluster).is_ok_and(|plan| plan.tls.clients());
        let gateway = Gateway { http: self.ctx.http(), place, secure };
        let (kube, certificates) = (self.ctx.kube(), self.ctx.certificates());
        let hands = Hands { kube, certificates, gateway, speaker: speaker.as_deref() };
        if let Err(refusal) = hands.perform(&decision.act) {
            return Ok(self.refused(&decision, &refusal));
        }
        if let Some(record) = settled(&decision.record, &decision.act)
            && let Err(refusal) = self.commit(&mut decision, Some(record))
        {
            return Ok(self.refused(&decision, &refusal));
        }
        if changed || decision.act != Act::Nothing {
            return Ok(Next::Again(Box::new(decision)));
        }
        self.count(&decision);
        let outcome = outcome(&self.object, &decision.report).requeue_after(decision.next.max(AT_ONCE));
        Ok(Next::End(Box::new(outcome)))
    }

    /// Tells other plugins what is about to be done, or how it ended, and asks how far they are.
    fn announce(&self, phase: HookPhase, change: &str, decision: &Decision) -> Result<HookState, Error> {
        let upgrade = decision.record.upgrade.as_ref();
        let fewer = decision.record.scale_down.as_ref().filter(|_| phase == HookPhase::PreScaleDown);
        let (from, to) = match fewer {
            Some(fewer) => (Some(json!(fewer.from)), Some(json!(fewer.to))),
            None => (upgrade.map(|upgrade| json!(upgrade.from)), upgrade.map(|upgrade| json!(upgrade.to))),
        };
        let details = json!({
            "from": from, "to": to, "clientService": format!("{}-client", self.object.metadata.name),
        });
        let announcement = match phase {
            HookPhase::PreUpgrade | HookPhase::PreScaleDown | HookPhase::PreDelete => {
                Announcement::before("", change)
            }
            HookPhase::PostDelete => Announcement::after("", change, Ending::Succeeded),
            HookPhase::PostUpgrade(ending) | HookPhase::PostScaleDown(ending) => match ending {
                ChangeEnding::Succeeded => Announcement::after("", change, Ending::Succeeded),
                ChangeEnding::Failed => Announcement::after("", change, Ending::Failed),
                ChangeEnding::Withdrawn => {
                    self.ctx.withdraw()?;
                    return Ok(HookState::Done);
                }
            },
        };
        let announcement = Announcement { phase: phase.as_str().to_owned(), ..announcement };
        Ok(state_of(self.ctx.announce(&announcement.details(details))?))
    }

    /// Counts the cluster by how it stands.
    fn count(&self, decision: &Decision) {
        let available = decision.report.conditions.iter().find(|change| change.kind == condition::AVAILABLE);
        let available = available.is_some_and(|change| change.status);
        let phase = decision.report.status.phase.as_str();
        let labels = [("available", if available { "true" } else { "false" }), ("phase", phase)];
        self.ctx.count_object("clusters", &labels);
    }

    /// Reads the object from the API server. False: it is gone.
    fn read(&mut self) -> Result<bool, Error> {
        let found: Option<Value> = self.ctx.kube().live().get_ref(&self.object.reference())?;
        match found {
            Some(found) => {
                self.object = ClusterObject::from_json(found.to_string())?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Writes the record of the decision, or the one that it has become. What is told from then on has what was written: it would be
    /// taken back else.
    fn commit(&mut self, decision: &mut Decision, became: Option<Record>) -> Result<(), Refusal> {
        let record = became.unwrap_or_else(|| decision.record.clone());
        self.write(&record).map_err(|error| refused::by_kubernetes(&error))?;
        if self.object.record().is_ok_and(|kept| kept != record) {
            return Err(Refusal::Forbidden(refused::FORGETFUL.to_owned()));
        }
        decision.report.status.record.clone_from(&record);
        decision.record = record;
        Ok(())
    }

    /// Writes the record, if the object is still the one that was read.
    fn write(&mut self, record: &Record) -> Result<(), KubeError> {
        let record = serde_json::to_value(record)
            .map_err(|error| KubeError::Malformed(format!("the record cannot be written: {error}")))?;
        let known = self.object.status.get("record").unwrap_or(&Value::Null);
        let patch = json!({
            "metadata": {"resourceVersion": self.object.metadata.resource_version},
            "status": {"record": merge_difference(known, &record).unwrap_or_default()},
        });
        let patch = Patch::merge(&patch)?.subresource("status");
        let written: Value = self.ctx.kube().patch_ref(&self.object.reference(), &patch)?;
        if let Ok(written) = ClusterObject::from_json(written.to_string()) {
            self.object = written;
        }
        Ok(())
    }

    /// The outcome of a decision whose act was refused.
    fn refused(&self, decision: &Decision, refusal: &Refusal) -> Next {
        let told = refusal.told_in(decision.report.clone());
        Next::End(Box::new(outcome(&self.object, &told).requeue_after(refusal.retry())))
    }
}

fn state_of(standing: Standing) -> HookState {
    match standing {
        Standing::Done(_) => HookState::Done,
        Standing::Pending(_) => HookState::Pending,
        Standing::Failed { message, .. } => HookState::Failed(message),
    }
}
