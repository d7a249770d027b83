//! What comes of an act.

use std::{collections::BTreeMap, rc::Rc};

use etcd_api::Id;
use etcd_core::{
    act::{Act, HookPhase},
    decision::Report,
    observed::{AlarmKind, Claim, Hook, HookState, Observed, Secret, VOLUME_UNREACHABLE},
    refusal::Refusal,
};
use serde_json::Value;

use crate::{
    etcd::{NO_LEADER, NOT_FOUND, PEER_EXISTS},
    objects::{SimClaim, SimPod},
    raft::Disk,
    world::{UID, World},
};

impl World {
    /// Plugins are asked once about a phase.
    fn announce(&mut self, phase: HookPhase, change: &str) {
        let is_known = |hook: &Hook| hook.phase == phase && hook.change == change;
        if !self.hook.as_ref().is_some_and(is_known) {
            self.hook = Some(Hook { phase, change: change.to_owned(), state: HookState::Pending });
            self.announced.push((phase, change.to_owned()));
            self.object_changed();
        }
    }

    /// Carries an act out.
    ///
    /// # Errors
    /// The words of whoever refused.
    pub fn perform(&mut self, act: &Act) -> Result<(), Refusal> {
        match act {
            Act::Nothing | Act::Look => Ok(()),
            Act::Announce { phase, change } => {
                self.announce(*phase, change);
                Ok(())
            }
            Act::Issue(order) => {
                let secret = Secret {
                    keys: order.purpose.keys().into_iter().map(str::to_owned).collect(),
                    authorities: "made for the cluster".to_owned(),
                    expires: Some(self.now + order.validity),
                    made_for: order.made_for.clone(),
                };
                self.objects.secrets.insert(order.secret.clone(), secret);
                self.object_changed();
                Ok(())
            }
            Act::CreatePod(_) if self.quota.is_some_and(|quota| self.objects.pods.len() >= quota) => {
                Err(Refusal::Forbidden("exceeded quota: pods".to_owned()))
            }
            Act::CreatePod(object) => self.create_pod(object).map_err(Refusal::Outdated),
            Act::CreateClaim(object) => self.create_claim(object).map_err(Refusal::Outdated),
            Act::DeletePod { name, uid } => {
                self.delete_pod(name, uid);
                Ok(())
            }
            Act::DeleteClaim { name, uid } => {
                self.delete_claim(name, uid);
                Ok(())
            }
            Act::PatchImage { name, uid, image, version } => {
                let Some(pod) = self.objects.pod_mut(name).filter(|pod| pod.seen.uid == *uid) else {
                    return Ok(());
                };
                pod.seen.image.clone_from(image);
                pod.seen.version = version.to_string();
                pod.seen.waiting = None;
                pod.crashed = None;
                self.object_changed();
                Ok(())
            }
            Act::ExpandClaim { name, uid, storage } => {
                if let Some(claim) = self.objects.claim_mut(name).filter(|claim| claim.seen.uid == *uid) {
                    claim.seen.storage.clone_from(storage);
                    self.object_changed();
                }
                Ok(())
            }
            Act::Finish => {
                self.objects.owner = None;
                self.object_changed();
                Ok(())
            }
            _ => self.ask(act).map_err(Refusal::Etcd),
        }
    }

    /// Acts on etcd itself.
    fn ask(&mut self, act: &Act) -> Result<(), String> {
        let cluster = self.cluster().ok_or("no cluster is known")?;
        let answer = match act {
            Act::MemberAdd { peer_url, learner } => match self.member_add(cluster, peer_url, *learner) {
                Err(PEER_EXISTS) => Ok(()),
                other => other,
            },
            Act::MemberRemove { id } => match self.member_remove(cluster, *id) {
                Err(NOT_FOUND) => Ok(()),
                other => other,
            },
            Act::MemberPromote { id } => self.member_promote(cluster, *id),
            Act::MoveLeader { from, to } => self.move_leader(from, *to),
            Act::Compact { .. } => self.compact(cluster),
            Act::Defragment { member } => self.defragment(member),
            Act::Disarm { member, alarm } => self.disarm_alarm(cluster, *member, *alarm),
            Act::DowngradeEnable { version } => self.downgrade(cluster, Some(version.minor)),
            Act::DowngradeCancel => self.downgrade(cluster, None),
            _ => Ok(()),
        };
        answer.map_err(str::to_owned)
    }

