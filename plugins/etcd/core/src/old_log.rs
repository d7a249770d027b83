//! Entries in the members' logs that the next version cannot read.
//!
//! etcd 3.5 writes into its log in a form that 3.6 still reads and 3.7 does not: a member of 3.7 that finds such an entry after its
//! last snapshot ends with a panic, at every start, and a cluster writes few snapshots (one in 10,000 entries). Nothing makes a
//! member of 3.6 write one, but that the version of the cluster is lowered: so a downgrade to 3.5 is enabled and, as soon as all
//! have done what it asks for, taken back (etcd's `applierMembership.ClusterVersionSet`). No member is restarted for that.

use etcd_api::{LogState, UpgradeRecord};

use crate::{
    act::Act,
    member::Member,
    planted::{self, Defect},
    situation::Situation,
    step::{SOON, Step},
    version::Version,
};

/// The version that is not read any more, and those between which that matters.
const WRITTEN_BY: Version = Version { major: 3, minor: 5, patch: 0 };
const READ_BY: (u32, u32) = (3, 6);
const NOT_READ_BY: (u32, u32) = (3, 7);

/// Is a downgrade enabled that is meant to be taken back?
pub(crate) fn is_told(upgrade: &UpgradeRecord, to: Version) -> bool {
    upgrade.logs == Some(LogState::Beginning) && to.series() == NOT_READ_BY
}

/// Frees the logs of what the next version cannot read, before the first member goes there; none when nothing is to be done.
pub(crate) fn shed(situation: &Situation<'_>, upgrade: &UpgradeRecord, to: Version) -> Option<Step> {
    let from = situation.voters().filter_map(Member::running).min()?;
    if planted::has(Defect::KeepsOldLogs) {
        return None;
    }
    if from.series() != READ_BY || to.series() != NOT_READ_BY || upgrade.logs == Some(LogState::Free) {
        return None;
    }
    if let Some(unfit) = situation.first_unfit("") {
        let message = format!("waiting for member {unfit} before the members begin their logs anew");
        return Some(situation.wait(SOON, "MemberNotReady", message));
    }
    let enabled = situation.voters().filter_map(Member::status).any(|status| status.downgrade.is_some());
    let step = match upgrade.logs {
        // Until etcd has noticed that all members are past 3.5, their storage tells nothing of what is done here.
        None if all_store_as(situation, READ_BY) => advance(situation, LogState::Beginning),
        Some(LogState::Beginning) if all_store_as(situation, WRITTEN_BY.series()) => {
            advance(situation, LogState::TakingBack)
        }
        Some(LogState::Beginning) if !enabled => {
            let act = Act::DowngradeEnable { version: WRITTEN_BY };
            situation.act(
                act,
                "Upgrading",
                "having the members begin their logs anew, by a downgrade that is taken back",
            )
        }
        Some(LogState::TakingBack) if enabled => {
            situation.act(Act::DowngradeCancel, "Upgrading", "taking that downgrade back")
        }
        Some(LogState::TakingBack) if all_store_as(situation, READ_BY) => advance(situation, LogState::Free),
        _ => situation.wait(SOON, "Upgrading", "waiting until the members have begun their logs anew"),
    };
    Some(step)
}

fn advance(situation: &Situation<'_>, state: LogState) -> Step {
    let step = situation.note(
        "Upgrading",
        "the members begin their logs anew, for the next version cannot read the old ones",
    );
    step.remember(|record| record.upgrade.iter_mut().for_each(|upgrade| upgrade.logs = Some(state)))
}

fn all_store_as(situation: &Situation<'_>, series: (u32, u32)) -> bool {
    situation.voters().all(|member| {
        let storage =
            member.status().and_then(|status| status.storage_version.as_ref()?.parse::<Version>().ok());
        storage.is_some_and(|storage| storage.series() == series)
    })
}
