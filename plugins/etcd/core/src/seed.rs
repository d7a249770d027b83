//! The first member: of a new cluster, or of one that is begun anew with data it had before.

use etcd_api::{Change, ChangeEnding, ChangeKind, MemberRecord, Record, SeedSource, names::event};
use jiff::SignedDuration;

use crate::{
    act::Act,
    announce,
    decision::EventNote,
    learn,
    manifest::{self, PodRequest, Snapshot, Start},
    member::{Data, Member},
    naming::member_name,
    observed::{Observed, PodPhase, Status, View},
    planted::{self, Defect},
    repair,
    situation::Situation,
    step::{LATER, SOON, Step},
    version::Version,
};

/// A backup that was checked and is to become the data of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOrder {
    /// Uid of the `EtcdRestore`.
    pub uid: String,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: String,
    /// Revision of the data.
    pub revision: i64,
}

/// How long a restore may take until the cluster goes on with the data it has.
const RESTORE_DEADLINE: SignedDuration = SignedDuration::from_mins(30);

/// Begins a cluster of which nothing is there.
pub(crate) fn begin(situation: &Situation<'_>) -> Step {
    let source = SeedSource {
        restore: situation.observed.restore.as_ref().map(|order| order.uid.clone()),
        revision: situation.observed.restore.as_ref().map(|order| order.revision),
        ..SeedSource::default()
    };
    let step = situation.note("Creating", "the first member is being made");
    step.remember(|record| plant(situation, record, source))
}

/// Begins the cluster anew, with data. What was there goes on until the new first member is believed.
pub(crate) fn begin_anew(situation: &Situation<'_>, source: SeedSource) -> Step {
    let step = situation.note("Recovering", "the cluster is being begun anew");
    step.remember(|record| plant(situation, record, source))
}

fn plant(situation: &Situation<'_>, record: &mut Record, source: SeedSource) {
    let incarnation = if record.members.is_empty() { record.incarnation } else { record.incarnation + 1 };
    let name = fresh_name(situation, record);
    let claim = situation.plan.pod.persistent_volume_claim_spec.is_some();
    let version = situation.plan.version.to_string();
    let member = MemberRecord { name: name.clone(), incarnation, claim, version, ..MemberRecord::default() };
    learn::add(record, member);
    record.change =
        Some(Change { kind: ChangeKind::Seed, member: name, reason: None, source, since: situation.now });
}

/// A name that nothing has yet, though the record may have been lost and numbers begin anew.
pub(crate) fn fresh_name(situation: &Situation<'_>, record: &mut Record) -> String {
    let Observed { pods, claims, etcd, .. } = situation.observed;
    loop {
        let name = member_name(&situation.cluster.name, &situation.cluster.uid, record.next_serial);
        let listed = etcd.list.iter().flat_map(|list| &list.members);
        let taken = record.member(&name).is_some()
            || pods.iter().any(|pod| pod.name == name)
            || claims.iter().any(|claim| claim.name == name)
            || listed
                .filter_map(|member| learn::name_of(member, situation.place()))
                .any(|other| other == name);
        if !taken {
            return name;
        }
        record.next_serial += 1;
    }
}

/// The first member, until it is believed.
pub(crate) fn go_on(situation: &Situation<'_>, change: &Change) -> Step {
    let Some(record) = situation.record.member(&change.member) else {
        return situation
            .note("Creating", "a first member is not remembered")
            .remember(|record| record.change = None);
    };
    let member = Member::apart(record, situation.observed);
    if let Some(why) = in_vain(situation, change, &member) {
        return give_up(situation, change, why);
    }
    let stays = member.data() == Data::Present && member.pod.is_some_and(|pod| pod.terminating.is_none());
    if let Some(status) = member.status().filter(|status| stays && status.leader == Some(status.member_id)) {
        return believe(situation, change, &member, status);
    }
    let missing = situation.plan.tls.missing(&situation.observed.secrets);
    if !missing.is_empty() {
        return situation.wait(LATER, "SecretMissing", missing.join("; "));
    }
    if !situation.observed.services.contains_key(&situation.place().member_service()) {
        return situation.wait(SOON, "Creating", "waiting for the Service of the members");
    }
    make(situation, change, &member)
}