    fn disarm_alarm(&mut self, cluster: Id, member: Id, alarm: AlarmKind) -> Result<(), &'static str> {
        self.leader(cluster).ok_or(NO_LEADER)?;
        self.disarm(cluster, member, alarm)
    }

    fn create_pod(&mut self, object: &Value) -> Result<(), String> {
        let uid = format!("pod-{}", self.unique());
        let mut pod = SimPod::of(object, uid, UID, self.now)?;
        let name = pod.seen.name.clone();
        if self.objects.pods.contains_key(&name) {
            return Err(format!("pods {name:?} already exists"));
        }
        let claim = self.objects.claims.get(&name).filter(|_| pod.claim);
        if claim.is_some_and(|claim| claim.unreachable) {
            pod.seen.waiting = Some(VOLUME_UNREACHABLE.to_owned());
        }
        if pod.claim && claim.is_none() {
            self.violate(format!("the pod {name} wants a claim that is not there"));
        }
        *self.created.entry(format!("pod {name}")).or_default() += 1;
        self.objects.pods.insert(name, Rc::new(pod));
        self.object_changed();
        Ok(())
    }

    fn create_claim(&mut self, object: &Value) -> Result<(), String> {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("/metadata/name");
        if self.objects.claims.contains_key(&name) {
            return Err(format!("persistentvolumeclaims {name:?} already exists"));
        }
        let seen = Claim {
            name: name.clone(),
            uid: format!("claim-{}", self.unique()),
            owned: text("/metadata/ownerReferences/0/uid") == UID,
            terminating: false,
            lost: false,
            storage: text("/spec/resources/requests/storage"),
            digest: text("/metadata/annotations/etcd.database.coreos.com~1digest"),
        };
        *self.created.entry(format!("claim {name}")).or_default() += 1;
        self.objects
            .claims
            .insert(name, Rc::new(SimClaim { seen, disk: Disk::default(), unreachable: false }));
        self.object_changed();
        Ok(())
    }

    fn delete_pod(&mut self, name: &str, uid: &str) {
        let now = self.now;
        if let Some(pod) = self.objects.pod_mut(name).filter(|pod| pod.seen.uid == uid) {
            pod.seen.terminating.get_or_insert(now);
            pod.by_operator = true;
            self.object_changed();
        }
    }

    fn delete_claim(&mut self, name: &str, uid: &str) {
        if let Some(claim) = self.objects.claim_mut(name).filter(|claim| claim.seen.uid == uid) {
            claim.seen.terminating = true;
            self.object_changed();
        }
    }

    /// Tells a report: the status without the record, conditions, events, Services and the disruption budget.
    pub fn tell(&mut self, observed: &Observed, report: &Report) {
        self.watch_report(observed, report);
        for condition in &report.conditions {
            let value = (condition.status, condition.reason.to_owned());
            self.conditions.insert(condition.kind.to_owned(), value);
        }
        for kind in &report.dropped {
            self.conditions.remove(*kind);
        }
        for event in &report.events {
            self.told.push((event.reason.to_owned(), event.message.clone()));
        }
        self.standing = Some(report.standing.clone());
        self.status = Some(report.status.clone());
        let mut changed = false;
        for child in &report.children {
            changed |= self.apply(child);
        }
        if let Some(owner) = &mut self.objects.owner {
            owner.announced = report.status.phase == etcd_api::Phase::Running;
        }
        if changed {
            self.object_changed();
        }
    }

    fn apply(&mut self, child: &Value) -> bool {
        let name = child.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(available) = child.pointer("/spec/minAvailable").and_then(Value::as_i64) {
            return self.objects.min_available.replace(available) != Some(available);
        }
        let selector = child.pointer("/spec/selector").and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let selector: BTreeMap<String, String> = selector.into_iter().flatten().filter_map(text).collect();
        let before = self.objects.services.insert(name, selector.clone());
        before != Some(selector)
    }
}
