//! Carries an act out.

use std::time::Duration;

use etcd_core::{act::Act, refusal::Refusal};
use pilothouse_sdk::{Certificates, DeleteOptions, Gvk, Kube, KubeError, ObjectRef, Ownership, Patch};
use serde_json::{Value, json};

use crate::{gateway::Gateway, refused, secrets};

/// How long etcd may take for a change. Longer ones go on without us: the next look sees what came of them.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whom acts are carried out with.
#[derive(Debug)]
pub(crate) struct Hands<'a> {
    pub(crate) kube: Kube,
    pub(crate) certificates: Certificates,
    pub(crate) gateway: Gateway<'a>,
    /// The member that is asked for changes of the cluster.
    pub(crate) speaker: Option<&'a str>,
}

impl Hands<'_> {
    /// Carries an act out. One that is done already is done.
    ///
    /// # Errors
    /// The words of whoever refused.
    pub(crate) fn perform(&self, act: &Act) -> Result<(), Refusal> {
        match act {
            Act::Nothing | Act::Look | Act::Finish | Act::Announce { .. } => Ok(()),
            Act::CreatePod(object) | Act::CreateClaim(object) => {
                let created: Result<Value, KubeError> = self.kube.create(object.as_ref(), Ownership::None);
                created.map(drop).map_err(|error| refused::by_kubernetes(&error))
            }
            Act::DeletePod { name, uid } => self.delete("Pod", name, uid),
            Act::DeleteClaim { name, uid } => self.delete("PersistentVolumeClaim", name, uid),
            Act::PatchImage { name, uid, image, version } => {
                let patch = json!({
                    "metadata": {"uid": uid, "annotations": {"etcd.version": version.to_string()}},
                    "spec": {"containers": [{"name": "etcd", "image": image}]},
                });
                self.patch("Pod", name, Patch::strategic(&patch))
            }
            Act::ExpandClaim { name, uid, storage } => {
                let patch = json!({
                    "metadata": {"uid": uid},
                    "spec": {"resources": {"requests": {"storage": storage}}},
                });
                self.patch("PersistentVolumeClaim", name, Patch::merge(&patch))
            }
            Act::Issue(order) => secrets::issue(&self.certificates, self.gateway.place, order),
            _ => self.ask(act),
        }
    }

    fn reference(&self, kind: &str, name: &str) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", kind), self.gateway.place.namespace, name)
    }

    fn delete(&self, kind: &str, name: &str, uid: &str) -> Result<(), Refusal> {
        let options = DeleteOptions { uid: Some(uid.to_owned()), ..DeleteOptions::default() };
        match self.kube.delete_ref(&self.reference(kind, name), &options) {
            // Gone, or another one of the same name by now: this very object is not there any more.
            Ok(_) | Err(KubeError::Conflict(_) | KubeError::NotFound(_)) => Ok(()),
            Err(error) => Err(refused::by_kubernetes(&error)),
        }
    }

    fn patch(&self, kind: &str, name: &str, patch: Result<Patch, KubeError>) -> Result<(), Refusal> {
        let patched =
            patch.and_then(|patch| self.kube.patch_ref::<Value>(&self.reference(kind, name), &patch));
        patched.map(drop).map_err(|error| refused::by_kubernetes(&error))
    }

    /// Acts on etcd itself.
    fn ask(&self, act: &Act) -> Result<(), Refusal> {
        let Some((member, path, body, done)) = request(act, self.speaker) else {
            return Err(Refusal::Unanswered("no member answers that could be asked".to_owned()));
        };
        match self.gateway.post(member, path, &body, PATIENCE) {
            Ok(_) => Ok(()),
            Err(Refusal::Etcd(why)) if done.is_some_and(|done| why.contains(done)) => Ok(()),
            // It goes on without us. Asked again, a large database would be begun anew each time.
            Err(Refusal::Late(_)) if matches!(act, Act::Defragment { .. }) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }
}

/// The member to ask, path, body, and the words with which etcd says that it is done already.
fn request<'a>(
    act: &'a Act,
    speaker: Option<&'a str>,
) -> Option<(&'a str, &'static str, Value, Option<&'static str>)> {
    let speaker = |path, body, done| Some((speaker?, path, body, done));
    match act {
        Act::MemberAdd { peer_url, learner } => speaker(
            "cluster/member/add",
            json!({"peerURLs": [peer_url], "isLearner": learner}),
            Some("Peer URLs already exists"),
        ),
        Act::MemberPromote { id } => speaker("cluster/member/promote", json!({"ID": id.0.to_string()}), None),
        Act::MemberRemove { id } => {
            speaker("cluster/member/remove", json!({"ID": id.0.to_string()}), Some("member not found"))
        }
        Act::MoveLeader { from, to } => {
            Some((from, "maintenance/transfer-leadership", json!({"targetID": to.0.to_string()}), None))
        }
        Act::Compact { revision } => speaker(
            "kv/compaction",
            json!({"revision": revision.to_string(), "physical": true}),
            Some("required revision has been compacted"),
        ),
        Act::Defragment { member } => Some((member, "maintenance/defragment", json!({}), None)),
        Act::Disarm { member, alarm } => speaker(
            "maintenance/alarm",
            json!({"action": "DEACTIVATE", "memberID": member.0.to_string(), "alarm": alarm.as_str()}),
            None,
        ),
        Act::DowngradeEnable { version } => speaker(
            "maintenance/downgrade",
            json!({"action": "ENABLE", "version": format!("{}.{}.0", version.major, version.minor)}),
            Some("cluster has a downgrade job in progress"),
        ),
        Act::DowngradeCancel => {
            speaker("maintenance/downgrade", json!({"action": "CANCEL"}), Some("no inflight downgrade job"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use etcd_api::Id;

    use super::*;

    #[test]
    fn identifiers_cross_as_decimal_text() {
        let act = Act::MemberRemove { id: Id(u64::MAX) };
        let (member, path, body, done) = request(&act, Some("a")).unwrap();
        assert_eq!((member, path), ("a", "cluster/member/remove"));
        assert_eq!(body, json!({"ID": "18446744073709551615"}));
        assert_eq!(done, Some("member not found"));
    }

    #[test]
    fn the_leader_itself_is_asked_to_go() {
        let act = Act::MoveLeader { from: "b".to_owned(), to: Id(5) };
        assert_eq!(request(&act, Some("a")).unwrap().0, "b");
        assert!(request(&act, None).is_some(), "whoever speaks for the others does not matter for it");
    }

    #[test]
    fn nobody_to_ask_is_no_success() {
        assert!(request(&Act::DowngradeCancel, None).is_none());
    }
}
