//! The one next act.

use std::time::Duration;

use etcd_api::ChangeKind;
use jiff::Timestamp;

use crate::{
    act::Act,
    alarm, announce, cleanup,
    decision::{Decision, Standing},
    defragmentation, deletion, join, learn, leave,
    observed::{Cluster, Observed, View},
    patience,
    planted::{self, Defect},
    recovery, repair, report, rollout, seed,
    situation::Situation,
    spec::{Plan, SpecError},
    step::{LATER, SOON, Step},
    upgrade::{self, Aim},
    upkeep,
};

/// How soon to look again when nothing is to be done: alarms, leaders and what members know change without a sign.
const REST: Duration = Duration::from_secs(60);

/// What to do next, from what was asked for, what was seen and the time.
///
/// # Guarantees
/// - The same arguments give the same decision.
/// - At most one change of the membership is under way, and at most one member is taken out of service at a time; neither
///   while the others could not agree without it.
/// - Nothing is changed on what a cache says: the act is [`Act::Look`] then.
/// - What an act is part of stands in the record before it. Whoever comes after a crash goes on from there, whether the act
///   was done or not.
pub fn decide(cluster: &Cluster, observed: &Observed, now: Timestamp) -> Decision {
    if cluster.deleting {
        return deletion::delete(cluster, observed, now);
    }
    match Plan::of(cluster) {
        Err(wrong) if observed.record.members.is_empty() => report::refused(cluster, observed, &wrong),
        Err(wrong) => refused(cluster, observed, now, &wrong),
        Ok(plan) => {
            let (record, events) = learn::learn(cluster, &plan, observed, now);
            let situation = Situation::new(cluster, &plan, observed, &record, now);
            let aim = upgrade::aim(&situation);
            let mut step = if plan.paused { paused(&situation) } else { next(&situation, &aim) };
            step.events.splice(0..0, events);
            conclude(&situation, &aim, step)
        }
    }
}

/// A spec that cannot be carried out, of a cluster that exists: nothing is changed, and how the members are goes on being told.
fn refused(cluster: &Cluster, observed: &Observed, now: Timestamp, wrong: &[SpecError]) -> Decision {
    let plan = Plan::of_bystander(cluster, &observed.record);
    let (record, events) = learn::learn(cluster, &plan, observed, now);
    let situation = Situation::new(cluster, &plan, observed, &record, now);
    let aim = Aim { version: plan.version, refused: None };
    let mut step = situation.stall("InvalidSpec", sentence(wrong));
    step.events = events;
    conclude(&situation, &aim, step)
}

fn conclude(situation: &Situation<'_>, aim: &Aim, step: Step) -> Decision {
    let changes = step.act != Act::Nothing || step.record != situation.observed.record;
    let report = report::report(situation, aim, &step);
    if changes && situation.observed.view == View::Cached {
        let mut report = report;
        report.events.clear();
        report.status.record = situation.observed.record.clone();
        return Decision {
            record: situation.observed.record.clone(),
            act: Act::Look,
            report,
            next: Duration::ZERO,
        };
    }
    let next = if changes { Duration::ZERO } else { sooner(situation, step.next) };
    Decision { record: step.record, act: step.act, report, next }
}

/// Not later than what is due by the clock.
fn sooner(situation: &Situation<'_>, next: Duration) -> Duration {
    let plan = situation.plan;
    let schedule = plan.defragmentation.as_ref().zip(situation.record.last_defragmentation);
    let defragmentation = schedule.and_then(|((schedule, _), last)| schedule.next_after(last));
    let another = patience::until(situation).map(|(end, _)| end);
    let times = [defragmentation, plan.tls.next_renewal(&situation.observed.secrets), another];
    let waits = times.into_iter().flatten().map(|time| {
        let wait = time.duration_since(situation.now);
        Duration::try_from(wait).unwrap_or_default().max(Duration::from_secs(1))
    });
    waits.fold(next, Duration::min)
}

fn paused(situation: &Situation<'_>) -> Step {
    let step = situation.wait(REST, "Paused", "the operator keeps its hands off: spec.paused is true");
    let unfit = situation.first_unfit("");
    let standing = match unfit.or_else(|| situation.agreed().is_none().then(String::new)) {
        None => Standing::Ready,
        Some(_) => Standing::Stalled { reason: "Paused", message: report::health_sentence(situation) },
    };
    // What was learnt is told, and nothing else is changed.
    Step { standing, ..step }
}

