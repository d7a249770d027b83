//! A member joins: its claim is made, it is added as learner, started, and promoted when it knows what the others know.

use etcd_api::{Change, ChangeKind, LeaveReason, MemberRecord, SeedSource};

use crate::{
    act::Act,
    decision::EventNote,
    leave,
    manifest::{self, PodRequest, Start},
    member::{Data, Member},
    observed::ListedMember,
    patience,
    planted::{self, Defect},
    repair, seed,
    situation::{Situation, quorum},
    step::{LATER, SOON, Step},
    version::Version,
};

/// Begins it.
pub(crate) fn begin(situation: &Situation<'_>, version: Version) -> Step {
    let step = situation.note("MembershipChanging", "another member is being added");
    step.remember(|record| {
        let name = seed::fresh_name(situation, record);
        let member = MemberRecord {
            name: name.clone(),
            incarnation: record.incarnation,
            claim: situation.plan.pod.persistent_volume_claim_spec.is_some(),
            version: version.to_string(),
            ..MemberRecord::default()
        };
        crate::learn::add(record, member);
        record.change = Some(change(situation, name));
    })
}

/// Takes over a learner that somebody else has added, or that was forgotten.
pub(crate) fn take_over(situation: &Situation<'_>, member: &str) -> Step {
    let change = change(situation, member.to_owned());
    let message = format!("member {member} is a learner already");
    situation.note("MembershipChanging", message).remember(|record| record.change = Some(change))
}

fn change(situation: &Situation<'_>, member: String) -> Change {
    Change {
        kind: ChangeKind::Join,
        member,
        reason: None,
        source: SeedSource::default(),
        since: situation.now,
    }
}

/// Goes on with it. `version`: what members that are made now run; `wanted`: how many are to vote.
pub(crate) fn go_on(situation: &Situation<'_>, change: &Change, version: Version, wanted: usize) -> Step {
    let name = change.member.as_str();
    let Some(member) = situation.member(name) else {
        return situation
            .note("MembershipChanging", "the member is gone")
            .remember(|record| record.change = None);
    };
    if member.votes() && member.listed.is_some() {
        return arrive(situation, change, member);
    }
    if situation.agreed().is_none() {
        return situation.wait(SOON, "QuorumLost", format!("waiting for a quorum to add member {name}"));
    }
    if let Some(vain) = is_in_vain(situation, change, member, (version, wanted)) {
        let step = leave::begin(situation, name, LeaveReason::Abandoned);
        let step = match &vain {
            Vain::Fails(why) => step.remember(|record| patience::failed(situation, record, why)),
            Vain::Unneeded(_) => step,
        };
        return Step { standing: situation.note("MembershipChanging", vain.into_reason()).standing, ..step };
    }
    if let Some(step) = claim(situation, member) {
        return step;
    }
    match member.listed {
        None => add(situation, member),
        Some(listed) => match member.pod {
            None => start(situation, member, version),
            Some(_) => promote(situation, member, listed, version),
        },
    }
}