/// Why there is no sense any more in waiting for a member on the data of a backup. There is as long as there is nothing else to go on
/// with, unless it runs and ends: a node that is gone says nothing against the backup. Nobody sends the backup any more when its
/// `EtcdRestore` is gone, or is another one by now: then only a member that has its data already is waited for.
fn in_vain(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> Option<&'static str> {
    let restore = change.source.restore.as_ref()?;
    let late = situation.now.duration_since(change.since) > RESTORE_DEADLINE;
    let ends = member.pod.is_some_and(|pod| pod.waiting.is_some() && !repair::is_the_specs_fault(pod));
    let asked = situation.observed.restore.as_ref().is_some_and(|order| order.uid == *restore);
    if !asked && (late || ends || !has_data(member)) {
        return Some("its EtcdRestore is gone, failed, or is another one by now");
    }
    let goes_on = situation.record.cluster_id.is_some();
    (late && (goes_on || ends))
        .then_some("the first member on the data of the backup did not come up in 30 minutes")
}

/// Is the data of the backup where etcd looks for it? The containers that put it there run before the pod counts as running.
fn has_data(member: &Member<'_>) -> bool {
    member.pod.is_some_and(|pod| !matches!(pod.phase, PodPhase::Pending) && !pod.is_over())
}

/// The claim and the pod. Until the member is believed, nothing that it held was promised to anybody, so what is lost of it is
/// made again.
fn make(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> Step {
    let name = member.name();
    if let Some(step) = place(situation, member).or_else(|| make_claim(situation, member)) {
        return step;
    }
    if planted::has(Defect::GivesUpWhenCreating)
        && situation.observed.view == View::Cached
        && member.pod.is_none()
    {
        return situation.stall("Failed", "cluster failed to be created");
    }
    let Some(pod) = member.pod else {
        let Some(pod) = seed_pod(situation, change, member) else {
            return give_up(situation, change, "the restore is gone");
        };
        let step = situation.act(Act::CreatePod(Box::new(pod)), "Creating", format!("making the pod {name}"));
        // Another version may have been asked for since it was begun.
        let step = runs(step, name, version(situation, member));
        return if member.record.claim { step } else { forget(step, name) };
    };
    let wanted = version(situation, member);
    let outdated = pod.version != wanted.to_string()
        || pod.image != situation.plan.image(wanted)
        || digest_differs(situation, change, member);
    if pod.terminating.is_none() && (pod.is_over() || outdated) {
        let act = Act::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() };
        let step = situation.act(act, "Creating", format!("making the pod {name} anew"));
        return runs(step, name, wanted);
    }
    let why = pod.waiting.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    situation.wait(SOON, "Creating", format!("waiting for the first member, {name}{why}"))
}

/// Where its data is to be may have changed since it was begun. As long as there is none, it is made there.
fn place(situation: &Situation<'_>, member: &Member<'_>) -> Option<Step> {
    let name = member.name();
    let claim = situation.plan.pod.persistent_volume_claim_spec.is_some();
    if member.record.claim == claim || member.claim.is_some() {
        return None;
    }
    match member.pod {
        Some(pod) if member.record.claim && pod.terminating.is_none() => {
            let act = Act::DeletePod { name: pod.name.clone(), uid: pod.uid.clone() };
            Some(situation.act(
                act,
                "Creating",
                format!("the pod {name} waits for a claim that is not asked for"),
            ))
        }
        Some(_) => None,
        None => {
            let step = situation.note("Creating", format!("the data of member {name} is put elsewhere"));
            let step = step.remember(|record| {
                let members = record.members.iter_mut().filter(|member| member.name == name);
                members.for_each(|member| member.claim = claim);
            });
            Some(forget(step, name))
        }
    }
}

fn make_claim(situation: &Situation<'_>, member: &Member<'_>) -> Option<Step> {
    let name = member.name();
    let template =
        situation.plan.pod.persistent_volume_claim_spec.as_ref().filter(|_| member.record.claim)?;
    let lost = member.data() == Data::Lost;
    match member.claim {
        Some(claim) if claim.terminating || claim.lost => {
            let step = situation.wait(LATER, "Creating", format!("waiting until the claim {name} is gone"));
            Some(if lost { forget(step, name) } else { step })
        }
        None => {
            let claim = manifest::claim(situation.cluster, template, member.record);
            let act = Act::CreateClaim(Box::new(claim));
            let step = situation.act(act, "Creating", format!("making the claim {name}"));
            Some(if member.record.data.is_some() { forget(step, name) } else { step })
        }
        Some(_) => {
            lost.then(|| forget(situation.note("Creating", format!("the claim {name} was made anew")), name))
        }
    }
}

/// Without the data that a member held.
fn forget(step: Step, name: &str) -> Step {
    step.remember(|record| {
        record.members.iter_mut().filter(|member| member.name == name).for_each(|member| member.data = None);
    })
}

