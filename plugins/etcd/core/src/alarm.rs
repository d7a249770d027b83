//! The alarm `NOSPACE`: history is forgotten, databases are defragmented, the alarm is taken back.

use etcd_api::{Record, ReliefRecord, names::event};
use jiff::SignedDuration;

use crate::{
    act::Act,
    decision::EventNote,
    member::Member,
    observed::{AlarmKind, Status},
    rollout,
    situation::Situation,
    step::{LATER, SOON, Step},
    upgrade::Aim,
};

/// How long after it did not help it is tried again.
const RETRY: SignedDuration = SignedDuration::from_mins(10);
/// The same where something speaks for it: keys were deleted, or the quota is larger.
const RETRY_SOON: SignedDuration = SignedDuration::from_secs(30);
/// What people can do about it.
pub(crate) const REMEDY: &str = "delete keys, or raise spec.options.quotaBackendBytes";
/// etcd's quota when none is set.
const DEFAULT_QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// The next thing to do about it.
pub(crate) fn step(situation: &Situation<'_>, aim: &Aim) -> Option<Step> {
    if situation.observed.etcd.alarms.is_none() {
        // They agree, so it passes. What is not answered is no word that there is none.
        return Some(situation.wait(SOON, "AlarmsUnknown", "waiting for a word about alarms"));
    }
    let raised = situation.has_alarm(AlarmKind::NoSpace);
    let Some(relief) = &situation.record.relief else { return raised.then(|| begin(situation)) };
    if !raised {
        let step = situation.note("AlarmRaised", "there is space again");
        return Some(step.remember(|record| record.relief = None));
    }
    if relief.in_vain {
        return is_worth_it(situation, relief, aim).then(|| begin(situation));
    }
    if !relief.compacted {
        let act = Act::Compact { revision: relief.revision };
        return Some(situation.act(act, "AlarmRaised", compacting(relief.revision)));
    }
    match next(situation, &relief.pending) {
        Next::None => Some(match situation.first_unfit("") {
            // A database that takes long to be defragmented goes on without us, and its member does not answer meanwhile.
            Some(unfit) => situation.wait(
                SOON,
                "AlarmRaised",
                format!("waiting for member {unfit} before it is said whether there is space"),
            ),
            None => end(situation),
        }),
        Next::Waits(why) => Some(situation.wait(SOON, "AlarmRaised", why)),
        Next::Lead(act) => {
            Some(situation.act(act, "AlarmRaised", "moving the lead before the leader is defragmented"))
        }
        Next::Member(name) => {
            let act = Act::Defragment { member: name.clone() };
            let message = format!("defragmenting the database of member {name}");
            Some(situation.act(act, "AlarmRaised", message))
        }
    }
}

/// What is to be remembered of an act that was carried out and that nobody can look at afterwards; none of all others. Who dies
/// before it is remembered carries the act out again.
pub fn settled(record: &Record, act: &Act) -> Option<Record> {
    let mut record = record.clone();
    match act {
        Act::Compact { revision } => {
            record.relief.as_mut().filter(|relief| relief.revision == *revision)?.compacted = true;
        }
        Act::Defragment { member } => {
            let relief = record.relief.iter_mut().map(|relief| &mut relief.pending);
            let schedule = record.defragmentation.iter_mut().map(|run| &mut run.pending);
            relief.chain(schedule).for_each(|pending| pending.retain(|pending| pending != member));
        }
        _ => return None,
    }
    Some(record)
}

/// May space be made now, though it could not before? While the alarm is raised etcd takes nothing but deletions, so a newer
/// revision is one. A quota counts when all members run with it.
fn is_worth_it(situation: &Situation<'_>, relief: &ReliefRecord, aim: &Aim) -> bool {
    let passed = situation.now.duration_since(relief.since);
    let deleted = revision(situation) > relief.revision;
    let has_room = |member: &Member<'_>| member.status().is_some_and(|status| !is_full(situation, status));
    let larger = || situation.voters().all(has_room) && situation.outdated(aim.version).is_empty();
    passed > RETRY || (passed > RETRY_SOON && (deleted || larger()))
}

/// The revision that all members have.
fn revision(situation: &Situation<'_>) -> i64 {
    situation.voters().filter_map(Member::status).map(|status| status.revision).min().unwrap_or_default()
}

fn compacting(revision: i64) -> String {
    format!("The quota of the database is reached: history before revision {revision} is forgotten")
}

fn begin(situation: &Situation<'_>) -> Step {
    if let Some(unfit) = situation.first_unfit("") {
        return situation.wait(
            SOON,
            "AlarmRaised",
            format!("waiting for member {unfit} before space is made"),
        );
    }
    let revision = revision(situation);
    let pending = situation.voters().map(|member| member.name().to_owned()).collect();
    let relief = ReliefRecord { revision, pending, since: situation.now, compacted: false, in_vain: false };
    let message = compacting(revision);
    let step = situation.act(Act::Compact { revision }, "AlarmRaised", message.clone());
    step.remember(|record| record.relief = Some(relief)).tell(EventNote::warning(event::ALARM, message))
}

