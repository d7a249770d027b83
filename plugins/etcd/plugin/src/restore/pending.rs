//! What an `EtcdRestore` has for its cluster.

use etcd_api::{Artefact, Change, RestoreState};
use etcd_core::{RestoreOrder, backup::snapshot, observed::Cluster, spec::Plan, version::Version};
use pilothouse_sdk::{Kube, KubeError, Outcome};

use super::{RestoreObject, reference};

/// What there is to restore into a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pending {
    /// Nothing.
    Nothing,
    /// A backup that is still being looked at, by the uid of its `EtcdRestore`.
    Unchecked(String),
    /// A backup that was refused.
    Refused(String),
    /// A backup that waits for its first member.
    Checked(RestoreOrder),
}

impl Pending {
    /// The backup that was checked.
    pub(crate) fn order(self) -> Option<RestoreOrder> {
        match self {
            Self::Checked(order) => Some(order),
            Self::Nothing | Self::Unchecked(_) | Self::Refused(_) => None,
        }
    }

    /// Is this very restore looked at anew, though it was before? An operator of before may have told what it found by other names.
    pub(crate) fn is_again(&self, change: Option<&Change>) -> bool {
        let carried_out = change.and_then(|change| change.source.restore.as_ref());
        matches!(self, Self::Unchecked(uid) if Some(uid) == carried_out)
    }

    /// Why a cluster that is not there yet is not begun, if it is not: empty is not what was meant then.
    pub(crate) fn holds_back(&self) -> Option<Outcome> {
        match self {
            Self::Nothing | Self::Checked(_) => None,
            Self::Unchecked(_) => {
                let message = "waiting until the backup that is to be its data was looked at";
                Some(Outcome::progressing("AwaitingRestore", message))
            }
            Self::Refused(why) => {
                let message = format!("its EtcdRestore failed ({why}); delete that to begin without data");
                Some(Outcome::stalled("RestoreFailed", message))
            }
        }
    }
}

/// What there is to restore into a cluster.
///
/// # Errors
/// What the API server answered.
pub(crate) fn pending(kube: &Kube, cluster: &Cluster) -> Result<Pending, KubeError> {
    let found: Option<RestoreObject> = kube.get_ref(&reference(&cluster.namespace, &cluster.name))?;
    let Some(object) = found else { return Ok(Pending::Nothing) };
    let Ok(status) = object.status() else { return Ok(Pending::Nothing) };
    Ok(match (status.state, status.artefact) {
        // It becomes part of a script in the pod, and a status can be written by more people than pods.
        (Some(RestoreState::Seeding), Some(artefact)) if is_sha256(&artefact.sha256) => {
            if let Some(why) = unfit(&artefact, cluster) {
                return Ok(Pending::Refused(why));
            }
            let revision = least(&artefact);
            let Artefact { sha256, .. } = artefact;
            Pending::Checked(RestoreOrder { uid: object.metadata.uid, sha256, revision })
        }
        (Some(RestoreState::Seeding), Some(_)) => Pending::Refused("its status tells no hash".to_owned()),
        (None | Some(RestoreState::Checking | RestoreState::Seeding), _) => {
            Pending::Unchecked(object.metadata.uid)
        }
        (Some(RestoreState::Failed), _) => Pending::Refused(status.reason),
        _ => Pending::Nothing,
    })
}

/// The revision that the data must at least have. Members of before 3.5.16 may have left nothing of deletions behind, and a file does not
/// tell the patch: then any is believed.
fn least(artefact: &Artefact) -> i64 {
    let version = artefact.etcd_version.parse::<Version>().ok();
    if version.is_some_and(|version| version.minor >= 6) { artefact.revision } else { 0 }
}

/// Why no member of the cluster reads the backup, if none does.
pub(super) fn unfit(artefact: &Artefact, cluster: &Cluster) -> Option<String> {
    let version = artefact.etcd_version.parse().ok()?;
    snapshot::unreadable(version, Plan::of(cluster).ok()?.version)
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
