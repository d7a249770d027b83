//! Too few members are left to agree.

use etcd_api::{RecoveryPolicy, SeedSource};

use crate::{
    member::{Data, Member},
    seed,
    situation::{Situation, quorum},
    step::Step,
};

/// Voters whose data is there, whether they run or not. A volume that no node has may be there as well: its node, or its zone, may
/// come back. That it is gone for good is only known to who deletes its claim.
pub(crate) fn possible(situation: &Situation<'_>) -> usize {
    let there = |member: &&Member<'_>| matches!(member.data(), Data::Present | Data::Doomed | Data::Unborn);
    situation.voters().filter(there).count()
}

/// Is the data of so many voters gone that the others can never agree again?
pub(crate) fn is_lost_for_good(situation: &Situation<'_>) -> bool {
    situation.agreed().is_none() && possible(situation) < quorum(situation.voter_count())
}

/// A restore that people asked for.
pub(crate) fn restore(situation: &Situation<'_>) -> Option<Step> {
    let order = situation.observed.restore.as_ref()?;
    let done = [&situation.record.restored, &situation.record.refused_restore];
    if done.into_iter().flatten().any(|uid| *uid == order.uid) {
        return None;
    }
    let source = SeedSource {
        restore: Some(order.uid.clone()),
        revision: Some(order.revision),
        ..SeedSource::default()
    };
    Some(seed::begin_anew(situation, source))
}

/// Begins the cluster anew with the data of the member that has most of it, if that is asked for.
pub(crate) fn from_survivor(situation: &Situation<'_>) -> Option<Step> {
    let (policy, after) = situation.plan.recovery;
    let since = situation.record.quorum_lost_since?;
    let due = policy == RecoveryPolicy::FromSurvivor && situation.now.duration_since(since) >= after;
    if !due || !is_lost_for_good(situation) {
        return None;
    }
    let survivors = situation.voters().filter(|member| member.data() == Data::Present);
    let knows = survivors.filter_map(|member| Some((member, member.status()?)));
    let (survivor, status) = knows.max_by_key(|(_, status)| (status.term, status.index, status.revision))?;
    let source = SeedSource {
        survivor: Some(survivor.name().to_owned()),
        revision: Some(status.revision),
        ..SeedSource::default()
    };
    Some(seed::begin_anew(situation, source))
}