/// What the first member runs: what is asked for now; but on a claim that may hold data already, what it was begun with, for
/// versions do not follow each other as one likes. One whose image cannot be had has no data yet.
fn version(situation: &Situation<'_>, member: &Member<'_>) -> Version {
    let free = !member.record.claim
        || member.record.data.is_none()
        || member.data() == Data::Lost
        || member.pod.is_some_and(repair::lacks_image);
    member.meant().filter(|_| !free).unwrap_or(situation.plan.version)
}

/// With the version that the pod of a member is made for.
fn runs(step: Step, name: &str, version: Version) -> Step {
    step.remember(|record| {
        let members = record.members.iter_mut().filter(|member| member.name == name);
        members.for_each(|member| member.version = version.to_string());
    })
}

fn digest_differs(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> bool {
    let wanted = seed_pod(situation, change, member);
    let digest = wanted.as_ref().and_then(|pod| {
        let annotations = pod.pointer("/metadata/annotations")?;
        annotations.get(etcd_api::names::annotation::DIGEST)?.as_str()
    });
    digest.is_some() && digest != member.pod.map(|pod| pod.digest.as_str())
}

fn seed_pod(situation: &Situation<'_>, change: &Change, member: &Member<'_>) -> Option<serde_json::Value> {
    let token = token(&situation.cluster.uid, member.record.incarnation);
    let snapshot = match (&change.source.survivor, &change.source.restore) {
        (Some(survivor), _) => {
            let endpoint = situation.place().client_url(survivor, situation.plan.tls.clients());
            Some(Snapshot::Survivor { endpoint })
        }
        (None, Some(uid)) => {
            let order = situation.observed.restore.as_ref().filter(|order| order.uid == *uid)?;
            Some(Snapshot::Artefact { sha256: order.sha256.clone() })
        }
        (None, None) => None,
    };
    let trust = situation.plan.tls.trust(&situation.observed.secrets);
    Some(manifest::pod(&PodRequest {
        cluster: situation.cluster,
        plan: situation.plan,
        member: member.record,
        version: version(situation, member),
        start: Start::Seed { token: &token, snapshot: snapshot.as_ref() },
        trust: &trust,
    }))
}

/// Makes the identifiers of each incarnation differ from all others.
pub(crate) fn token(uid: &str, incarnation: u32) -> String {
    if incarnation == 0 { uid.to_owned() } else { format!("{uid}-{incarnation}") }
}

/// The first member answers and leads: from now on it is the cluster.
fn believe(situation: &Situation<'_>, change: &Change, member: &Member<'_>, status: &Status) -> Step {
    if let Some(why) = is_older(situation, change, member, status) {
        return give_up(situation, change, &why);
    }
    let (name, incarnation) = (member.name().to_owned(), member.record.incarnation);
    let uid = &situation.cluster.uid;
    let step = situation.note("Running", "the first member answers").remember(|record| {
        record.cluster_id = Some(status.cluster_id);
        record.incarnation = incarnation;
        record.change = None;
        announce::end_upgrade(record, uid, ChangeEnding::Failed);
        announce::end_scale_down(record, uid, ChangeEnding::Failed);
        record.relief = None;
        record.defragmentation = None;
        record.quorum_lost_since = None;
        record.quorum_loss_told = false;
        if change.source.restore.is_some() {
            record.restored.clone_from(&change.source.restore);
        }
        for member in record.members.iter_mut().filter(|member| member.name == name) {
            member.id = Some(status.member_id);
            member.voter = true;
        }
    });
    let step = step.tell(EventNote::added(&name));
    if change.source.is_empty() {
        return step;
    }
    let from = match &change.source.survivor {
        Some(survivor) => format!("the data of member {survivor}"),
        None => "the data of a backup".to_owned(),
    };
    step.tell(EventNote::normal(event::CLUSTER_RECOVERED, format!("Member {name} goes on with {from}")))
}

/// Why the data is not what was promised. That of a member is whatever it has.
fn is_older(
    situation: &Situation<'_>,
    change: &Change,
    member: &Member<'_>,
    status: &Status,
) -> Option<String> {
    let revision = change.source.revision.filter(|_| change.source.survivor.is_none())?;
    manifest::is_older(status.revision, revision, member.meant().unwrap_or(situation.plan.version))
}

/// The new first member is not to be; the cluster goes on with what it has. What was made is cleaned up as of another
/// incarnation.
fn give_up(situation: &Situation<'_>, change: &Change, why: &str) -> Step {
    let restore = change.source.restore.clone();
    let event = EventNote::warning(event::REFUSED, format!("The data is not replaced: {why}"));
    situation.note("RestoreFailed", why).tell(event).remember(|record| {
        record.change = None;
        if restore.is_some() {
            record.refused_restore = restore;
        }
        if record.cluster_id.is_none() {
            record.incarnation += 1;
        }
    })
}
