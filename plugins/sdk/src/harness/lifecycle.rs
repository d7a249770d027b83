//! Announcements in a test: what was announced, and what the host answers. Nobody takes part until a test says so.

use std::collections::BTreeMap;

use serde_json::json;

use super::{cluster::Cluster, runner::Runner, session::Session};
use crate::{AnnounceError, Announcement, AnnouncerOfTests, Context, Gvk, ObjectRef, Standing};

/// What was announced, and the answers.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    announced: Vec<(ObjectRef, Announcement)>,
    answers: BTreeMap<String, Result<Standing, AnnounceError>>,
    withdrawn: Vec<ObjectRef>,
    /// Phases that the grants do not have.
    not_granted: Vec<String>,
}

impl Cluster {
    /// From now on this is the answer to announcements of a phase. Wake the object when it is another one than before, as the host would.
    pub fn answer_announcements(&self, phase: &str, answer: Result<Standing, AnnounceError>) {
        self.state().lifecycle.answers.insert(phase.to_owned(), answer);
    }

    /// What was announced, in order; asked again and again it counts once, and anew when it was told meanwhile how the change ended.
    pub fn announced(&self) -> Vec<(ObjectRef, Announcement)> {
        self.state().lifecycle.announced.clone()
    }
}

impl Cluster {
    /// Objects whose announced changes were said to be wanted no more, in order.
    pub fn withdrawn(&self) -> Vec<ObjectRef> {
        self.state().lifecycle.withdrawn.clone()
    }
}

impl Cluster {
    /// From now on the plugin takes no part in a phase of whatever kind: the grants do not have it.
    pub fn grant_no_hook(&self, phase: &str) {
        self.state().lifecycle.not_granted.push(phase.to_owned());
    }
}

impl AnnouncerOfTests for Session {
    fn takes_part(&self, phase: &str, _: &Gvk) -> bool {
        !self.cluster.state().lifecycle.not_granted.iter().any(|not| not == phase)
    }

    fn withdraw(&self) -> Result<(), AnnounceError> {
        if let Some(owner) = &self.owner {
            self.cluster.state().lifecycle.withdrawn.push(owner.reference.clone());
        }
        Ok(())
    }

    fn announce(&self, announcement: &Announcement) -> Result<Standing, AnnounceError> {
        let charged = self.budget.borrow_mut().call(announcement.details.to_string().len());
        charged.map_err(|error| AnnounceError::Exhausted(error.to_string()))?;
        let Some(owner) = &self.owner else {
            return Err(AnnounceError::Denied("only a reconciler announces what it does".to_owned()));
        };
        if let Some(rights) = &self.rights {
            rights.may_announce(&announcement.phase).map_err(AnnounceError::Denied)?;
        }
        let mut state = self.cluster.state();
        let told = (owner.reference.clone(), announcement.clone());
        let before = state.lifecycle.announced.iter().rposition(|known| *known == told);
        let other = counterpart(&announcement.phase);
        let ended = state.lifecycle.announced.iter().rposition(|(object, known)| {
            *object == told.0 && known.change == announcement.change && known.phase == other
        });
        if before.is_none() || before < ended {
            state.lifecycle.announced.push(told);
        }
        let answer = state.lifecycle.answers.get(&announcement.phase).cloned();
        answer.unwrap_or(Ok(Standing::Done(Vec::new())))
    }
}

/// The phase on the other side of the change.
fn counterpart(phase: &str) -> String {
    match (phase.strip_prefix("pre-"), phase.strip_prefix("post-")) {
        (Some(what), _) => format!("post-{what}"),
        (None, Some(what)) => format!("pre-{what}"),
        (None, None) => String::new(),
    }
}

impl Runner {
    /// What a hook of the plugin has at hand for a `LifecycleRun`.
    pub fn lifecycle_context(&self, run: &ObjectRef) -> Context {
        let live = json!({
            "apiVersion": run.kind.api_version(), "kind": run.kind.kind,
            "metadata": {"namespace": run.namespace, "name": run.name, "uid": format!("uid-of-{}", run.name)},
        });
        Context::of_lifecycle(std::rc::Rc::new(self.session(&live)), run)
    }
}
