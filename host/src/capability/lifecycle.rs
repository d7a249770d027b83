//! `lifecycle`: what a reconciler is about to do, told to those who take part in it.

use std::sync::Arc;

use serde_json::Value;

use super::phases::is_phase;
use crate::lifecycle::announce::{Announcement, Standing};
use crate::lifecycle::run::{Ending, counterpart_of};
use crate::lifecycle::store::StoreError;
use crate::object::Gvk;
use crate::plugin::bindings::{self, lifecycle};
use crate::plugin::instance::HookState;

const NOBODY: &str = "only a reconciler announces what it does";
/// Bytes of what an announcer tells.
const LARGEST: usize = 16 * 1024;
/// Of the name of a change.
const LONGEST: usize = 128;

impl lifecycle::Host for HookState {
    async fn announce(
        &mut self,
        announcement: lifecycle::Announcement,
    ) -> wasmtime::Result<Result<lifecycle::Standing, lifecycle::Error>> {
        Ok(self.announce_phase(announcement).await)
    }

    async fn withdraw(&mut self) -> wasmtime::Result<Result<(), lifecycle::Error>> {
        if let Err(reason) = self.budget.take(0) {
            return Ok(Err(lifecycle::Error::Exhausted(reason.to_owned())));
        }
        let context = Arc::clone(&self.context);
        let Some(announcer) = &context.announcer else {
            return Ok(Err(lifecycle::Error::Denied(NOBODY.to_owned())));
        };
        let withdrawn = announcer.withdraw(&context.plugin.name, &context.owner).await;
        Ok(withdrawn.map_err(|error| lifecycle::Error::Unavailable(error.to_string())))
    }

    async fn takes_part(&mut self, phase: String, kind: lifecycle::Gvk) -> wasmtime::Result<bool> {
        let kind = Gvk::new(&kind.group, &kind.version, &kind.kind);
        Ok(self.context.grants.takes_part(&phase, &kind))
    }
}

impl HookState {
    async fn announce_phase(
        &mut self,
        announcement: lifecycle::Announcement,
    ) -> Result<lifecycle::Standing, lifecycle::Error> {
        let bytes = announcement.details.len() + announcement.change.len();
        self.budget.take(bytes).map_err(|reason| lifecycle::Error::Exhausted(reason.to_owned()))?;
        let context = Arc::clone(&self.context);
        let Some(announcer) = &context.announcer else {
            return Err(lifecycle::Error::Denied(NOBODY.to_owned()));
        };
        let announcement = checked(announcement).map_err(lifecycle::Error::Invalid)?;
        if !announcer.is_of_concern(&context.owner.key.gvk) {
            return Ok(lifecycle::Standing::Done(Vec::new()));
        }
        // Only where somebody is to take part: a grant that is missing must not pass for nobody. The end is to be told as well.
        let after = counterpart_of(&announcement.phase).unwrap_or_default();
        for phase in [&announcement.phase, &after] {
            context.grants.may_announce(phase).map_err(lifecycle::Error::Denied)?;
        }
        match announcer.announce(&context.plugin.name, &context.owner, &announcement).await {
            Ok(standing) => Ok(wit_standing(standing)),
            Err(error) => {
                if matches!(error, StoreError::NotServed) {
                    context.cluster.wait_for_kind(&context.owner.key);
                }
                Err(lifecycle::Error::Unavailable(error.to_string()))
            }
        }
    }
}

/// # Errors
/// The sentence says which rule it breaks.
fn checked(announcement: lifecycle::Announcement) -> Result<Announcement, String> {
    let lifecycle::Announcement { phase, change, undoes, ending, details } = announcement;
    if !is_phase(&phase) {
        return Err(format!("{phase:?} is no phase: `pre-` or `post-`, and a word such as `upgrade`"));
    }
    for name in [Some(&change), undoes.as_ref()].into_iter().flatten() {
        if !is_change(name) {
            return Err(format!("{name:?} is no name of a change: 1 to {LONGEST} letters, digits and `-._`"));
        }
    }
    let ending = match (phase.starts_with("post-"), ending) {
        (true, Some(bindings::Ending::Succeeded)) => Some(Ending::Succeeded),
        (true, Some(bindings::Ending::Failed)) => Some(Ending::Failed),
        (false, None) => None,
        _ => {
            return Err(format!(
                "{phase}: how a change ended, succeeded or failed, is told after it and not before"
            ));
        }
    };
    if details.len() > LARGEST {
        return Err(format!("details of {} bytes; they may have {LARGEST}", details.len()));
    }
    let details: Value =
        serde_json::from_str(&details).map_err(|error| format!("details are not JSON: {error}"))?;
    if !details.is_object() {
        return Err("details are not an object".to_owned());
    }
    Ok(Announcement { phase, change, undoes, ending, details })
}

fn is_change(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    !name.is_empty() && name.len() <= LONGEST && name.chars().all(allowed)
}

fn wit_standing(standing: Standing) -> lifecycle::Standing {
    match standing {
        Standing::Done(artefacts) => {
            lifecycle::Standing::Done(artefacts.iter().map(crate::lifecycle::drive::wit_artefact).collect())
        }
        Standing::Pending(sentence) => lifecycle::Standing::Pending(sentence),
        Standing::Failed(reason, sentence) => lifecycle::Standing::Failed((reason, sentence)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement(phase: &str, change: &str) -> lifecycle::Announcement {
        lifecycle::Announcement {
            phase: phase.to_owned(),
            change: change.to_owned(),
            undoes: None,
            ending: None,
            details: "{}".to_owned(),
        }
    }

    #[test]
    fn an_announcement_is_held_against_its_rules() {
        assert!(checked(announcement("pre-upgrade", "v2-0a1b")).is_ok());
        let refused = |announcement| checked(announcement).unwrap_err();
        assert!(refused(announcement("upgrade", "v2")).contains("is no phase"));
        assert!(refused(announcement("pre-upgrade", "")).contains("no name of a change"));
        assert!(refused(announcement("pre-upgrade", "a/b")).contains("no name of a change"));
        assert!(refused(announcement("pre-upgrade", &"a".repeat(129))).contains("no name of a change"));
        let no_object =
            lifecycle::Announcement { details: "[]".to_owned(), ..announcement("pre-upgrade", "v2") };
        assert!(refused(no_object).contains("not an object"));
        let large = format!("{{\"a\": \"{}\"}}", "x".repeat(LARGEST));
        let large = lifecycle::Announcement { details: large, ..announcement("pre-upgrade", "v2") };
        assert!(refused(large).contains("they may have"));
    }

    #[test]
    fn how_a_change_ended_is_told_after_it_and_by_the_host_alone_that_it_was_abandoned() {
        let with =
            |phase: &str, ending| checked(lifecycle::Announcement { ending, ..announcement(phase, "v2") });
        assert!(with("post-upgrade", Some(bindings::Ending::Failed)).is_ok());
        assert!(with("post-upgrade", None).is_err());
        assert!(with("pre-upgrade", Some(bindings::Ending::Succeeded)).is_err());
        assert!(with("post-upgrade", Some(bindings::Ending::Abandoned)).is_err());
    }
}
