//! Pods of members that have their data in a claim: they come and go, the member stays.

use etcd_api::ChangeKind;

use crate::{
    act::Act,
    join,
    member::{Data, Member},
    observed::Pod,
    rollout::{self, Outdated},
    situation::Situation,
    step::{LATER, Step},
    version::Version,
};

/// Makes the pod of a member that has none, or clears one away that is over. This needs no quorum; on the contrary, it
/// brings a lost one back.
pub(crate) fn step(situation: &Situation<'_>, version: Version) -> Option<Step> {
    // Whoever leaves votes until it has left: when too few answer, its vote may be the one that is missing.
    let change = situation.record.change.as_ref();
    let busy = change.filter(|change| change.kind != ChangeKind::Leave || situation.agreed().is_some());
    let busy = busy.map(|change| change.member.as_str());
    let mut members = situation.members.iter().filter(|member| Some(member.name()) != busy);
    members.find_map(|member| keep(situation, member, version))
}

/// When too few voters answer, makes what does not come up from what is asked for now: the spec, or the version, may have been
/// what kept it down, and no quorum is going to say so.
pub(crate) fn mend(situation: &Situation<'_>, version: Version) -> Option<Step> {
    let known = situation.plan.tls.missing(&situation.observed.secrets).is_empty();
    let mut down = situation.voters().filter(|member| known && is_down(situation, member));
    down.find_map(|member| mend_one(situation, member, version)).filter(|_| situation.agreed().is_none())
}

/// Does a member not come up? It does not answer, and the kubelet says why, or has not found it ready for long: one that only
/// crashed is about to come back.
pub(crate) fn is_down(situation: &Situation<'_>, member: &Member<'_>) -> bool {
    let Some(pod) = member.pod.filter(|pod| !pod.is_over() && pod.terminating.is_none()) else {
        return false;
    };
    let long = situation.now.duration_since(pod.ready_since) > situation.plan.replace_after;
    !pod.ready && member.status().is_none() && (pod.waiting.is_some() || long)
}

fn mend_one(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> Option<Step> {
    // Another version only if it never got to the one it was to go to: its data is still that of the one before.
    let back = rollout::is_taken_back(situation, member, version);
    let version = member.meant().filter(|_| !back).unwrap_or(version);
    let how = rollout::outdated(situation, member, version).filter(|how| *how != Outdated::Member)?;
    Some(rollout::touch(situation, member, how, version))
}

fn keep(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> Option<Step> {
    let removed = situation.agreed().is_some() && member.listed.is_none();
    if removed || !member.record.claim || member.data() != Data::Present {
        return None;
    }
    let name = member.name();
    match member.pod {
        Some(pod) if pod.is_over() && pod.terminating.is_none() => {
            let act = Act::DeletePod { name: name.to_owned(), uid: pod.uid.clone() };
            Some(situation.act(act, "MemberRestarting", format!("the pod {name} is over")))
        }
        Some(_) => None,
        None if stranger(situation, name).is_some() => None,
        None => {
            let missing = situation.plan.tls.missing(&situation.observed.secrets);
            if !missing.is_empty() {
                return Some(situation.wait(LATER, "SecretMissing", missing.join("; ")));
            }
            let version = member.meant().unwrap_or(version);
            let pod = join::member_pod(situation, member.record, version);
            let act = Act::CreatePod(Box::new(pod));
            Some(situation.act(act, "MemberRestarting", format!("making the pod {name} on its data")))
        }
    }
}

/// A pod of the same name that is not the cluster's.
fn stranger<'a>(situation: &Situation<'a>, name: &str) -> Option<&'a Pod> {
    situation.observed.pods.iter().find(|pod| pod.name == name && !pod.owned)
}
