//! Which version members are brought to.

use std::cmp::Ordering;

use crate::{
    member::Member,
    planted::{self, Defect},
    rollout,
    situation::Situation,
    version::{self, Version},
};

/// Where the members go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aim {
    /// The version of pods that are made now.
    pub(crate) version: Version,
    /// Why it is not the one asked for.
    pub(crate) refused: Option<String>,
}

/// The lowest and the highest version that voters run, or are meant to run where they do not say.
pub(crate) fn range(situation: &Situation<'_>) -> Option<(Version, Version)> {
    let versions = || situation.voters().filter_map(|member| member.running().or(member.meant()));
    Some((versions().min()?, versions().max()?))
}

/// Where the members go. An upgrade that was begun is finished before the next, unless the members may go to the newly asked
/// version from where they are: back, for example.
pub(crate) fn aim(situation: &Situation<'_>) -> Aim {
    let asked = situation.plan.version;
    let Some((lowest, highest)) = range(situation) else { return Aim { version: asked, refused: None } };
    let begun = situation.record.upgrade.as_ref().and_then(|upgrade| upgrade.to.parse().ok());
    if begun == Some(asked) || situation.voters().all(|member| member.meant() == Some(asked)) {
        return Aim { version: asked, refused: None };
    }
    match reach(lowest, highest, asked) {
        Ok(()) => Aim { version: asked, refused: None },
        Err(why) => Aim { version: begun.unwrap_or_else(|| stay(situation, lowest)), refused: Some(why) },
    }
}

/// What members that are made now run when nothing is to change: what most are meant to run.
fn stay(situation: &Situation<'_>, lowest: Version) -> Version {
    situation.voters().filter_map(Member::meant).min().unwrap_or(lowest)
}

/// May members between these versions go to that one?
fn reach(lowest: Version, highest: Version, to: Version) -> Result<(), String> {
    if planted::has(Defect::AnyVersion) {
        return Ok(());
    }
    version::step(lowest, to).map_err(|error| error.to_string())?;
    if highest.series() > (to.major, to.minor + 1) {
        return Err(version::step(highest, to).map_or_else(|error| error.to_string(), |_| String::new()));
    }
    Ok(())
}

/// Has etcd to be told before members go to this version? Only when all of them are beyond it: while some are not, the
/// cluster as a whole is not either.
pub(crate) fn is_downgrade(situation: &Situation<'_>, to: Version) -> bool {
    range(situation).is_some_and(|(lowest, _)| lowest.series() > to.series())
}

/// May this member go to this version? To a lower minor only when its storage is in the old format already, to a higher one only
/// when that of all is in the format of the minor before.
pub(crate) fn storage_allows(situation: &Situation<'_>, member: &Member<'_>, to: Version) -> bool {
    let from = member.running().or(member.meant());
    if from.is_none_or(|from| from.series() <= to.series()) {
        return behind(situation, to).is_none();
    }
    // One that does not answer does not say which format that is. It is the old one if it never got to the new version.
    let Some(status) = member.status() else { return rollout::is_taken_back(situation, member, to) };
    let storage: Option<Version> = status.storage_version.as_ref().and_then(|version| version.parse().ok());
    storage.is_none_or(|storage| storage.series() <= to.series())
}

/// A member whose storage is still two minors below this version: etcd has not noticed yet that all members are past the minor
/// before, and lets none go further.
fn behind<'s, 'a>(situation: &'s Situation<'a>, to: Version) -> Option<&'s Member<'a>> {
    situation.voters().find(|member| {
        let storage = member.status().and_then(|status| status.storage_version.as_ref());
        let storage: Option<Version> = storage.and_then(|version| version.parse().ok());
        storage.is_some_and(|storage| (storage.major, storage.minor + 1) < to.series())
    })
}

/// What a member that joins now runs: never less than all others, for the cluster as a whole is there then, not more than etcd is
/// ready for, and never as the first one another minor: that is prepared for.
pub(crate) fn joining(situation: &Situation<'_>, aim: &Aim) -> Version {
    let lowest = range(situation).map(|(lowest, _)| lowest);
    let early = behind(situation, aim.version).is_some();
    let begun = situation.voters().any(|member| member.meant() == Some(aim.version));
    let stays = |lowest: &Version| match lowest.series().cmp(&aim.version.series()) {
        Ordering::Greater => true,
        Ordering::Equal => early,
        Ordering::Less => early || !begun,
    };
    lowest.filter(stays).unwrap_or(aim.version)
}