fn next(situation: &Situation<'_>, aim: &Aim) -> Step {
    if situation.record.members.is_empty() {
        return nothing_there(situation);
    }
    if let Some(order) =
        situation.plan.tls.order(situation.place(), &situation.observed.secrets, situation.now)
    {
        let message = format!("making the certificate {}", order.secret);
        return situation.act(Act::Issue(Box::new(order)), "Certificates", message);
    }
    let exists = situation.record.cluster_id.is_some();
    let change = situation.record.change.as_ref();
    let adopted = !exists && change.is_none();
    let upkeep = || upkeep::step(situation, aim.version).or_else(|| upkeep::mend(situation, aim.version));
    if let Some(step) = (exists || adopted).then(upkeep).flatten() {
        return step;
    }
    if let Some(change) = change.filter(|change| change.kind == ChangeKind::Seed) {
        return seed::go_on(situation, change);
    }
    if !exists {
        if situation.members.is_empty() {
            return cleanup::incarnations(situation).unwrap_or_else(|| rest(situation, aim));
        }
        if let Some(step) = cleanup::shadows(situation) {
            return step;
        }
        return situation.wait(
            SOON,
            "MembersUnknown",
            "waiting for members that are there already to answer",
        );
    }
    if let Some(step) = recovery::restore(situation).or_else(|| recovery::from_survivor(situation)) {
        return step;
    }
    if let Some(change) = change {
        return match change.kind {
            ChangeKind::Join => join::go_on(
                situation,
                change,
                upgrade::joining(situation, aim),
                rollout::wanted(situation, aim),
            ),
            ChangeKind::Leave | ChangeKind::Seed => leave::go_on(situation, change, aim),
        };
    }
    if situation.agreed().is_none() {
        return lost(situation);
    }
    agreed(situation, aim)
}

/// What can be done when the members agree and none joins or leaves, what matters most first.
fn agreed(situation: &Situation<'_>, aim: &Aim) -> Step {
    cleanup::incarnations(situation)
        .or_else(|| cleanup::strays(situation))
        .or_else(|| repair::begin(situation))
        .or_else(|| rollout::withdraw(situation, aim))
        .or_else(|| rollout::heal(situation, aim))
        .or_else(|| alarm::step(situation, aim))
        .or_else(|| cleanup::orphans(situation))
        .or_else(|| rollout::scale(situation, aim))
        .or_else(|| announce::after(situation))
        .or_else(|| rollout::step(situation, aim))
        .or_else(|| rollout::expand(situation))
        .or_else(|| defragmentation::step(situation))
        .unwrap_or_else(|| rest(situation, aim))
}

fn nothing_there(situation: &Situation<'_>) -> Step {
    let former = situation.observed.pods.iter().find(|pod| !pod.owned);
    if let Some(pod) = former {
        let message = format!("waiting until the pod {} of a former cluster of this name is gone", pod.name);
        return situation.wait(LATER, "NameTaken", message);
    }
    if situation.observed.announced && situation.observed.restore.is_none() {
        let message =
            "all members and their data are gone: restore a backup, or delete the cluster and create it anew";
        return situation.stall("DataLost", message);
    }
    let refused = situation.record.refused_restore.as_ref();
    if refused.is_some() && refused == situation.observed.restore.as_ref().map(|order| &order.uid) {
        let message = "its first data was to be a backup, and that failed: delete the EtcdRestore to begin without data";
        return situation.stall("RestoreFailed", message);
    }
    seed::begin(situation)
}

/// Too few members answer, and nothing can be done about it now.
fn lost(situation: &Situation<'_>) -> Step {
    let sentence = report::quorum_sentence(situation);
    if planted::has(Defect::BeginsAnew) && recovery::is_lost_for_good(situation) {
        return seed::begin_anew(situation, etcd_api::SeedSource::default());
    }
    if recovery::is_lost_for_good(situation) {
        let step = situation.stall("QuorumLost", sentence);
        return Step { next: LATER, ..step };
    }
    situation.wait(SOON, "QuorumLost", sentence)
}

fn rest(situation: &Situation<'_>, aim: &Aim) -> Step {
    let step = situation.wait(if alarm::is_near(situation) { LATER } else { REST }, "Ready", "");
    if let Some((member, _)) = repair::find(situation) {
        let message =
            format!("member {} cannot be replaced: the others would not be enough to agree", member.name());
        return Step { next: LATER, ..situation.wait(LATER, "QuorumAtRisk", message) };
    }
    if let Some(unfit) = situation.first_unfit("") {
        return situation.wait(LATER, "MemberNotReady", format!("member {unfit} is not ready"));
    }
    let missing = situation.plan.tls.missing(&situation.observed.secrets);
    if !missing.is_empty() {
        return situation.wait(LATER, "SecretMissing", missing.join("; "));
    }
    if let Some((_, message)) = patience::until(situation) {
        return situation.wait(REST, "MemberNotStarting", message);
    }
    let too_large = rollout::too_large(situation);
    let standing = match (&aim.refused, too_large) {
        (Some(why), _) => Standing::Stalled { reason: "UpgradeRefused", message: why.clone() },
        (None, Some(message)) => Standing::Stalled { reason: "VolumeTooLarge", message },
        (None, None) => match &situation.record.relief {
            Some(relief) if relief.in_vain => Standing::Stalled {
                reason: "NoSpace",
                message: format!("the database is nearly full: {}", alarm::REMEDY),
            },
            _ => Standing::Ready,
        },
    };
    Step { standing, ..step }
}

/// Everything that is wrong, in one text.
pub(crate) fn sentence(wrong: &[SpecError]) -> String {
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
