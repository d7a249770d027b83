//! Records of a former version, for which a request to forget failures was part of what a revision is made from. Read as they
//! would be written now, so that no release is upgraded for that.

use helm_release::{Entry, History, Marks};
use pilothouse_sdk::Error;

use crate::{inputs, reconcile::Reconciliation};

/// How a former version called what is wanted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Former {
    /// Its digest.
    pub(crate) inputs: String,
    /// The request that was part of it.
    pub(crate) reset: String,
}

impl Former {
    /// The marks as they would be written now; none: they are.
    fn renamed(&self, marks: &Marks, inputs: &str) -> Option<Marks> {
        let is_former = |digest: &Option<String>| digest.as_deref() == Some(&self.inputs);
        if !is_former(&marks.inputs) && !is_former(&marks.accepted) {
            return None;
        }
        let now = |digest: &Option<String>| {
            if is_former(digest) { Some(inputs.to_owned()) } else { digest.clone() }
        };
        let (inputs, accepted) = (now(&marks.inputs), now(&marks.accepted));
        Some(Marks { inputs, accepted, reset: Some(self.reset.clone()), ..marks.clone() })
    }
}

impl Reconciliation<'_> {
    /// The records as they would be written now.
    pub(crate) fn renamed(&self, history: &History) -> History {
        let entries = history.entries().iter().cloned();
        let renamed = entries.map(|mut entry| {
            if let Some(marks) = self.marks_now(&entry.marks) {
                entry.marks = marks;
            }
            entry
        });
        renamed.collect()
    }

    /// Writes the records as they would be written now. True: something was written.
    pub(crate) fn rename(&self, history: &History) -> Result<bool, Error> {
        let mut any = false;
        let owner = self.call.owner();
        let is_ours = |entry: &&Entry| entry.controller.as_ref().is_none_or(|other| owner.is(other));
        for entry in history.entries().iter().filter(is_ours) {
            if let Some(marks) = self.marks_now(&entry.marks) {
                self.call.store().mark(entry, &marks)?;
                any = true;
            }
        }
        Ok(any)
    }

    /// What the object's status says was brought about last, as it would be called now, without what was looked up.
    pub(crate) fn remembered(&self) -> Option<&str> {
        let remembered = inputs::base(self.call.remembered()?);
        let is_former = self.former.as_ref().is_some_and(|former| former.inputs == remembered);
        Some(if is_former { self.base.as_str() } else { remembered })
    }

    fn marks_now(&self, marks: &Marks) -> Option<Marks> {
        self.former.as_ref()?.renamed(marks, &self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_former_version_made_from_the_same_is_called_as_it_is_now() {
        let former = Former { inputs: "sha256:old".into(), reset: "monday".into() };
        let marks = |inputs: &str| Marks { inputs: Some(inputs.to_owned()), attempt: 2, ..Marks::default() };
        let renamed = former.renamed(&marks("sha256:old"), "sha256:now").unwrap();
        assert_eq!(renamed, Marks { reset: Some("monday".into()), ..marks("sha256:now") });
        assert_eq!(former.renamed(&marks("sha256:another"), "sha256:now"), None);
        let accepted = Marks { accepted: Some("sha256:old".into()), ..marks("sha256:another") };
        let renamed = former.renamed(&accepted, "sha256:now").unwrap();
        assert_eq!(renamed.inputs.as_deref(), Some("sha256:another"));
        assert_eq!(renamed.accepted.as_deref(), Some("sha256:now"));
    }
}
