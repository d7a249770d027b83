//! Defragmentation by schedule.

use etcd_api::DefragmentationRecord;

use crate::{
    act::Act,
    alarm::{self, Next},
    member::Member,
    situation::Situation,
    step::{SOON, Step},
};

/// The next thing to do about it.
pub(crate) fn step(situation: &Situation<'_>) -> Option<Step> {
    let reason = "Defragmenting";
    let Some((schedule, minimum)) = &situation.plan.defragmentation else {
        let remembered =
            situation.record.defragmentation.is_some() || situation.record.last_defragmentation.is_some();
        return remembered.then(|| {
            situation.note(reason, "no schedule any more").remember(|record| {
                record.defragmentation = None;
                record.last_defragmentation = None;
            })
        });
    };
    let Some(last) = situation.record.last_defragmentation else {
        let step = situation.note(reason, "the schedule begins");
        return Some(step.remember(|record| record.last_defragmentation = Some(situation.now)));
    };
    let Some(run) = &situation.record.defragmentation else {
        let due = schedule.last_between(last, situation.now)?;
        let worth = situation.voters().filter(|member| free(member) >= *minimum);
        let pending = worth.map(|member| member.name().to_owned()).collect();
        let run = DefragmentationRecord { pending, since: situation.now };
        return Some(situation.note(reason, "databases are being defragmented").remember(|record| {
            record.last_defragmentation = Some(due);
            record.defragmentation = Some(run);
        }));
    };
    match alarm::next(situation, &run.pending) {
        Next::None => Some(
            situation
                .note(reason, "all databases are defragmented")
                .remember(|record| record.defragmentation = None),
        ),
        Next::Waits(why) => Some(situation.wait(SOON, reason, why)),
        Next::Lead(act) => {
            Some(situation.act(act, reason, "moving the lead before the leader is defragmented"))
        }
        Next::Member(name) => {
            let act = Act::Defragment { member: name.clone() };
            Some(situation.act(act, reason, format!("defragmenting the database of member {name}")))
        }
    }
}

/// Bytes of the database that are not in use.
fn free(member: &Member<'_>) -> i64 {
    member.status().map_or(0, |status| status.db_size.saturating_sub(status.db_in_use))
}
