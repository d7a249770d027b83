//! A cluster that is being deleted: other plugins prepare, its members go, other plugins hear of it. What else was made belongs to the
//! object and goes with it.

use std::time::Duration;

use etcd_api::{ChangeEnding, EndedChange, EndedKind, Record};
use jiff::{SignedDuration, Timestamp};

use crate::{
    act::{Act, HookPhase},
    decision::{Decision, Standing},
    observed::{Cluster, HookState, Observed, Pod},
    report,
};

/// How long a pod that was told to end is waited for. That of a lost node never does, and must not keep the object for ever.
const LINGERING: SignedDuration = SignedDuration::from_mins(2);

/// What to do next about it. That the members are gone is written down before it is told: what is announced as about to begin, after
/// it was told how it ended, begins anew.
pub(crate) fn delete(cluster: &Cluster, observed: &Observed, now: Timestamp) -> Decision {
    let change = format!("delete-{}", cluster.uid);
    let gone = observed
        .record
        .ended
        .as_ref()
        .is_some_and(|ended| ended.kind == EndedKind::Delete && ended.change == change);
    let phase = if gone { HookPhase::PostDelete } else { HookPhase::PreDelete };
    let hook = observed.hook_of(phase, &change);
    let announce = Act::Announce { phase, change: change.clone() };
    let (act, standing) = match hook {
        None if never_served(observed) => {
            members(observed, now).unwrap_or_else(|| (Act::Finish, progress("there is nothing to delete")))
        }
        None if gone => (announce, progress("telling plugins that the members are gone")),
        None => (announce, progress("asking plugins to prepare for the deletion")),
        Some(HookState::Pending) if gone => {
            (Act::Nothing, progress("waiting for plugins that have a part in what follows the deletion"))
        }
        Some(HookState::Pending) => {
            (Act::Nothing, progress("waiting for plugins that prepare for the deletion"))
        }
        Some(HookState::Done | HookState::Failed(_)) if gone => {
            (Act::Finish, progress("the members are gone"))
        }
        Some(HookState::Failed(why)) => {
            let message = format!("not deleted, for a plugin could not prepare for it: {why}");
            (Act::Nothing, Standing::Stalled { reason: "PreDeleteFailed", message })
        }
        Some(HookState::Done) => match members(observed, now) {
            Some(step) => step,
            None => return ended(cluster, observed, change),
        },
    };
    report::deleting(cluster, observed, standing, act)
}

/// The members are gone.
fn ended(cluster: &Cluster, observed: &Observed, change: String) -> Decision {
    let ended = EndedChange { kind: EndedKind::Delete, change, ending: ChangeEnding::Succeeded };
    let record = Record { ended: Some(ended), ..observed.record.clone() };
    let mut decision = report::deleting(cluster, observed, progress("the members are gone"), Act::Nothing);
    decision.report.status.record = record.clone();
    Decision { record, next: Duration::ZERO, ..decision }
}

/// Nobody can have written to it: there is nothing to prepare for.
fn never_served(observed: &Observed) -> bool {
    observed.record.cluster_id.is_none() && !observed.announced
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
