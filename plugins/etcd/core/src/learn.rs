//! What is remembered of what was seen.

use etcd_api::{ChangeEnding, MemberRecord, Record, names::event};
use jiff::{SignedDuration, Timestamp};

use crate::{
    announce,
    decision::EventNote,
    member::{Data, Member},
    naming::Place,
    observed::{Claim, Cluster, ListedMember, Observed, Pod},
    report,
    situation::{self, Situation},
    spec::Plan,
};

/// How long nobody may lead before it is more than an election.
pub(crate) const ELECTION: SignedDuration = SignedDuration::from_secs(10);

/// The record with what was just seen, and what there is to tell of it.
pub(crate) fn learn(
    cluster: &Cluster,
    plan: &Plan,
    observed: &Observed,
    now: Timestamp,
) -> (Record, Vec<EventNote>) {
    let mut record = observed.record.clone();
    adopt(cluster, observed, &mut record);
    identify(observed, &mut record);
    members(cluster, observed, &mut record);
    let mut events = Vec::new();
    let seen = record.clone();
    let situation = Situation::new(cluster, plan, observed, &seen, now);
    upgraded(&situation, &mut record, &mut events);
    scaled(&situation, &mut record);
    quorum(&situation, &mut record, &mut events);
    prune(&mut record);
    (record, events)
}

/// A cluster that exists and is not remembered: its status was lost, or another operator made it. It is never begun anew
/// over what is there. What is about to go is not there.
fn adopt(cluster: &Cluster, observed: &Observed, record: &mut Record) {
    if !record.members.is_empty() || record.cluster_id.is_some() {
        return;
    }
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let stays = |claim: &&Claim| claim.owned && !claim.terminating;
    let mut names: Vec<String> =
        observed.claims.iter().filter(stays).map(|claim| claim.name.clone()).collect();
    let stays = |pod: &&Pod| pod.owned && pod.terminating.is_none();
    names.extend(observed.pods.iter().filter(stays).map(|pod| pod.name.clone()));
    let list = observed.etcd.list.as_ref();
    let listed = list.into_iter().flat_map(|list| &list.members);
    names.extend(listed.filter_map(|member| name_of(member, place)));
    names.sort_unstable();
    names.dedup();
    for name in names {
        let claim = observed.claims.iter().any(|claim| claim.owned && claim.name == name);
        let incarnation = record.incarnation;
        add(record, MemberRecord { name, incarnation, claim, ..MemberRecord::default() });
    }
}

/// The identifier of a cluster that was adopted. One that is being made gets it when its first member is believed.
fn identify(observed: &Observed, record: &mut Record) {
    if record.cluster_id.is_none() && record.change.is_none() && !record.members.is_empty() {
        let agreed = observed.etcd.list.as_ref().filter(|list| list.agreed);
        record.cluster_id = agreed.map(|list| list.cluster_id);
    }
}

/// Takes a member into the record under the next number.
pub(crate) fn add(record: &mut Record, member: MemberRecord) {
    let serial = record.next_serial;
    record.next_serial += 1;
    record.members.push(MemberRecord { serial, ..member });
}

/// The name a listed member has, or will have once it is started.
pub(crate) fn name_of(listed: &ListedMember, place: Place<'_>) -> Option<String> {
    listed.peer_urls.iter().find_map(|url| place.member_at(url)).map(str::to_owned)
}

/// Identifiers, votes, and what holds the data.
fn members(cluster: &Cluster, observed: &Observed, record: &mut Record) {
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let list = situation::list(observed, record).filter(|list| list.agreed).cloned();
    if let Some(list) = &list {
        for listed in &list.members {
            let Some(name) = name_of(listed, place).filter(|name| record.member(name).is_none()) else {
                continue;
            };
            let claim = observed.claims.iter().any(|claim| claim.owned && claim.name == name);
            let incarnation = record.incarnation;
            add(record, MemberRecord { name, incarnation, claim, ..MemberRecord::default() });
        }
    }
    let known = record.clone();
    let situation_members = known.members.iter().map(|member| {
        let list = list.as_ref().filter(|_| member.incarnation == known.incarnation);
        Member::of(member, observed, &known, list, place)
    });
    for (member, seen) in record.members.iter_mut().zip(situation_members) {
        if let Some(listed) = seen.listed {
            member.id = Some(listed.id);
            member.voter = !listed.learner;
        } else if list.is_some() && member.incarnation == known.incarnation {
            member.voter = false;
        }
        if member.data.is_none() && seen.data() == Data::Present {
            let claim = seen.claim.map(|claim| claim.uid.clone()).filter(|_| member.claim);
            member.data = claim.or_else(|| seen.pod.map(|pod| pod.uid.clone()).filter(|_| !member.claim));
        }
        if let (true, Some(pod)) = (member.version.is_empty(), seen.pod) {
            member.version.clone_from(&pod.version);
        }
    }
}

/// Members that have arrived at the version they are being brought to.
fn upgraded(situation: &Situation<'_>, record: &mut Record, events: &mut Vec<EventNote>) {
    let Some(upgrade) = &mut record.upgrade else { return };
    let (from, to) = (upgrade.from.clone(), upgrade.to.clone());
    upgrade.pending.retain(|name| {
        let Some(member) = situation.member(name).filter(|member| member.votes()) else { return false };
        let arrived = member.record.version == to && member.is_fit();
        if arrived {
            // The old operator's sentence ends in a blank; scripts compare it.
            let message = format!("Member {name} upgraded from {from} to {to} ");
            events.push(EventNote::normal(event::MEMBER_UPGRADED, message));
        }
        !arrived
    });
    let agreed = situation.agreed().is_some() && situation.learner_count() == 0;
    if agreed
        && record.ended.is_none()
        && situation.first_unfit("").is_none()
        && situation.voters().all(|member| member.record.version == to)
    {
        announce::end_upgrade(record, &situation.cluster.uid, ChangeEnding::Succeeded);
    }
}

/// As few members as were asked for, or more are asked for again.
fn scaled(situation: &Situation<'_>, record: &mut Record) {
    let Some(scale) = &record.scale_down else { return };
    let voters = situation.voter_count();
    let is_done = u32::try_from(voters).is_ok_and(|voters| voters <= scale.to);
    let at_rest = situation.agreed().is_some() && record.change.is_none() && record.ended.is_none();
    if at_rest && (is_done || situation.plan.size >= voters) {
        let ending = if is_done { ChangeEnding::Succeeded } else { ChangeEnding::Failed };
        announce::end_scale_down(record, &situation.cluster.uid, ending);
    }
}

/// Since when too few voters answer. An election takes a moment; only what lasts is told.
fn quorum(situation: &Situation<'_>, record: &mut Record, events: &mut Vec<EventNote>) {
    if record.cluster_id.is_none() || situation.agreed().is_some() {
        record.quorum_lost_since = None;
        record.quorum_loss_told = false;
        return;
    }
    let since = *record.quorum_lost_since.get_or_insert(situation.now);
    if !record.quorum_loss_told && situation.now.duration_since(since) >= ELECTION {
        record.quorum_loss_told = true;
        events.push(EventNote::warning(event::QUORUM_LOST, report::quorum_sentence(situation)));
    }
}

/// Takes members out of lists of things to do when they are no members any more.
fn prune(record: &mut Record) {
    let names: Vec<String> =
        record.members.iter().filter(|member| member.voter).map(|member| member.name.clone()).collect();
    if let Some(defragmentation) = &mut record.defragmentation {
        defragmentation.pending.retain(|name| names.contains(name));
    }
    if let Some(relief) = &mut record.relief {
        relief.pending.retain(|name| names.contains(name));
    }
}
