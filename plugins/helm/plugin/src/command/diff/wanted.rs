//! What would be brought about: the deployed revision as it is recorded, or a new one.

use helm_release::{
    Marks, Status, Stored,
    decision::{Decision, NEVER, decide},
};
use pilothouse_sdk::Error;
use serde::Serialize;

use crate::{command::standing::suspension, options::DriftMode, reconcile::Reconciliation};

/// What the operator would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// There is nothing yet.
    Install,
    /// Something else is wanted than what is deployed.
    Upgrade,
    /// What is wanted is deployed: what differs has drifted.
    Keep,
}

/// What would be brought about.
pub(super) struct Wanted {
    pub(super) action: Action,
    /// The deployed revision, or else the last one that was.
    pub(super) deployed: Option<Stored>,
    /// The new revision; none: none is made.
    pub(super) candidate: Option<Stored>,
}

impl Wanted {
    /// Finds it out as the operator does: nothing is rendered while chart and values are those of the deployed revision.
    ///
    /// # Errors
    /// The chart cannot be rendered, or the records not be read.
    pub(super) fn find(reconciliation: &Reconciliation<'_>) -> Result<Self, Error> {
        let (call, history) = (reconciliation.call, &reconciliation.history);
        let good = history.good();
        let deployed = good.map(|entry| call.store().load(entry.revision)).transpose()?;
        if let (Some(entry), Some(stored)) = (good, &deployed)
            && entry.status == Status::Deployed
        {
            let is_forced = call.annotations().force_at != entry.marks.forced;
            if entry.marks.inputs.as_deref() == Some(&reconciliation.inputs)
                || (!is_forced && reconciliation.says_the_same(stored)?.is_some())
            {
                return Ok(Self { action: Action::Keep, deployed, candidate: None });
            }
        }
        let is_upgrade = deployed.is_some();
        let revision = history.next();
        let candidate = call.render(&reconciliation.chart, &reconciliation.values, revision, is_upgrade)?;
        let (action, status) = match is_upgrade {
            true => (Action::Upgrade, Status::PendingUpgrade),
            false => (Action::Install, Status::PendingInstall),
        };
        let (release, marks) = call.new_revision(candidate, revision, status, &Marks::default())?;
        let candidate = Some(Stored::new(release, marks, Default::default()));
        Ok(Self { action, deployed, candidate })
    }

    /// The revision that objects are compared with.
    pub(super) fn stored(&self) -> Option<&Stored> {
        self.candidate.as_ref().or(self.deployed.as_ref())
    }

    /// What stands in the way of it, or comes before it.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(super) fn remarks(&self, reconciliation: &Reconciliation<'_>) -> Result<Vec<String>, Error> {
        let call = reconciliation.call;
        let mut remarks = Vec::new();
        if call.object().is_deleting() {
            remarks.push(
                "the object is being deleted: its release is uninstalled, and nothing of this done"
                    .to_owned(),
            );
        }
        if call.settings().release.suspend {
            remarks.push("suspended by the watches file: nothing is done until it is resumed".to_owned());
        } else if let Some(why) = suspension(call.object().value()) {
            remarks.push(format!("suspended, nothing is done until it is resumed: {why}"));
        }
        remarks.extend(decided(reconciliation)?);
        match self.action {
            Action::Keep => remarks.extend(drift_is_left(call.settings().release.drift_detection.mode)),
            Action::Install | Action::Upgrade => {
                remarks.extend(call.unmet()?.map(|pause| format!("this waits: {}", pause.message)));
            }
        }
        Ok(remarks)
    }
}

fn drift_is_left(mode: DriftMode) -> Option<String> {
    let words = match mode {
        DriftMode::Enabled | DriftMode::Strict => return None,
        DriftMode::Warn => "warn: what has drifted is told, and not repaired",
        DriftMode::Disabled => "disabled: nobody repairs what has drifted",
    };
    Some(format!("driftDetection.mode is {words}"))
}

/// What the operator would do instead, or first.
fn decided(reconciliation: &Reconciliation<'_>) -> Result<Option<String>, Error> {
    let by_hand = |revision: u32| {
        format!(
            "revision {revision} was made by hand and is kept until the spec of the object, the chart or the values change; this \
             is what an upgrade would change"
        )
    };
    Ok(match decide(&reconciliation.history, reconciliation.wish()?) {
        Decision::Keep { revision, by_hand: true } | Decision::Compare { revision, by_hand: true } => {
            Some(by_hand(revision))
        }
        Decision::Hold { failed, until, .. } => Some(if until == NEVER {
            format!("this failed as revision {failed} and is not tried again by itself")
        } else {
            let until = until.strftime("%Y-%m-%dT%H:%M:%SZ");
            format!("this failed as revision {failed} and is tried again at {until}")
        }),
        Decision::Await { revision, status, .. } | Decision::Unlock { revision, status } => {
            Some(format!("somebody else's operation comes first: revision {revision} is {status}"))
        }
        Decision::Resume { revision, .. } => {
            let status = reconciliation.history.get(revision).map(|entry| entry.status).unwrap_or_default();
            Some(format!("an operation is under way: revision {revision} is {status}"))
        }
        Decision::Rollback { to, .. } => Some(format!("the release goes back to revision {to} first")),
        Decision::Uninstall { failed } => {
            Some(format!("revision {failed} failed, and the release is uninstalled first"))
        }
        Decision::Clean { revision } => {
            Some(format!("what the failed revision {revision} left is taken away first"))
        }
        _ => None,
    })
}
