//! What is left over: members of other incarnations, and what belongs to no member.

use etcd_api::LeaveReason;

use crate::{
    act::Act,
    join, leave, manifest,
    member::Member,
    situation::Situation,
    step::{SOON, Step},
};

/// Deletes members of incarnations before and after the one that serves.
pub(crate) fn incarnations(situation: &Situation<'_>) -> Option<Step> {
    let record = situation.others().next()?;
    if record.incarnation < situation.record.incarnation {
        // Clients must not be left without anybody: they are sent to the new members before the old ones go.
        let serving = manifest::client_selector(&situation.cluster.name, Some(situation.record.incarnation));
        let selects = situation.observed.services.get(&situation.place().client_service());
        if selects != Some(&serving) {
            return Some(situation.wait(SOON, "Recovering", "clients are being sent to the new members"));
        }
    }
    let member = Member::apart(record, situation.observed);
    let name = member.name().to_owned();
    if let Some(act) = leave::discard(&member) {
        return Some(situation.act(act, "Recovering", format!("deleting what member {name} had")));
    }
    let step = situation.note("Recovering", format!("member {name} is gone"));
    Some(step.remember(|record| record.members.retain(|member| member.name != name)))
}

/// Members that were found when nothing was remembered, and of which nothing is left.
pub(crate) fn shadows(situation: &Situation<'_>) -> Option<Step> {
    let there =
        |member: &Member<'_>| member.pod.is_some() || member.claim.is_some() || member.listed.is_some();
    if situation.members.iter().any(there) {
        return None;
    }
    let step = situation.note("CleaningUp", "nothing is left of the members that were found");
    Some(step.remember(|record| record.members.clear()))
}

/// Members that are remembered and not listed: somebody else removed them. Learners that nobody takes care of.
pub(crate) fn strays(situation: &Situation<'_>) -> Option<Step> {
    situation.agreed()?;
    if let Some(removed) = situation.members.iter().find(|member| member.listed.is_none()) {
        return Some(leave::begin(situation, removed.name(), LeaveReason::Abandoned));
    }
    let learner =
        situation.members.iter().find(|member| member.listed.is_some_and(|listed| listed.learner))?;
    Some(join::take_over(situation, learner.name()))
}

/// Pods and claims of ours that belong to no member, for they were made by a request that arrived late.
pub(crate) fn orphans(situation: &Situation<'_>) -> Option<Step> {
    let unknown = |name: &str| situation.record.member(name).is_none();
    let pods = &situation.observed.pods;
    if let Some(pod) = pods.iter().find(|pod| pod.owned && pod.terminating.is_none() && unknown(&pod.name)) {
        let act = Act::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() };
        return Some(situation.act(act, "CleaningUp", format!("the pod {} belongs to no member", pod.name)));
    }
    let claims = &situation.observed.claims;
    let claim = claims.iter().find(|claim| claim.owned && !claim.terminating && unknown(&claim.name))?;
    let act = Act::DeleteClaim { name: claim.name.clone(), uid: claim.uid.clone() };
    Some(situation.act(act, "CleaningUp", format!("the claim {} belongs to no member", claim.name)))
}
