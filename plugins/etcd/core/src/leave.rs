//! A member leaves: the lead is moved, it is removed, and what it had is deleted.

use etcd_api::{Change, ChangeKind, LeaveReason, names::event};
use jiff::SignedDuration;

use crate::{
    act::Act,
    decision::EventNote,
    member::{Data, Member},
    planted::{self, Defect},
    repair, rollout,
    situation::Situation,
    step::{SOON, Step},
    upgrade::Aim,
};

/// How long the lead is tried to be moved before the leader is removed all the same: the others elect another one then.
const MOVE_LEADER_DEADLINE: SignedDuration = SignedDuration::from_secs(60);

/// Begins it.
pub(crate) fn begin(situation: &Situation<'_>, member: &str, reason: LeaveReason) -> Step {
    let change = Change {
        kind: ChangeKind::Leave,
        member: member.to_owned(),
        reason: Some(reason),
        source: etcd_api::SeedSource::default(),
        since: situation.now,
    };
    let message = format!("member {member} leaves: {}", sentence(reason));
    situation.note("MembershipChanging", message).remember(|record| record.change = Some(change))
}

fn sentence(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Dead => "it does not come up any more",
        LeaveReason::DataLost => "its data is gone",
        LeaveReason::Corrupt => "its data differs from the others'",
        LeaveReason::ScaleDown => "fewer members are asked for",
        LeaveReason::Outdated => "another member has taken its place",
        LeaveReason::Abandoned => "it is not needed",
    }
}

/// Goes on with it.
pub(crate) fn go_on(situation: &Situation<'_>, change: &Change, aim: &Aim) -> Step {
    let name = change.member.as_str();
    let Some(member) = situation.member(name) else {
        return situation
            .note("MembershipChanging", "the member is gone")
            .remember(|record| record.change = None);
    };
    if situation.agreed().is_none() {
        return situation.wait(SOON, "QuorumLost", format!("waiting for a quorum to remove member {name}"));
    }
    match member.listed {
        Some(listed) => remove(situation, (change, aim), member, listed.id, listed.learner),
        None => clean_up(situation, member),
    }
}

fn remove(
    situation: &Situation<'_>,
    (change, aim): (&Change, &Aim),
    member: &Member<'_>,
    id: etcd_api::Id,
    learner: bool,
) -> Step {
    let name = member.name();
    if !learner && is_over(situation, change, member) {
        let message = format!("member {name} stays");
        return situation.note("MembershipChanging", message).remember(|record| record.change = None);
    }
    let asked = situation.now.duration_since(change.since);
    if situation.leads(name)
        && asked < MOVE_LEADER_DEADLINE
        && !planted::has(Defect::AnyVictim)
        && let Some(to) = situation.successor(name, None).and_then(Member::id)
    {
        let act = Act::MoveLeader { from: name.to_owned(), to };
        return situation.act(act, "MembershipChanging", format!("moving the lead away from member {name}"));
    }
    if learner || situation.can_spare(name) {
        return situation.act(
            Act::MemberRemove { id },
            "MembershipChanging",
            format!("removing member {name}"),
        );
    }
    if let Some((other, _)) = repair::find_spare(situation) {
        let message = format!("member {} has to be removed before member {name}", other.name());
        return situation.note("MembershipChanging", message).remember(|record| record.change = None);
    }
    // What keeps another one down may be what its pod is made from, and mending that must not wait for this.
    let message = format!("member {name} cannot be removed: the others would not be enough to agree");
    rollout::heal(situation, aim).unwrap_or_else(|| situation.wait(SOON, "QuorumAtRisk", message))
}

/// Is there no reason any more for a voter to leave? It may have recovered, or more members may be asked for by now.
fn is_over(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> bool {
    let spare = situation.voter_count() > situation.plan.size;
    match change.reason {
        Some(LeaveReason::ScaleDown | LeaveReason::Outdated) => {
            // The kubelet may not have found it well again yet.
            !spare || (member.is_healthy() && situation.first_unfit(member.name()).is_some())
        }
        Some(LeaveReason::Dead) => member.is_healthy(),
        Some(LeaveReason::DataLost) => member.data() == Data::Present,
        Some(LeaveReason::Corrupt) => {
            situation.observed.etcd.alarms.is_some() && !situation.is_corrupt(member)
        }
        Some(LeaveReason::Abandoned) | None => false,
    }
}

/// It is no member any more.
fn clean_up(situation: &Situation<'_>, member: &Member<'_>) -> Step {
    let name = member.name().to_owned();
    let alarms = situation.observed.etcd.alarms.iter().flatten();
    if let Some(alarm) = alarms.into_iter().find(|alarm| Some(alarm.member) == member.id()) {
        let act = Act::Disarm { member: alarm.member, alarm: alarm.kind };
        return situation.act(
            act,
            "MembershipChanging",
            format!("taking back the alarm about member {name}"),
        );
    }
    if let Some(act) = discard(member) {
        return situation.act(act, "MembershipChanging", format!("deleting what member {name} had"));
    }
    let step = situation.note("MembershipChanging", format!("member {name} is gone"));
    let was_member = member.record.id.is_some();
    let step = step.remember(|record| {
        record.change = None;
        record.members.retain(|member| member.name != name);
    });
    if !was_member {
        return step;
    }
    let message = format!("Existing member {} removed from the cluster", member.name());
    step.tell(EventNote::normal(event::MEMBER_REMOVED, message))
}

/// The next thing of a member to delete; none when nothing is left that is not on its way.
pub(crate) fn discard(member: &Member<'_>) -> Option<Act> {
    if let Some(pod) = member.pod.filter(|pod| pod.terminating.is_none()) {
        return Some(Act::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() });
    }
    let claim = member.claim.filter(|claim| !claim.terminating)?;
    Some(Act::DeleteClaim { name: claim.name.clone(), uid: claim.uid.clone() })
}
