//! Members whose pod is not what it should be: brought there one at a time, those that are not well first, the leader last.

use etcd_api::{ChangeEnding, LeaveReason, ScaleDownRecord, UpgradeRecord};

use crate::{
    act::Act,
    announce, join, leave,
    manifest::storage_of,
    member::{Data, Member},
    observed::AlarmKind,
    old_log, patience,
    planted::{self, Defect},
    quantity, repair,
    situation::Situation,
    step::{LATER, SOON, Step},
    upgrade::{self, Aim},
    upkeep,
    version::Version,
};

/// How a member is brought to what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outdated {
    /// Another image on the same pod.
    Image,
    /// Another pod on the same data.
    Pod,
    /// Another member: its pod cannot be changed without losing the data, or its data is not where it should be.
    Member,
}

/// What is not as it should be about a member.
pub(crate) fn outdated(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> Option<Outdated> {
    let template = situation.claim_digest();
    if member.record.claim != template.is_some() {
        return Some(Outdated::Member);
    }
    if let (Some(template), Some(claim)) = (template, member.claim)
        && !claim.digest.is_empty()
        && claim.digest != template
    {
        return Some(Outdated::Member);
    }
    let pod = member.pod?;
    if situation.digest(member.record.claim, version) != pod.digest {
        return Some(if member.record.claim { Outdated::Pod } else { Outdated::Member });
    }
    let same = pod.version == version.to_string()
        && pod.image == situation.plan.image(version)
        && member.record.version == pod.version;
    (!same).then_some(if member.record.claim { Outdated::Pod } else { Outdated::Image })
}

/// Voters that are outdated, in the order in which they are dealt with.
fn candidates<'s, 'a>(situation: &'s Situation<'a>, version: Version) -> Vec<(&'s Member<'a>, Outdated)> {
    // Without its Secrets no pod would come up, and what members trust is not known.
    if !situation.plan.tls.missing(&situation.observed.secrets).is_empty() {
        return Vec::new();
    }
    let mut found = situation.outdated(version);
    found.sort_by_key(|(member, _)| (member.is_fit(), situation.leads(member.name()), member.record.serial));
    found
}

/// Does a voter have to give way to another member?
pub(crate) fn needs_another(situation: &Situation<'_>, version: Version) -> bool {
    candidates(situation, version).iter().any(|(_, how)| *how == Outdated::Member)
}

/// The voter that should go when there is one too many because another took its place.
pub(crate) fn replaced<'s, 'a>(situation: &'s Situation<'a>, version: Version) -> Option<&'s Member<'a>> {
    let all = candidates(situation, version);
    all.into_iter().find(|(_, how)| *how == Outdated::Member).map(|(member, _)| member)
}

/// Brings a member that is not well, and whose pod is outdated, to what it should be: that may be what ails it.
pub(crate) fn heal(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let all = candidates(situation, aim.version);
    let (member, how) = all.into_iter().find(|(member, how)| !member.is_fit() && *how != Outdated::Member)?;
    let pod = member.pod.filter(|pod| pod.terminating.is_none())?;
    // A pod that was just told to change is given the time to; one that answers is not ill.
    let told = pod.version == aim.version.to_string() && pod.image == situation.plan.image(aim.version);
    if told && how == Outdated::Image || !may_be_touched(situation, member) {
        return None;
    }
    if !upgrade::storage_allows(situation, member, aim.version)
        || !may_change_version(situation, member, aim.version)
    {
        return None;
    }
    // It may lead all the same: the kubelet may just not have looked yet.
    if let Some(step) = lead_elsewhere(situation, member, aim.version) {
        return Some(step);
    }
    Some(touch(situation, member, how, aim.version))
}

/// Does nobody miss this member? Not if all others are well, nor if it does not come up anyway.
fn may_be_touched(situation: &Situation<'_>, member: &Member<'_>) -> bool {
    upkeep::is_down(situation, member) || situation.voter_count() <= 1 || situation.may_disturb(member.name())
}

/// May a member that is not well go to this version? Not as the first one: an upgrade begins with members that are well, and is
/// prepared for.
fn may_change_version(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> bool {
    situation.voters().any(|other| other.meant() == Some(version))
        || is_taken_back(situation, member, version)
}

/// Was this member to go elsewhere, has not been seen well there, and is to go back to this version? What it was to go to may
/// be forgotten by then: what counts is that some of the members were still at this version when they were called back.
pub(crate) fn is_taken_back(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> bool {
    // Once all of them run it, data is brought to its format. One that answers tells itself which that is.
    let before = |other: &Member<'_>| {
        other.running().or(other.meant()).map(Version::series) < member.meant().map(Version::series)
    };
    let held = situation.voters().any(|other| other.name() != member.name() && before(other));
    let ran = member.status().is_none() && !member.pod.is_some_and(repair::lacks_image);
    if ran && !held && member.meant().map(Version::series) != Some(version.series()) {
        return false;
    }
    situation.record.upgrade.as_ref().is_some_and(|upgrade| {
        let from: Option<Version> = upgrade.from.parse().ok();
        let to: Option<Version> = upgrade.to.parse().ok();
        let further = to.is_none_or(|to| to.series() < version.series());
        let stayed = from.is_some_and(|from| from.series() == version.series());
        let pending = upgrade.pending.iter().any(|name| name == member.name());
        pending
            && !further
            && (upgrade.to == member.record.version || (stayed && upgrade.to == version.to_string()))
    })
}

/// The lead is moved away from a member before it is touched.
fn lead_elsewhere(situation: &Situation<'_>, member: &Member<'_>, version: Version) -> Option<Step> {
    let name = member.name();
    let to = situation.successor(name, Some(version)).filter(|_| situation.leads(name))?.id()?;
    let act = Act::MoveLeader { from: name.to_owned(), to };
    Some(situation.act(act, "MemberRestarting", format!("moving the lead away from member {name}")))
}

/// Takes back what is left of an upgrade or a downgrade that is not wanted any more.
pub(crate) fn withdraw(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let told = situation.voters().filter_map(Member::status).find_map(|status| status.downgrade.clone());
    let told: Option<Version> = told.and_then(|version| version.parse().ok());
    let meant =
        situation.record.upgrade.as_ref().is_some_and(|upgrade| old_log::is_told(upgrade, aim.version));
    if !meant && told.is_some_and(|told| told.series() != aim.version.series()) {
        return Some(situation.act(Act::DowngradeCancel, "Upgrading", "taking the downgrade back"));
    }
    let upgrade =
        situation.record.upgrade.as_ref().filter(|upgrade| upgrade.to != aim.version.to_string())?;
    let back = situation.voters().all(|member| member.meant() == Some(aim.version));
    let message = format!("the upgrade to {} is taken back", upgrade.to);
    let uid = &situation.cluster.uid;
    let forget = |record: &mut _| announce::end_upgrade(record, uid, ChangeEnding::Failed);
    back.then(|| situation.note("Upgrading", message).remember(forget))
}

/// Brings the next member to what it should be.
pub(crate) fn step(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let all = candidates(situation, aim.version);
    let (member, how) = *all.iter().find(|(_, how)| *how != Outdated::Member)?;
    let moves = all.iter().any(|(member, _)| member.meant() != Some(aim.version));
    if situation.has_alarm(AlarmKind::Corrupt)
        || (situation.has_alarm(AlarmKind::NoSpace) && !may_help(situation, moves))
    {
        return Some(situation.wait(
            LATER,
            "AlarmRaised",
            "members are not changed while an alarm is raised",
        ));
    }
    if let Some(unfit) = situation.first_unfit("").filter(|_| situation.record.upgrade.is_none()) {
        let message = format!("waiting for member {unfit} before members are changed");
        return Some(situation.wait(SOON, "MemberNotReady", message));
    }
    if let Some(step) = prepare(situation, aim, moves) {
        return Some(step);
    }
    if let Some(unfit) = situation.first_unfit(member.name()) {
        let message = format!("waiting for member {unfit} before member {} is changed", member.name());
        return Some(situation.wait(SOON, "MemberNotReady", message));
    }
    if !situation.may_disturb(member.name()) {
        return Some(situation.wait(SOON, "QuorumAtRisk", "too few members are well to change one of them"));
    }
    if !upgrade::storage_allows(situation, member, aim.version) {
        let message = format!("waiting until the storage of member {} is in the right format", member.name());
        return Some(situation.wait(SOON, "Upgrading", message));
    }
    if let Some(step) = lead_elsewhere(situation, member, aim.version) {
        return Some(step);
    }
    Some(touch(situation, member, how, aim.version))
}

/// May a change of the pods be what helps against the alarm `NOSPACE`? A larger quota is, where no space could be made.
fn may_help(situation: &Situation<'_>, moves: bool) -> bool {
    !moves && situation.record.relief.as_ref().is_some_and(|relief| relief.in_vain)
}

pub(crate) fn touch(situation: &Situation<'_>, member: &Member<'_>, how: Outdated, version: Version) -> Step {
    let name = member.name().to_owned();
    let Some(pod) = member.pod.filter(|pod| pod.terminating.is_none()) else {
        return situation.wait(SOON, "MemberRestarting", format!("waiting for the pod {name}"));
    };
    let act = match how {
        Outdated::Image => Act::PatchImage {
            name: name.clone(),
            uid: pod.uid.clone(),
            image: situation.plan.image(version),
            version,
        },
        Outdated::Pod | Outdated::Member => Act::DeletePod { name: name.clone(), uid: pod.uid.clone() },
    };
    let step = situation.act(act, "MemberRestarting", format!("changing the pod {name}"));
    step.remember(|record| {
        record
            .members
            .iter_mut()
            .filter(|member| member.name == name)
            .for_each(|member| member.version = version.to_string());
        record.upgrade.iter_mut().for_each(|upgrade| upgrade.begun = true);
    })
}

/// What has to be done before the first member is brought to another version; none when nothing has.
fn prepare(situation: &Situation<'_>, aim: &Aim, moves: bool) -> Option<Step> {
    let to = aim.version.to_string();
    if !moves && situation.record.upgrade.is_none() {
        return None;
    }
    let Some(upgrade) = situation.record.upgrade.as_ref().filter(|upgrade| upgrade.to == to) else {
        let (lowest, _) = upgrade::range(situation)?;
        let pending = situation.voters().filter(|member| member.meant() != Some(aim.version));
        let pending = pending.map(|member| member.name().to_owned()).collect();
        let upgrade = UpgradeRecord {
            from: lowest.to_string(),
            to: to.clone(),
            pending,
            since: situation.now,
            logs: None,
            begun: false,
        };
        let step = situation.note("Upgrading", format!("members are being brought to {to}"));
        return Some(step.remember(|record| record.upgrade = Some(upgrade)));
    };
    let untouched = situation.voters().all(|member| member.meant() != Some(aim.version));
    if untouched && let Some(step) = announce::before_upgrade(situation, upgrade) {
        return Some(step);
    }
    if untouched && let Some(step) = old_log::shed(situation, upgrade, aim.version) {
        return Some(step);
    }
    downgrade(situation, aim)
}

/// Tells etcd of a downgrade.
fn downgrade(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let told = situation.voters().filter_map(Member::status).any(|status| status.downgrade.is_some());
    if told || !upgrade::is_downgrade(situation, aim.version) {
        return None;
    }
    let act = Act::DowngradeEnable { version: aim.version };
    Some(situation.act(act, "Downgrading", format!("telling etcd of the downgrade to {}", aim.version)))
}

/// Brings the number of voters to the one asked for.
pub(crate) fn scale(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let voters = situation.voter_count();
    if voters > situation.plan.size {
        return shrink(situation, aim);
    }
    let wanted = wanted(situation, aim);
    if voters >= wanted {
        return None;
    }
    if patience::until(situation).is_some() {
        return None;
    }
    if situation.has_alarm(AlarmKind::Corrupt) {
        return Some(situation.wait(LATER, "AlarmRaised", "no member is added while data differs"));
    }
    if let Some(unfit) = situation.first_unfit("") {
        let message = format!("waiting for member {unfit} before another one is added");
        return Some(situation.wait(SOON, "MemberNotReady", message));
    }
    Some(join::begin(situation, upgrade::joining(situation, aim)))
}

/// How many are to vote: one more than asked for as long as a member has to give way to another.
pub(crate) fn wanted(situation: &Situation<'_>, aim: &Aim) -> usize {
    let well = situation.first_unfit("").is_none();
    let another =
        situation.voter_count() <= situation.plan.size && well && needs_another(situation, aim.version);
    situation.plan.size + usize::from(another)
}

/// The one that is least missed leaves: not well, then outdated, then youngest; the leader only if nobody else is left.
fn shrink(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    let replaced = replaced(situation, aim.version).map(Member::name);
    if planted::has(Defect::AnyVictim) {
        let first = situation.voters().next()?;
        return Some(leave::begin(situation, first.name(), LeaveReason::ScaleDown));
    }
    let victim = situation.voters().min_by_key(|member| {
        let kept = replaced != Some(member.name());
        let name = member.name();
        (member.is_fit(), kept, situation.leads(name), std::cmp::Reverse(member.record.serial))
    })?;
    if let Some(unfit) = situation.first_unfit(victim.name()) {
        let message = format!("waiting for member {unfit} before member {} leaves", victim.name());
        return Some(situation.wait(SOON, "MemberNotReady", message));
    }
    if replaced == Some(victim.name()) {
        return Some(leave::begin(situation, victim.name(), LeaveReason::Outdated));
    }
    if let Some(step) = announce::after(situation).or_else(|| fewer(situation)) {
        return Some(step);
    }
    let step = leave::begin(situation, victim.name(), LeaveReason::ScaleDown);
    Some(step.remember(|record| record.scale_down.iter_mut().for_each(|scale| scale.begun = true)))
}

/// What has to be done before the first member is taken away; none when nothing has.
fn fewer(situation: &Situation<'_>) -> Option<Step> {
    let count = |members: usize| u32::try_from(members).unwrap_or(u32::MAX);
    let to = count(situation.plan.size);
    let Some(scale) = &situation.record.scale_down else {
        let scale =
            ScaleDownRecord { from: count(situation.voter_count()), to, since: situation.now, begun: false };
        let step = situation.note("ScalingDown", format!("{to} members are asked for"));
        return Some(step.remember(|record| record.scale_down = Some(scale)));
    };
    if scale.to != to {
        let uid = &situation.cluster.uid;
        let step =
            situation.note("ScalingDown", format!("{to} members are asked for instead of {}", scale.to));
        return Some(step.remember(|record| announce::end_scale_down(record, uid, ChangeEnding::Failed)));
    }
    if scale.begun {
        return None;
    }
    announce::before_scale_down(situation, scale)
}

/// A volume that is larger than the spec asks for: it cannot be made smaller, and that is said rather than passed over.
pub(crate) fn too_large(situation: &Situation<'_>) -> Option<String> {
    let template = situation.plan.pod.persistent_volume_claim_spec.as_ref()?;
    let wanted = storage_of(template);
    let mut claims = situation.members.iter().filter_map(|member| member.claim);
    let claim = claims.find(|claim| quantity::is_less(&wanted, &claim.storage))?;
    Some(format!(
        "spec.pod.persistentVolumeClaimSpec asks for {wanted}, and the claim {} has {}: volumes cannot be made smaller",
        claim.name, claim.storage
    ))
}

/// Asks for larger volumes where the spec does.
pub(crate) fn expand(situation: &Situation<'_>) -> Option<Step> {
    let template = situation.plan.pod.persistent_volume_claim_spec.as_ref()?;
    let wanted = storage_of(template);
    let smaller = |member: &&Member<'_>| {
        let claim = member.claim.filter(|_| member.data() == Data::Present);
        claim.is_some_and(|claim| quantity::is_less(&claim.storage, &wanted))
    };
    let claim = situation.members.iter().find(smaller)?.claim?;
    let act = Act::ExpandClaim { name: claim.name.clone(), uid: claim.uid.clone(), storage: wanted.clone() };
    Some(situation.act(
        act,
        "VolumeExpanding",
        format!("asking for {wanted} behind the claim {}", claim.name),
    ))
}
