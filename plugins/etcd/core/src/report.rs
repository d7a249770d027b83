//! What is told.

use std::time::Duration;

use etcd_api::{
    ClusterStatus, MembersStatus, Phase, Record,
    names::{self, condition},
};

use crate::{
    act::Act,
    decide,
    decision::{ConditionChange, Decision, Report, Standing},
    learn::ELECTION,
    manifest,
    member::Member,
    naming::Place,
    observed::{Cluster, Observed},
    planted::{self, Defect},
    recovery, repair, rollout,
    situation::Situation,
    spec::SpecError,
    step::{LATER, Step},
    upgrade::Aim,
};

/// The report of a step.
pub(crate) fn report(situation: &Situation<'_>, aim: &Aim, step: &Step) -> Report {
    let record = &step.record;
    let mut conditions = Vec::new();
    let mut dropped = Vec::new();
    let all = [available(situation, record), scaling(situation, aim), upgrading(record), recovering(record)];
    let kinds = [condition::AVAILABLE, condition::SCALING, condition::UPGRADING, condition::RECOVERING];
    for (kind, condition) in kinds.into_iter().zip(all) {
        match condition {
            Some(condition) => conditions.push(condition),
            None => dropped.push(kind),
        }
    }
    Report {
        status: status(situation, record, step),
        conditions,
        dropped,
        events: step.events.clone(),
        standing: step.standing.clone(),
        children: children(situation, record),
    }
}

fn children(situation: &Situation<'_>, record: &Record) -> Vec<serde_json::Value> {
    let several = record.members.iter().any(|member| member.incarnation != record.incarnation);
    let only = several.then_some(record.incarnation);
    let voters = if record.cluster_id.is_some() { situation.voter_count().max(1) } else { 0 };
    manifest::children(situation.cluster, only, voters)
}

fn status(situation: &Situation<'_>, record: &Record, step: &Step) -> ClusterStatus {
    let place = situation.place();
    let exists = record.cluster_id.is_some() || situation.observed.announced;
    let phase = match (exists, record.members.is_empty()) {
        (true, _) => Phase::Running,
        (false, false) => Phase::Creating,
        (false, true) => Phase::None,
    };
    let reason = match &step.standing {
        Standing::Stalled { message, .. } => message.clone(),
        _ => String::new(),
    };
    let (mut ready, mut unready) = (Vec::new(), Vec::new());
    for member in &situation.members {
        let list = if member.pod.is_some_and(|pod| pod.ready) { &mut ready } else { &mut unready };
        list.push(member.name().to_owned());
    }
    let asked = planted::has(Defect::CopiesVersion).then_some(situation.plan.version);
    let running = asked.or_else(|| situation.voters().filter_map(Member::running).min());
    ClusterStatus {
        phase,
        reason,
        control_paused: situation.plan.paused && !planted::has(Defect::HidesPause),
        conditions: Vec::new(),
        size: i32::try_from(situation.voter_count()).unwrap_or(i32::MAX),
        service_name: place.client_service(),
        client_port: i32::from(names::CLIENT_PORT),
        members: MembersStatus { ready, unready },
        current_version: running.map(|version| version.to_string()).unwrap_or_default(),
        target_version: record.upgrade.as_ref().map(|upgrade| upgrade.to.clone()).unwrap_or_default(),
        observed_generation: situation.cluster.generation,
        selector: manifest::selector(&situation.cluster.name),
        leader: situation.leader().map(|leader| leader.name().to_owned()).unwrap_or_default(),
        record: record.clone(),
    }
}

fn available(situation: &Situation<'_>, record: &Record) -> Option<ConditionChange> {
    let change = |status, reason, message| {
        Some(ConditionChange { kind: condition::AVAILABLE, status, reason, message })
    };
    if record.cluster_id.is_none() {
        return match (situation.observed.announced, record.members.is_empty()) {
            (false, _) => None,
            (true, true) => {
                change(false, condition::REASON_DATA_LOST, "all members and their data are gone".to_owned())
            }
            (true, false) => change(false, condition::REASON_UNKNOWN, "no member answers".to_owned()),
        };
    }
    if situation.agreed().is_some() || record.cluster_id != situation.record.cluster_id {
        return change(true, condition::REASON_AVAILABLE, String::new());
    }
    if recovery::is_lost_for_good(situation) {
        return change(false, condition::REASON_DATA_LOST, quorum_sentence(situation));
    }
    let since = record.quorum_lost_since.unwrap_or(situation.now);
    let passing =
        situation.now.duration_since(since) < ELECTION && situation.healthy_or_voting() >= situation.quorum();
    if passing {
        change(true, condition::REASON_AVAILABLE, String::new())
    } else {
        change(false, condition::REASON_QUORUM_LOST, quorum_sentence(situation))
    }
}

fn scaling(situation: &Situation<'_>, aim: &Aim) -> Option<ConditionChange> {
    situation.record.cluster_id?;
    let (voters, size) = (situation.voter_count(), situation.plan.size);
    let instead = voters == size + 1 && rollout::needs_another(situation, aim.version);
    let reason = match voters.cmp(&size) {
        std::cmp::Ordering::Less => condition::REASON_SCALING_UP,
        std::cmp::Ordering::Greater if !instead => condition::REASON_SCALING_DOWN,
        _ => return None,
    };
    let message = format!("Current cluster size: {voters}, desired cluster size: {size}");
    Some(ConditionChange { kind: condition::SCALING, status: true, reason, message })
}

