//! A cluster that is being deleted: other plugins prepare, its members go, other plugins hear of it. What else was made belongs to the
//! object and goes with it.

use etcd_api::Record;
use jiff::{SignedDuration, Timestamp};

use crate::{
    act::{Act, HookPhase},
    decision::{Decision, Standing},
    observed::{Cluster, HookState, Observed, Pod},
    report,
};

/// How long a pod that was told to end is waited for. That of a lost node never does, and must not keep the object for ever.
const LINGERING: SignedDuration = SignedDuration::from_mins(2);

/// What to do next about it.
pub(crate) fn delete(cluster: &Cluster, observed: &Observed, now: Timestamp) -> Decision {
    let change = format!("delete-{}", cluster.uid);
    let (before, after) = (HookPhase::PreDelete, HookPhase::PostDelete);
    let announce = |phase| Act::Announce { phase, change: change.clone() };
    let (act, standing) = match (observed.hook_of(after, &change), observed.hook_of(before, &change)) {
        (Some(HookState::Done | HookState::Failed(_)), _) => (Act::Finish, progress("the members are gone")),
        (Some(HookState::Pending), _) => {
            (Act::Nothing, progress("waiting for plugins that have a part in what follows the deletion"))
        }
        (None, None) if is_untouched(observed) => (Act::Finish, progress("there is nothing to delete")),
        (None, None) => (announce(before), progress("asking plugins to prepare for the deletion")),
        (None, Some(HookState::Pending)) => {
            (Act::Nothing, progress("waiting for plugins that prepare for the deletion"))
        }
        (None, Some(HookState::Failed(why))) => {
            let message = format!("not deleted, for a plugin could not prepare for it: {why}");
            (Act::Nothing, Standing::Stalled { reason: "PreDeleteFailed", message })
        }
        (None, Some(HookState::Done)) => members(observed, now)
            .unwrap_or_else(|| (announce(after), progress("telling plugins that the members are gone"))),
    };
    report::deleting(cluster, observed, standing, act)
}

fn is_untouched(observed: &Observed) -> bool {
    observed.record == Record::default() && !observed.pods.iter().any(|pod| pod.owned)
}

/// The members end, all at once. None: they have.
fn members(observed: &Observed, now: Timestamp) -> Option<(Act, Standing)> {
    let mut pods = observed.pods.iter().filter(|pod| pod.owned);
    if let Some(Pod { name, uid, .. }) = pods.clone().find(|pod| pod.terminating.is_none()) {
        let act = Act::DeletePod { name: name.clone(), uid: uid.clone() };
        return Some((act, progress(&format!("deleting the pod {name}"))));
    }
    let lingers = |pod: &&Pod| pod.terminating.is_some_and(|since| now.duration_since(since) < LINGERING);
    let pod = pods.find(lingers)?;
    Some((Act::Nothing, progress(&format!("waiting until the pod {} is gone", pod.name))))
}

fn progress(message: &str) -> Standing {
    Standing::Progressing { reason: "Deleting", message: message.to_owned() }
}
