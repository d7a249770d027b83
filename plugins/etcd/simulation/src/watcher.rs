//! What must never happen, looked at before every act and after every event.

use std::rc::Rc;

use etcd_api::{Id, Record};
use etcd_core::{
    act::{Act, HookPhase},
    decision::Report,
    observed::{Answer, HookState, Observed},
};
use jiff::SignedDuration;

use crate::{raft::State, world::World};

/// How long the lead may be tried to be moved before a leader may be removed.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

impl World {
    /// Looks at an act before it is done. Only what was so when the operator looked can be held against it: `undisturbed` says
    /// that nothing went down since.
    pub fn watch(&mut self, act: &Act, observed: &Observed, paused: bool, undisturbed: bool) {
        if paused && !matches!(act, Act::Nothing | Act::Look | Act::Finish) {
            self.violate(format!("paused, and it does {}", name(act)));
        }
        match act {
            Act::MemberAdd { learner, .. } => self.watch_add(*learner),
            Act::MemberRemove { id } => self.watch_remove(*id, observed, undisturbed),
            Act::MemberPromote { id } => self.watch_promote(*id, undisturbed),
            // There is no service to be kept up any more.
            Act::DeletePod { .. } if self.may_be_deleted() => {}
            Act::DeletePod { name, uid } => self.watch_delete_pod(name, uid, undisturbed),
            Act::Finish => self.watch_finish(),
            Act::PatchImage { name, .. } => self.watch_touch(name, "restarts", undisturbed),
            Act::Defragment { member } => self.watch_touch(member, "defragments", undisturbed),
            Act::DeleteClaim { name, uid } => self.watch_delete_claim(name, uid),
            Act::CreatePod(pod) => self.watch_create(pod, observed),
            _ => {}
        }
    }

    /// Others have prepared for the deletion, or there is nothing to prepare for: as far as is known nobody was ever served.
    fn may_be_deleted(&self) -> bool {
        let Some(owner) = self.objects.owner.as_ref().filter(|owner| owner.deleting) else { return false };
        let prepared = self.hook.as_ref().is_some_and(|hook| match hook.phase {
            HookPhase::PreDelete => hook.state == HookState::Done,
            phase => phase == HookPhase::PostDelete,
        });
        prepared || owner.record.cluster_id.is_none()
    }

    fn watch_finish(&mut self) {
        let runs = self.objects.pods.values().any(|pod| pod.seen.owned && pod.seen.terminating.is_none());
        if self.objects.owner.is_some() && (runs || !self.may_be_deleted()) {
            self.violate("the object is let go before its members are");
        }
    }

    /// The cluster the operator believes in, its leader's list, and voters that work.
    fn believed(&self) -> Option<(Id, Rc<State>, Vec<String>)> {
        let cluster = self.cluster()?;
        let (leader, _) = self.leader(cluster)?;
        Some((cluster, self.state(&leader), self.working(cluster).0))
    }

    fn watch_add(&mut self, learner: bool) {
        if !learner {
            self.violate("a member is added with a vote");
        }
        let Some((_, state, _)) = self.believed() else { return };
        if state.members.iter().any(|member| member.learner || member.name.is_empty()) {
            self.violate("a member is added while another one is still joining");
        }
    }

    fn watch_remove(&mut self, id: Id, observed: &Observed, undisturbed: bool) {
        let Some((cluster, state, working)) = self.believed() else { return };
        if !state.voters().contains(&id) {
            return;
        }
        let pod = self.pod_of(cluster, id).filter(|pod| working.contains(pod));
        let others = working.iter().filter(|other| Some(*other) != pod.as_ref()).count();
        let left = state.voters().len() - 1;
        if undisturbed && others < left / 2 + 1 {
            self.violate(format!("removing {id} leaves {others} of {left} voters working"));
        }
        let corrupt = state.alarms.iter().any(|(of, _)| *of == id);
        let sick = others < left;
        if undisturbed && pod.is_some() && sick && !corrupt {
            self.violate(format!("{id} works and is removed while another voter does not"));
        }
        let leads = self.leaders.get(&cluster).is_some_and(|leader| leader.member == id);
        let since = observed.record.change.as_ref().map(|change| change.since);
        let tried = since.is_some_and(|since| self.now.duration_since(since) >= PATIENCE);
        let ready = working.iter().filter(|other| Some(*other) != pod.as_ref() && self.ready(other)).count();
        if undisturbed && leads && pod.is_some() && ready > 0 && !tried {
            self.violate(format!("{id} is removed while it leads"));
        }
    }

    fn ready(&self, pod: &str) -> bool {
        self.objects.pods.get(pod).is_some_and(|pod| pod.seen.ready)
    }

    fn watch_promote(&mut self, id: Id, undisturbed: bool) {
        let Some((cluster, state, working)) = self.believed() else { return };
        let up = usize::from(self.pod_of(cluster, id).is_some());
        let voters = state.voters().len() + 1;
        if undisturbed && working.len() + up < voters / 2 + 1 {
            self.violate(format!("promoting {id} leaves {} of {voters} voters working", working.len() + up));
        }
    }