/// It votes. The next change waits until it is well, but not for ever, and not if another member is beyond help.
fn arrive(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> Step {
    let name = member.name();
    let late = situation.now.duration_since(change.since) > situation.plan.replace_after;
    if !member.is_fit() && !late && repair::find(situation).is_none() {
        return situation.wait(SOON, "MembershipChanging", format!("waiting until member {name} is ready"));
    }
    let step = situation.note("MembershipChanging", format!("member {name} votes"));
    let step = step.remember(|record| {
        record.change = None;
        // One that got its vote and does not come up is repaired, and no other one has to wait for it.
        record.failed_joins = None;
    });
    step.tell(EventNote::added(name))
}

/// Why there is no sense in it any more.
enum Vain {
    /// It is not its fault.
    Unneeded(String),
    /// The next one may fare no better.
    Fails(String),
}

impl Vain {
    fn into_reason(self) -> String {
        let (Self::Unneeded(why) | Self::Fails(why)) = self;
        why
    }
}

fn is_in_vain(
    situation: &Situation<'_>,
    change: &Change,
    member: &Member<'_>,
    (version, wanted): (Version, usize),
) -> Option<Vain> {
    let name = member.name();
    if situation.voter_count() >= wanted {
        return Some(Vain::Unneeded(format!("member {name} is not needed any more")));
    }
    if matches!(member.data(), Data::Lost | Data::Doomed) {
        return Some(Vain::Fails(format!("the data of member {name} is gone before it could vote")));
    }
    let alive = member.status().is_some();
    if let Some((dead, _)) = repair::find(situation).filter(|_| !alive) {
        let why = format!("member {} has to be removed before another one is added", dead.name());
        return Some(Vain::Unneeded(why));
    }
    let late = situation.now.duration_since(change.since) > situation.plan.replace_after;
    // The image of before may be gone: the others are brought to the version that is asked for then, and it follows.
    let former = |pod| version != situation.plan.version && repair::lacks_image(pod);
    let stuck = member
        .pod
        .is_some_and(|pod| pod.terminating.is_some() || !repair::is_the_specs_fault(pod) || former(pod));
    (late && stuck && !alive).then(|| {
        let why = member.pod.and_then(|pod| pod.waiting.as_ref()).map(|why| format!(": {why}"));
        Vain::Fails(format!("member {name} does not come up{}", why.unwrap_or_default()))
    })
}

fn claim(situation: &Situation<'_>, member: &Member<'_>) -> Option<Step> {
    let template = situation.plan.pod.persistent_volume_claim_spec.as_ref();
    if !member.record.claim || member.claim.is_some() {
        return None;
    }
    let name = member.name();
    let Some(template) = template else {
        return Some(leave::begin(situation, name, LeaveReason::Abandoned));
    };
    let claim = manifest::claim(situation.cluster, template, member.record);
    Some(situation.act(
        Act::CreateClaim(Box::new(claim)),
        "MembershipChanging",
        format!("making the claim {name}"),
    ))
}

fn add(situation: &Situation<'_>, member: &Member<'_>) -> Step {
    let name = member.name();
    if let Some(unfit) = situation.first_unfit("") {
        let message = format!("waiting for member {unfit} before member {name} is added");
        return situation.wait(SOON, "MembershipChanging", message);
    }
    // etcd counts who has not said its name as one that was never started.
    let unnamed = situation.list().into_iter().flat_map(|list| &list.members);
    if let Some(unnamed) = unnamed.into_iter().find(|listed| listed.name.is_empty()) {
        let message = format!("waiting until member {} has said its name to the others", unnamed.id);
        return situation.wait(SOON, "MembershipChanging", message);
    }
    let peer_url = situation.place().peer_url(name, situation.plan.tls.peers());
    let act = Act::MemberAdd { peer_url, learner: !planted::has(Defect::AddsVoters) };
    situation.act(act, "MembershipChanging", format!("adding member {name}"))
}

fn start(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> Step {
    let name = member.name().to_owned();
    let missing = situation.plan.tls.missing(&situation.observed.secrets);
    if !missing.is_empty() {
        return situation.wait(LATER, "SecretMissing", missing.join("; "));
    }
    let pod = member_pod(situation, member.record, version);
    let step =
        situation.act(Act::CreatePod(Box::new(pod)), "MembershipChanging", format!("starting member {name}"));
    step.remember(|record| {
        record
            .members
            .iter_mut()
            .filter(|member| member.name == name)
            .for_each(|member| member.version = version.to_string());
    })
}

/// The pod of a member of a cluster that exists.
pub(crate) fn member_pod(
    situation: &Situation<'_>,
    member: &MemberRecord,
    version: Version,
) -> serde_json::Value {
    let trust = situation.plan.tls.trust(&situation.observed.secrets);
    let listed = situation.list().into_iter().flat_map(|list| &list.members);
    let mut members: Vec<String> =
        listed.filter_map(|listed| crate::learn::name_of(listed, situation.place())).collect();
    if !members.contains(&member.name) {
        members.push(member.name.clone());
    }
    manifest::pod(&PodRequest {
        cluster: situation.cluster,
        plan: situation.plan,
        member,
        version,
        start: Start::Existing { members: &members },
        trust: &trust,
    })
}

fn promote(situation: &Situation<'_>, member: &Member<'_>, listed: &ListedMember, version: Version) -> Step {
    let name = member.name();
    let pod = member.pod.filter(|pod| pod.terminating.is_none());
    let Some(status) = member.status().filter(|_| pod.is_some()) else {
        let other = |pod: &&crate::observed::Pod| {
            pod.is_over() || pod.image != situation.plan.image(version) || pod.version != version.to_string()
        };
        if let Some(pod) = pod.filter(other) {
            let act = Act::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() };
            return situation.act(act, "MembershipChanging", format!("making the pod {name} anew"));
        }
        let why = pod.and_then(|pod| pod.waiting.as_ref()).map(|why| format!(": {why}")).unwrap_or_default();
        return situation.wait(SOON, "MembershipChanging", format!("waiting for member {name}{why}"));
    };
    if listed.name.is_empty() {
        let message = format!("waiting until member {name} has said its name to the others");
        return situation.wait(SOON, "MembershipChanging", message);
    }
    let knows = status.index;
    let leader = situation.leader().and_then(Member::status).map_or(u64::MAX, |status| status.index);
    if u128::from(knows) * 10 < u128::from(leader) * 9 {
        let message = format!("member {name} is learning what the others know");
        return situation.wait(SOON, "MembershipChanging", message);
    }
    if situation.healthy_without("") + 1 < quorum(situation.voter_count() + 1) {
        return situation.wait(
            SOON,
            "QuorumAtRisk",
            format!("too few members are well to give member {name} its vote"),
        );
    }
    situation.act(
        Act::MemberPromote { id: listed.id },
        "MembershipChanging",
        format!("giving member {name} its vote"),
    )
}
