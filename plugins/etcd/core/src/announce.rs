//! Changes that other plugins may have a part in, such as a backup: announced before they begin, and told of when they are over.

use etcd_api::{ChangeEnding, EndedChange, EndedKind, Record, ScaleDownRecord, UpgradeRecord};
use jiff::{SignedDuration, Timestamp};

use crate::{
    act::{Act, HookPhase},
    decision::EventNote,
    digest::digest,
    observed::HookState,
    situation::Situation,
    step::{LATER, Step},
};

/// How long after plugins failed to prepare for a change they are asked again.
const RETRY: SignedDuration = SignedDuration::from_mins(10);

/// A change that is about to begin.
struct Coming {
    phase: HookPhase,
    /// Its name.
    change: String,
    since: Timestamp,
    /// What it is called.
    what: &'static str,
    /// The reason of a cluster that cannot begin it.
    failed: &'static str,
}

/// The name of an upgrade.
fn upgrade(uid: &str, upgrade: &UpgradeRecord) -> String {
    let id = serde_json::json!([uid, upgrade.to, upgrade.since.to_string()]);
    format!("upgrade-{}", digest(&id))
}

/// The name of a change to fewer members.
fn scale_down(uid: &str, scale: &ScaleDownRecord) -> String {
    let id = serde_json::json!([uid, scale.to, scale.since.to_string()]);
    format!("scale-down-{}", digest(&id))
}

/// Other plugins prepare for an upgrade. None: they have.
pub(crate) fn before_upgrade(situation: &Situation<'_>, record: &UpgradeRecord) -> Option<Step> {
    let coming = Coming {
        phase: HookPhase::PreUpgrade,
        change: upgrade(&situation.cluster.uid, record),
        since: record.since,
        what: "upgrade",
        failed: "PreUpgradeFailed",
    };
    before(situation, coming, |record| {
        record.upgrade.iter_mut().for_each(|upgrade| upgrade.since = situation.now);
    })
}

/// Other plugins prepare for fewer members. None: they have.
pub(crate) fn before_scale_down(situation: &Situation<'_>, record: &ScaleDownRecord) -> Option<Step> {
    let coming = Coming {
        phase: HookPhase::PreScaleDown,
        change: scale_down(&situation.cluster.uid, record),
        since: record.since,
        what: "change to fewer members",
        failed: "PreScaleDownFailed",
    };
    before(situation, coming, |record| {
        record.scale_down.iter_mut().for_each(|scale| scale.since = situation.now);
    })
}

/// No backup, no upgrade. `anew` gives the change another name, under which they are asked again.
fn before(situation: &Situation<'_>, coming: Coming, anew: impl FnOnce(&mut Record)) -> Option<Step> {
    let Coming { phase, change, since, what, failed } = coming;
    match situation.observed.hook_of(phase, &change) {
        Some(HookState::Done) => None,
        Some(HookState::Pending) => {
            let message = format!("waiting for plugins that prepare for the {what}");
            Some(situation.wait(LATER, "Preparing", message))
        }
        Some(HookState::Failed(why)) if situation.now.duration_since(since) > RETRY => {
            let message = format!("asking again to prepare for the {what}: {why}");
            Some(situation.note("Preparing", message).remember(anew))
        }
        Some(HookState::Failed(why)) => {
            let message = format!("no {what}, for a plugin could not prepare for it: {why}");
            Some(situation.stall(failed, message))
        }
        None => {
            let message = format!("asking plugins to prepare for the {what}");
            Some(situation.act(Act::Announce { phase, change }, "Preparing", message))
        }
    }
}

/// Tells of a change that is over. No other is begun until everybody has heard it; lost members are replaced meanwhile.
pub(crate) fn after(situation: &Situation<'_>) -> Option<Step> {
    let EndedChange { kind, change, ending } = situation.record.ended.as_ref()?;
    let phase = match kind {
        EndedKind::Upgrade => HookPhase::PostUpgrade(*ending),
        EndedKind::ScaleDown => HookPhase::PostScaleDown(*ending),
        EndedKind::Delete => HookPhase::PostDelete,
    };
    let step = match situation.observed.hook_of(phase, change) {
        None => {
            let act = Act::Announce { phase, change: change.clone() };
            return Some(situation.act(act, "Concluding", "telling plugins how a change ended"));
        }
        Some(HookState::Pending) => {
            return Some(situation.wait(
                LATER,
                "Concluding",
                "waiting for plugins that have a part in what follows a change",
            ));
        }
        Some(HookState::Done) => situation.note("Concluding", "plugins have heard how a change ended"),
        Some(HookState::Failed(why)) => situation
            .note("Concluding", "plugins have heard how a change ended")
            .tell(EventNote::warning("HookFailed", format!("{}: {why}", phase.as_str()))),
    };
    Some(step.remember(|record| record.ended = None))
}

/// The upgrade is over.
pub(crate) fn end_upgrade(record: &mut Record, uid: &str, ending: ChangeEnding) {
    if let Some(over) = record.upgrade.take() {
        let ending = if over.begun { ending } else { ChangeEnding::Withdrawn };
        record.ended = Some(EndedChange { kind: EndedKind::Upgrade, change: upgrade(uid, &over), ending });
    }
}

/// The change to fewer members is over.
pub(crate) fn end_scale_down(record: &mut Record, uid: &str, ending: ChangeEnding) {
    if let Some(over) = record.scale_down.take() {
        let ending = if over.begun { ending } else { ChangeEnding::Withdrawn };
        let change = scale_down(uid, &over);
        record.ended = Some(EndedChange { kind: EndedKind::ScaleDown, change, ending });
    }
}