    /// A voter is taken out of service for a while.
    fn watch_touch(&mut self, pod: &str, how: &str, undisturbed: bool) {
        let Some((cluster, state, working)) = self.believed() else { return };
        if !undisturbed || !working.iter().any(|other| other == pod) {
            return;
        }
        let voters = state.voters().len();
        if working.len() < voters {
            self.violate(format!("{how} {pod} while another voter does not work"));
        }
        if voters > 2 && working.len() - 1 < state.quorum() {
            self.violate(format!("{how} {pod} and takes the quorum away"));
        }
        if working.iter().any(|other| other != pod && self.defragments(other)) {
            self.violate(format!("{how} {pod} while the database of another voter is defragmented"));
        }
        let leads = self.leader(cluster).is_some_and(|(leader, _)| leader == pod);
        let unready = working.iter().any(|other| other != pod && !self.ready(other));
        if voters > 1 && unready {
            self.violate(format!("{how} {pod} while another voter is not ready"));
        }
        if voters > 1 && leads {
            self.violate(format!("{how} {pod} while it leads"));
        }
    }

    fn watch_delete_pod(&mut self, name: &str, uid: &str, undisturbed: bool) {
        let Some(pod) = self.objects.pods.get(name).filter(|pod| pod.seen.uid == uid) else { return };
        let (claim, over) = (pod.claim, pod.seen.is_over());
        if !claim && !over && self.is_voter(name) {
            self.violate(format!("the pod {name} is deleted with the data of a voter"));
        }
        self.watch_touch(name, "deletes", undisturbed);
    }

    fn watch_delete_claim(&mut self, name: &str, uid: &str) {
        let there = self.objects.claims.get(name).is_some_and(|claim| claim.seen.uid == uid);
        if there && self.is_voter(name) {
            self.violate(format!("the claim {name} is deleted with the data of a voter"));
        }
    }

    /// Does the data of this pod or claim belong to a voter of the cluster the operator believes in?
    fn is_voter(&self, name: &str) -> bool {
        let disk = self.objects.claims.get(name).map(|claim| &claim.disk).or_else(|| self.disk(name));
        let Some((cluster, member)) = disk.and_then(|disk| disk.identity) else { return false };
        let known = self.configurations();
        let state = known.iter().find(|(of, _)| *of == cluster).map(|(_, state)| state);
        self.cluster() == Some(cluster) && state.is_some_and(|state| state.voters().contains(&member))
    }

    fn watch_create(&mut self, pod: &serde_json::Value, observed: &Observed) {
        let words = pod.pointer("/spec/containers/0/command").and_then(serde_json::Value::as_array);
        let new = words.into_iter().flatten().any(|word| word == "--initial-cluster-state=new");
        let source = observed.record.change.as_ref().map(|change| !change.source.is_empty());
        if new && observed.record.cluster_id.is_some() && source != Some(true) {
            self.violate("a new cluster is begun though one exists");
        }
    }

    /// Looks at a record before it is written over the one before.
    pub fn watch_record(&mut self, before: &Record, after: &Record) {
        if let (Some(one), Some(other)) = (before.cluster_id, after.cluster_id)
            && one != other
        {
            let asked = after.restored != before.restored;
            if !asked && !self.destroyed.contains(&one) {
                self.violate(format!("the cluster {one} became {other} though it could have gone on"));
            }
        }
        if before.cluster_id.is_some() && after.cluster_id.is_none() {
            self.violate("the cluster was forgotten");
        }
        let mut serials: Vec<u32> = after.members.iter().map(|member| member.serial).collect();
        serials.sort_unstable();
        serials.dedup();
        if serials.len() != after.members.len() {
            self.violate("two members have one number");
        }
    }

    /// Looks at what is told, beside what was seen.
    pub fn watch_report(&mut self, observed: &Observed, report: &Report) {
        let status = &report.status;
        let Some(owner) = &self.objects.owner else { return };
        let (paused, generation) = (owner.spec.paused, owner.generation);
        if status.observed_generation == generation && status.control_paused != paused {
            self.violate("the status does not tell whether it is paused");
        }
        let before = self.status.as_ref().map_or(0, |status| status.observed_generation);
        if status.observed_generation < before && observed.view == etcd_core::observed::View::Live {
            self.violate("the status goes back to an older generation");
        }
        let ready = |name: &String| observed.pods.iter().any(|pod| pod.ready && pod.name == *name);
        if !status.members.ready.iter().all(ready) || status.members.unready.iter().any(ready) {
            self.violate("the status tells of other ready members than the kubelet does");
        }
        let runs = |answer: &Answer| match answer {
            Answer::Status(told) => told.version == status.current_version,
            Answer::Nothing(_) => false,
        };
        if !status.current_version.is_empty() && !observed.etcd.answers.values().any(runs) {
            let version = status.current_version.clone();
            self.violate(format!("the status tells of version {version}, which no member runs"));
        }
    }

    /// Looks at the small etcd after whatever happened.
    pub fn watch_members(&mut self) {
        let clusters: Vec<Id> = self.leaders.keys().copied().collect();
        for cluster in clusters {
            let Some((leader, _)) = self.leader(cluster) else { continue };
            let state = self.state(&leader);
            if state.members.iter().filter(|member| member.learner).count() > 1 {
                self.violate("there are two learners");
            }
            let unstarted =
                state.members.iter().filter(|member| !member.learner && member.name.is_empty()).count();
            if unstarted > 0 && state.members.len() > 1 {
                self.violate("a member votes that was never started");
            }
        }
        self.check_kept();
    }
}

fn name(act: &Act) -> String {
    let text = format!("{act:?}");
    text.chars().take_while(|letter| letter.is_alphanumeric()).collect()
}
