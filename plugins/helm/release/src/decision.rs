//! What has to begin, or to go on: a look at the chain of revisions and at what is wanted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::{Entry, History, Remedy, Status, Undo};

/// How long an operation of somebody else may stand still before it is taken for dead. Helm's own default time-out
/// of a hook is five minutes, and it writes the record before each hook.
pub const GRACE: Duration = Duration::from_mins(10);

/// When an attempt is due that nobody is to make any more.
pub const NEVER: Timestamp = Timestamp::MAX;

/// What is wanted, and when.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Digest of what a release would be rendered from now. What it looks up in the cluster may move by what the release itself
    /// brings about, so attempts that differ in nothing else are attempts at the same.
    pub inputs: &'a str,
    /// The digest that was brought about last, as the owner remembers it; none when it never was.
    pub remembered: Option<&'a str>,
    /// What follows a failed attempt.
    pub remedy: Remedy,
    /// A request to go back to a revision: the revision and the words it was asked with.
    pub back: Option<(u32, &'a str)>,
    /// The words with which a test of what is deployed was asked for.
    pub test: Option<&'a str>,
    /// The words with which it was asked for that former failures are forgotten.
    pub reset: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
}

/// What has to begin or to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Our own operation on this revision goes on. `outdated`: something else is wanted by now.
    Resume {
        /// The pending revision.
        revision: u32,
        /// Whether something else is wanted by now.
        outdated: bool,
    },
    /// Somebody else is at work on this revision, or died over it.
    Await {
        /// The pending revision.
        revision: u32,
        /// Where it stands.
        status: Status,
        /// When it is taken for dead.
        until: Timestamp,
    },
    /// Somebody else died over this revision: it is to be marked with the status given.
    Unlock {
        /// The revision.
        revision: u32,
        /// `failed`, or `uninstalled` when it was an uninstall.
        status: Status,
    },
    /// Several revisions are deployed: these are to be marked as superseded.
    Supersede(Vec<u32>),
    /// Nothing is installed.
    Install {
        /// The new revision.
        revision: u32,
        /// How often these inputs have been tried, this time included.
        attempt: u32,
    },
    /// An install failed: what it left behind is to be taken away.
    Clean {
        /// The failed revision.
        revision: u32,
    },
    /// Something else is wanted than what is there.
    Upgrade {
        /// The revision it starts from.
        from: u32,
        /// The new revision.
        revision: u32,
        /// How often these inputs have been tried, this time included.
        attempt: u32,
    },
    /// An upgrade failed, and the release is to be uninstalled for that, after which it is installed anew.
    Uninstall {
        /// The failed revision.
        failed: u32,
    },
    /// An upgrade failed after it may have changed something.
    Rollback {
        /// The failed revision.
        failed: u32,
        /// The revision to go back to.
        to: u32,
        /// The new revision.
        revision: u32,
        /// How often going back has been tried, this time included.
        attempt: u32,
    },
    /// The same inputs failed before; the next attempt has to wait.
    Hold {
        /// The failed revision.
        failed: u32,
        /// What is deployed meanwhile.
        deployed: Option<u32>,
        /// When it is tried again.
        until: Timestamp,
    },
    /// A revision that somebody else deployed has to be compared with what is wanted.
    Compare {
        /// The deployed revision.
        revision: u32,
        /// What it means when the two differ: true, that somebody changed the release by hand and is to be let; false,
        /// that it was there before us and is to be upgraded.
        by_hand: bool,
    },
    /// What is wanted is deployed, and a test of it was asked for.
    Test {
        /// The deployed revision.
        revision: u32,
    },
    /// What is wanted is deployed.
    Keep {
        /// The deployed revision.
        revision: u32,
        /// Whether it was made by hand and accepted.
        by_hand: bool,
    },
}

/// Decides. Deletion of the owner is not decided here: then the release is uninstalled from whatever state it is in.
#[must_use]
pub fn decide(history: &History, wish: Wish<'_>) -> Decision {
    let Some(latest) = history.latest() else {
        return Decision::Install { revision: 1, attempt: 1 };
    };
    if latest.status.is_pending() {
        return pending(history, latest, wish);
    }
    match latest.status {
        Status::Uninstalling => return uninstalling(latest, wish),
        Status::Uninstalled => return Decision::Install { revision: history.next(), attempt: 1 },
        _ => {}
    }
    let extra = extra_deployed(history);
    if !extra.is_empty() {
        return Decision::Supersede(extra);
    }
    if let Some(decision) = asked_back(history, wish) {
        return decision;
    }
    match history.good() {
        Some(good) => installed(history, good, latest, wish),
        None => not_installed(history, latest, wish),
    }
}