fn upgrading(record: &Record) -> Option<ConditionChange> {
    let upgrade = record.upgrade.as_ref()?;
    let message = format!("upgrading to {}", upgrade.to);
    Some(ConditionChange {
        kind: condition::UPGRADING,
        status: true,
        reason: condition::REASON_UPGRADING,
        message,
    })
}

fn recovering(record: &Record) -> Option<ConditionChange> {
    let change = record.change.as_ref().filter(|change| !change.source.is_empty())?;
    let message = match &change.source.survivor {
        Some(survivor) => format!("Majority is down. Recovering from member {survivor}"),
        None => "Majority is down. Recovering from backup".to_owned(),
    };
    Some(ConditionChange {
        kind: condition::RECOVERING,
        status: true,
        reason: condition::REASON_RECOVERING,
        message,
    })
}

/// Whose data is on no node, and what to do about that.
fn out_of_reach(situation: &Situation<'_>) -> Option<String> {
    let away = situation.voters().filter(|member| repair::is_out_of_reach(situation, member));
    let away: Vec<&str> = away.map(Member::name).collect();
    let message = format!(
        "no node has the volumes of {}: they can agree again once one has; delete the claims of volumes that are gone for good",
        away.join(", ")
    );
    (!away.is_empty()).then_some(message)
}

/// Who is missing for a quorum, and whether they can come back.
pub(crate) fn quorum_sentence(situation: &Situation<'_>) -> String {
    let (voters, needed) = (situation.voter_count(), situation.quorum());
    let possible = recovery::possible(situation);
    let answer = situation.voters().filter(|member| member.status().is_some()).count();
    let silent: Vec<&str> =
        situation.voters().filter(|member| member.status().is_none()).map(Member::name).collect();
    let missing =
        if silent.is_empty() { "none leads".to_owned() } else { format!("silent: {}", silent.join(", ")) };
    let outlook = if possible < needed {
        format!(
            "the data of {} is gone, so they cannot agree any more: restore a backup, or set spec.quorumRecovery",
            voters - possible
        )
    } else {
        out_of_reach(situation)
            .unwrap_or_else(|| "their data is there, so they can agree again once they run".to_owned())
    };
    format!("{answer} of {voters} voters answer and {needed} have to agree ({missing}); {outlook}")
}

/// Who is not well.
pub(crate) fn health_sentence(situation: &Situation<'_>) -> String {
    match situation.first_unfit("") {
        Some(unfit) => format!("paused, and member {unfit} is not ready"),
        None => "paused, and the members do not agree".to_owned(),
    }
}

/// The decision on a spec that cannot be carried out: nothing is done; what was told before of the members stays.
pub(crate) fn refused(cluster: &Cluster, observed: &Observed, wrong: &[SpecError]) -> Decision {
    let message = decide::sentence(wrong);
    let standing = Standing::Stalled { reason: "InvalidSpec", message: message.clone() };
    still(cluster, observed, Act::Nothing, standing, message, Duration::from_secs(60))
}

/// The decision on an object that is being deleted.
pub(crate) fn deleting(cluster: &Cluster, observed: &Observed, standing: Standing, act: Act) -> Decision {
    still(cluster, observed, act, standing, String::new(), LATER)
}

/// A decision that leaves members, Services and the record alone.
fn still(
    cluster: &Cluster,
    observed: &Observed,
    act: Act,
    standing: Standing,
    reason: String,
    next: Duration,
) -> Decision {
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let voters = observed.record.members.iter().filter(|member| member.voter).count();
    let several =
        observed.record.members.iter().any(|member| member.incarnation != observed.record.incarnation);
    let (mut ready, mut unready) = (Vec::new(), Vec::new());
    for member in
        observed.record.members.iter().filter(|member| member.incarnation == observed.record.incarnation)
    {
        let is_ready = observed.pods.iter().any(|pod| pod.owned && pod.ready && pod.name == member.name);
        if is_ready { &mut ready } else { &mut unready }.push(member.name.clone());
    }
    let exists = observed.record.cluster_id.is_some() || observed.announced;
    let begun = !observed.record.members.is_empty();
    let phase = if exists {
        Phase::Running
    } else if begun {
        Phase::Creating
    } else {
        Phase::None
    };
    let status = ClusterStatus {
        phase,
        reason,
        control_paused: cluster.spec.paused,
        size: i32::try_from(voters).unwrap_or(i32::MAX),
        service_name: place.client_service(),
        client_port: i32::from(names::CLIENT_PORT),
        members: MembersStatus { ready, unready },
        observed_generation: cluster.generation,
        selector: manifest::selector(&cluster.name),
        record: observed.record.clone(),
        ..ClusterStatus::default()
    };
    let children = if begun {
        manifest::children(cluster, several.then_some(observed.record.incarnation), voters)
    } else {
        Vec::new()
    };
    let report = Report {
        status,
        conditions: Vec::new(),
        dropped: Vec::new(),
        events: Vec::new(),
        standing,
        children,
    };
    Decision { record: observed.record.clone(), act, report, next }
}
