//! Whether a revision says what is wanted, so that nothing has to be changed.

use helm_release::{Hook, Stored};
use pilothouse_sdk::Error;

use crate::{charts::LoadedChart, objects, reconcile::Reconciliation, render::Candidate};

/// What was found out of a revision that says what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Same {
    /// What its chart looks up, as a mark.
    pub(crate) lookups: Option<String>,
}

impl Reconciliation<'_> {
    /// Whether what is wanted, rendered as that revision, is what the revision says: objects, hooks, notes and the chart's
    /// version.
    ///
    /// # Errors
    /// The chart cannot be rendered.
    pub(crate) fn says_the_same(&self, stored: &Stored) -> Result<Option<Same>, Error> {
        let candidate = self.rendered_as(stored, &self.chart)?;
        Ok(self.is_said(stored, &candidate)?.then(|| Same { lookups: candidate.lookups() }))
    }

    fn rendered_as(&self, stored: &Stored, chart: &LoadedChart) -> Result<Candidate, Error> {
        let revision = stored.release.version;
        self.call.render(chart, &self.values, revision, revision > 1)
    }

    fn is_said(&self, stored: &Stored, candidate: &Candidate) -> Result<bool, Error> {
        let release = &stored.release;
        let kinds = self.call.kinds()?;
        let namespace = &self.call.owner().namespace;
        let same = |a: &str, b: &str| objects::same(a, b, namespace, &kinds);
        let same_hook = |(a, b): (&Hook, &Hook)| {
            a.path == b.path && a.events == b.events && a.weight == b.weight && same(&a.manifest, &b.manifest)
        };
        let (ours, theirs) = (candidate.hooks(), &release.hooks);
        let version = release.chart_name().unwrap_or_default().version;
        Ok(version == self.chart.parsed.chart().metadata.version
            && ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(same_hook)
            && candidate.notes().trim() == release.info.notes.trim()
            && same(candidate.manifest(), &release.manifest))
    }
}