/// A way back that was asked for and not gone yet.
fn asked_back(history: &History, wish: Wish<'_>) -> Option<Decision> {
    let (to, words) = wish.back?;
    let good = history.deployed()?;
    let is_done = history.entries().iter().any(|entry| entry.marks.asked.as_deref() == Some(words));
    let target = history.get(to)?;
    let is_possible = target.revision != good.revision && !target.status.is_pending();
    let (failed, to, revision) = (good.revision, target.revision, history.next());
    (!is_done && is_possible).then_some(Decision::Rollback { failed, to, revision, attempt: 1 })
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

fn pending(history: &History, latest: &Entry, wish: Wish<'_>) -> Decision {
    if latest.marks.progress.is_none() {
        // Another operator worked for the same owner, and is not there any more: the helm command line names no owner.
        if latest.controller.is_some() {
            return Decision::Unlock { revision: latest.revision, status: Status::Failed };
        }
        return await_or(latest, wish, Status::Failed);
    }
    let wanted = |inputs: &Option<String>| inputs.as_deref() == Some(wish.inputs);
    let outdated = match latest.marks.rollback {
        None => !wanted(&latest.marks.inputs),
        // The way back is what follows from the wish that failed.
        Some(_) => {
            let tried = last_attempt(history).filter(|entry| entry.marks.inputs.is_some());
            tried.is_some_and(|tried| !tried.marks.is_of(wish.inputs))
                && !wanted(&latest.marks.inputs)
                && !wanted(&latest.marks.accepted)
        }
    };
    Decision::Resume { revision: latest.revision, outdated }
}

/// The newest revision that is no way back.
fn last_attempt(history: &History) -> Option<&Entry> {
    history.life().iter().rev().find(|entry| entry.marks.rollback.is_none())
}

/// An uninstall that is under way although its owner is not being deleted: what follows a failed upgrade, by hand, or ours of
/// a former owner.
fn uninstalling(latest: &Entry, wish: Wish<'_>) -> Decision {
    if latest.marks.progress.is_some() && latest.marks.remedies {
        return Decision::Resume { revision: latest.revision, outdated: false };
    }
    if latest.marks.progress.is_some() {
        return Decision::Unlock { revision: latest.revision, status: Status::Uninstalled };
    }
    await_or(latest, wish, Status::Uninstalled)
}

fn await_or(latest: &Entry, wish: Wish<'_>, status: Status) -> Decision {
    let revision = latest.revision;
    let until = latest.touched.map_or(wish.now, |touched| after(touched, GRACE));
    if until > wish.now {
        Decision::Await { revision, status: latest.status, until }
    } else {
        Decision::Unlock { revision, status }
    }
}

fn extra_deployed(history: &History) -> Vec<u32> {
    let newest = history.deployed().map_or(0, |entry| entry.revision);
    let extra = |entry: &&Entry| entry.status == Status::Deployed && entry.revision != newest;
    history.entries().iter().filter(extra).map(|entry| entry.revision).collect()
}

fn not_installed(history: &History, latest: &Entry, wish: Wish<'_>) -> Decision {
    let Some(failed) = last_failure(history, wish) else {
        return Decision::Install { revision: history.next(), attempt: 1 };
    };
    let has_left_something = failed.marks.may_have_applied() && !failed.marks.cleaned;
    if failed.revision == latest.revision && has_left_something && wish.remedy.undo(failed) != Undo::Nothing {
        return Decision::Clean { revision: failed.revision };
    }
    match wish.remedy.waits(failed, wish.now) {
        Some(until) => Decision::Hold { failed: failed.revision, deployed: None, until },
        None => Decision::Install { revision: history.next(), attempt: failed.marks.attempt + 1 },
    }
}

fn installed(history: &History, good: &Entry, latest: &Entry, wish: Wish<'_>) -> Decision {
    if latest.status == Status::Failed && latest.marks.may_have_applied() && latest.revision > good.revision {
        if let Some(decision) = go_back(history, good, latest, wish) {
            return decision;
        }
    } else if let Some(decision) = settled(good, wish) {
        return decision;
    }
    let upgrade = |attempt| Decision::Upgrade { from: good.revision, revision: history.next(), attempt };
    let Some(failed) = last_failure(history, wish) else { return upgrade(1) };
    match wish.remedy.waits(failed, wish.now) {
        Some(until) => Decision::Hold { failed: failed.revision, deployed: Some(good.revision), until },
        None => upgrade(failed.marks.attempt + 1),
    }
}

/// After a failure that may have changed something: back to the good revision, unless a third thing is wanted by now, or
/// something else is to follow a failure.
fn go_back(history: &History, good: &Entry, latest: &Entry, wish: Wish<'_>) -> Option<Decision> {
    let rollback = |attempt| Decision::Rollback {
        failed: latest.revision,
        to: good.revision,
        revision: history.next(),
        attempt,
    };
    let is_wanted = |entry: &Entry| entry.marks.inputs.as_deref() == Some(wish.inputs);
    if latest.marks.rollback.is_none() && latest.marks.is_of(wish.inputs) && !is_wanted(good) {
        return match wish.remedy.undo(latest) {
            Undo::PutBack => Some(rollback(1)),
            Undo::Uninstall => Some(Decision::Uninstall { failed: latest.revision }),
            Undo::Nothing => None,
        };
    }
    if latest.marks.rollback.is_none() {
        // Of a foreign failure nobody knows what was wanted: what was there is put back first.
        let third = latest.marks.ours() && !is_wanted(good);
        return (!third).then(|| rollback(1));
    }
    // The way back failed as well. It is tried again and again, until something is wanted that has not failed.
    let hopeful = last_failure(history, wish).is_none() && !is_wanted(good);
    if hopeful {
        return None;
    }
    if is_asked_anew(latest, wish) {
        return Some(rollback(1));
    }
    Some(match Remedy::default().waits(latest, wish.now) {
        Some(until) => Decision::Hold { failed: latest.revision, deployed: Some(good.revision), until },
        None => rollback(latest.marks.attempt + 1),
    })
}

/// Whether the good revision is what is wanted.
fn settled(good: &Entry, wish: Wish<'_>) -> Option<Decision> {
    if good.status != Status::Deployed {
        return None;
    }
    let (revision, wanted) = (good.revision, Some(wish.inputs));
    let is_wanted = good.marks.inputs.as_deref() == wanted || good.marks.accepted.as_deref() == wanted;
    if good.marks.progress.is_some_and(|progress| progress.stage.is_of_a_test()) {
        return Some(Decision::Resume { revision, outdated: !is_wanted });
    }
    if is_wanted && wish.test.is_some() && good.marks.tested.as_deref() != wish.test {
        return Some(Decision::Test { revision });
    }
    if good.marks.inputs.as_deref() == wanted {
        return Some(Decision::Keep { revision, by_hand: false });
    }
    if good.marks.accepted.as_deref() == wanted {
        return Some(Decision::Keep { revision, by_hand: true });
    }
    let unknown = good.marks.inputs.is_none() && good.marks.accepted.is_none();
    unknown.then(|| Decision::Compare { revision, by_hand: wish.remembered == wanted })
}

/// The newest attempt with these inputs, when it failed, nothing else succeeded since, and nobody wants it forgotten.
fn last_failure<'a>(history: &'a History, wish: Wish<'_>) -> Option<&'a Entry> {
    let attempts = history.life().iter().rev().filter(|entry| entry.marks.rollback.is_none());
    let failed = attempts.take_while(|entry| entry.status == Status::Failed);
    let mut same = failed.filter(|entry| entry.marks.is_of(wish.inputs));
    same.next().filter(|entry| !is_asked_anew(entry, wish))
}

/// Whether somebody wants a failure forgotten that came before that was asked for.
fn is_asked_anew(failed: &Entry, wish: Wish<'_>) -> bool {
    wish.reset.is_some() && failed.marks.reset.as_deref() != wish.reset
}

#[cfg(test)]
mod tests;