fn end(situation: &Situation<'_>) -> Step {
    if let Some(name) = untouched(situation) {
        let message = format!("the database of member {name} has to be defragmented again");
        let again = |relief: &mut ReliefRecord| relief.pending = vec![name.clone()];
        return situation
            .note("AlarmRaised", message)
            .remember(|record| record.relief.iter_mut().for_each(again));
    }
    if let Some(message) = no_use(situation) {
        let step = situation.stall("NoSpace", message.clone());
        // It is tried again so long after its end: large databases take longer than that.
        let over = |relief: &mut ReliefRecord| (relief.in_vain, relief.since) = (true, situation.now);
        return step
            .remember(|record| record.relief.iter_mut().for_each(over))
            .tell(EventNote::warning(event::ALARM, message));
    }
    let alarms = situation.observed.etcd.alarms.iter().flatten();
    match alarms.into_iter().find(|alarm| alarm.kind == AlarmKind::NoSpace) {
        Some(alarm) => {
            let act = Act::Disarm { member: alarm.member, alarm: alarm.kind };
            situation.act(act, "AlarmRaised", "taking the alarm back")
        }
        None => situation.wait(LATER, "AlarmRaised", "there is space again"),
    }
}

/// A member that is full of free pages: it ended before its database was defragmented.
fn untouched(situation: &Situation<'_>) -> Option<String> {
    let free = |status: &Status| is_full(situation, status) && status.db_in_use < status.db_size / 2;
    let member = situation.voters().find(|member| member.status().is_some_and(free))?;
    Some(member.name().to_owned())
}

/// Why the alarm would come again if it were taken back, if it would.
fn no_use(situation: &Situation<'_>) -> Option<String> {
    let full = |member: &&Member<'_>| member.status().is_some_and(|status| is_full(situation, status));
    if let Some(member) = situation.voters().find(full) {
        return Some(format!(
            "The database of member {} is nearly full even after it was defragmented: {REMEDY}",
            member.name()
        ));
    }
    let member = situation.voters().find(|member| !is_quota_known(situation, member))?;
    Some(format!(
        "How large the database of member {} may grow is not known before its pod is as it is asked for",
        member.name()
    ))
}

/// Members before 3.6 do not tell their quota. It is the one that is asked for if their pods were made from that.
fn is_quota_known(situation: &Situation<'_>, member: &Member<'_>) -> bool {
    let tells = member.status().is_some_and(|status| status.db_quota.is_some());
    tells || member.meant().is_some_and(|version| rollout::outdated(situation, member, version).is_none())
}

/// Is more than nine tenths of the quota taken?
fn is_full(situation: &Situation<'_>, status: &Status) -> bool {
    takes_more_than(9, situation, status)
}

/// May the alarm come soon? More than seven tenths of a quota are taken. etcd gives no sign when it raises it.
pub(crate) fn is_near(situation: &Situation<'_>) -> bool {
    situation.voters().filter_map(Member::status).any(|status| takes_more_than(7, situation, status))
}

fn takes_more_than(tenths: i128, situation: &Situation<'_>, status: &Status) -> bool {
    let quota = status.db_quota.or(situation.plan.options.quota_backend_bytes).unwrap_or(DEFAULT_QUOTA);
    i128::from(status.db_size) * 10 > i128::from(quota) * tenths
}

/// Which member is defragmented next.
pub(crate) enum Next {
    /// None is left.
    None,
    /// One is left, and it is not its time.
    Waits(String),
    /// The leader is left: another one is to lead before.
    Lead(Act),
    /// This one.
    Member(String),
}

/// The next of these members whose database can be defragmented: the leader last, and only while everybody else is well, for it
/// does not answer meanwhile.
pub(crate) fn next(situation: &Situation<'_>, pending: &[String]) -> Next {
    let voters = situation.voters().filter(|member| pending.iter().any(|name| name == member.name()));
    let Some(member) = voters.min_by_key(|member| (situation.leads(member.name()), member.record.serial))
    else {
        return Next::None;
    };
    match situation.first_unfit("") {
        Some(unfit) => Next::Waits(format!("waiting for member {unfit} before a database is defragmented")),
        None if situation.may_disturb(member.name()) => {
            let successor =
                situation.successor(member.name(), None).filter(|_| situation.leads(member.name()));
            match successor.and_then(Member::id) {
                Some(to) => Next::Lead(Act::MoveLeader { from: member.name().to_owned(), to }),
                None => Next::Member(member.name().to_owned()),
            }
        }
        None => Next::Waits("too few members are well to defragment a database".to_owned()),
    }
}
