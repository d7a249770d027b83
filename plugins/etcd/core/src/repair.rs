//! Members that are beyond help.

use etcd_api::{LeaveReason, names::event};
use jiff::SignedDuration;

use crate::{
    decision::EventNote,
    leave,
    member::{Data, Member},
    observed::{Pod, VOLUME_UNREACHABLE},
    situation::Situation,
    step::Step,
};

/// So long after it was asked to go a pod is still there only if nobody takes it away: twice the time that it is given.
const OVERDUE: SignedDuration = SignedDuration::from_mins(1);

/// The first voter that will not be of use any more.
pub(crate) fn find<'s, 'a>(situation: &'s Situation<'a>) -> Option<(&'s Member<'a>, LeaveReason)> {
    all(situation).into_iter().next()
}

/// The first of them that the others can agree without.
pub(crate) fn find_spare<'s, 'a>(situation: &'s Situation<'a>) -> Option<(&'s Member<'a>, LeaveReason)> {
    all(situation).into_iter().find(|(member, _)| situation.can_spare(member.name()))
}

/// Voters that will not be of use any more, the surest case first.
fn all<'s, 'a>(situation: &'s Situation<'a>) -> Vec<(&'s Member<'a>, LeaveReason)> {
    let dead = |member: &&'s Member<'a>| why(situation, member).map(|reason| (*member, reason));
    let mut found: Vec<_> = situation.voters().collect::<Vec<_>>().iter().filter_map(dead).collect();
    found.sort_by_key(|(member, reason)| (rank(*reason), member.record.serial));
    found
}

fn rank(reason: LeaveReason) -> u8 {
    match reason {
        LeaveReason::DataLost => 0,
        LeaveReason::Corrupt => 1,
        _ => 2,
    }
}

fn why(situation: &Situation<'_>, member: &Member<'_>) -> Option<LeaveReason> {
    if situation.is_corrupt(member) {
        return Some(LeaveReason::Corrupt);
    }
    match member.data() {
        Data::Lost | Data::Doomed => return Some(LeaveReason::DataLost),
        Data::Unborn | Data::Present => {}
    }
    let pod = member.pod?;
    let longer = |since| situation.now.duration_since(since) > situation.plan.replace_after;
    if let Some(since) = pod.terminating {
        // A kubelet that works takes a pod away. Where none does, the member has been gone since it was last seen ready.
        let overdue = situation.now.duration_since(since) > OVERDUE && !pod.ready;
        let gone = if overdue { since.min(pod.ready_since) } else { since };
        return longer(gone).then_some(LeaveReason::Dead);
    }
    let silent = !pod.ready && longer(pod.ready_since) && !member.is_healthy();
    (silent && !is_the_specs_fault(pod) && spec_is_good(situation, pod)).then_some(LeaveReason::Dead)
}

/// Is its volume on none of the nodes, and has been for long?
pub(crate) fn is_out_of_reach(situation: &Situation<'_>, member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| {
        pod.waiting.as_deref() == Some(VOLUME_UNREACHABLE)
            && situation.now.duration_since(pod.ready_since) > situation.plan.replace_after
    })
}

/// Would any other pod made from the same spec wait for the same thing?
pub(crate) fn is_the_specs_fault(pod: &Pod) -> bool {
    const OF_THE_SPEC: [&str; 4] =
        ["CreateContainerConfigError", "CreateContainerError", "RunContainerError", "Unschedulable"];
    lacks_image(pod) || pod.waiting.as_deref().is_some_and(|why| OF_THE_SPEC.contains(&why))
}

/// Can its image not be had?
pub(crate) fn lacks_image(pod: &Pod) -> bool {
    const OF_IMAGES: [&str; 4] =
        ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];
    pod.waiting.as_deref().is_some_and(|why| OF_IMAGES.contains(&why))
}

/// Does another member run well on the very same? Else the fault may be what all of them are made from, and replacing
/// one after the other would only cost the cluster its members.
fn spec_is_good(situation: &Situation<'_>, pod: &Pod) -> bool {
    situation.voters().any(|member| {
        member.name() != pod.name
            && member.is_fit()
            && member.pod.is_some_and(|other| (&other.digest, &other.image) == (&pod.digest, &pod.image))
    })
}

/// Begins to replace the first of them, if the others can agree without it.
pub(crate) fn begin(situation: &Situation<'_>) -> Option<Step> {
    let (member, reason) = find_spare(situation)?;
    let message = format!("The dead member {} is being replaced", member.name());
    let step = leave::begin(situation, member.name(), reason);
    Some(step.tell(EventNote::normal(event::REPLACING_DEAD_MEMBER, message)))
}
