//! Whether a revision says what is wanted, so that nothing has to be changed.

use helm_chart::{ParsedChart, Rules};
use helm_release::{ApplyMethod, Hook, Marks, Stored};
use pilothouse_sdk::Error;

use crate::{charts::LoadedChart, objects, reconcile::Reconciliation, render::Candidate};

/// What was found out of a revision that says what is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Same {
    /// What its chart looks up, as a mark.
    pub(crate) lookups: Option<String>,
}

impl Reconciliation<'_> {
    /// Notes what the chart of a revision looks up where its record, which a former version made, does not say so: else nobody would
    /// ask again. What is found now counts as what was found then.
    ///
    /// # Errors
    /// It cannot be noted.
    pub(crate) fn note_lookups(&self, revision: u32) -> Result<(), Error> {
        let entry = self.entry(revision)?;
        if entry.marks.lookups.is_some() || entry.marks.inputs.is_none() || !self.chart.mentions("lookup") {
            return Ok(());
        }
        let Ok(candidate) = self.call.render(&self.chart, &self.values, revision, revision > 1) else {
            return Ok(());
        };
        let marks = Marks { lookups: candidate.lookups(), ..entry.marks.clone() };
        self.call.store().mark(entry, &marks)
    }

    /// Whether what is wanted, rendered as that revision, is what the revision says: objects, hooks, notes and the chart's
    /// version. What Helm 3 made is also held against what Helm 3 would make of it: where the two differ, nobody has changed
    /// anything, and pods would be started anew for nothing.
    ///
    /// # Errors
    /// The chart cannot be rendered.
    pub(crate) fn says_the_same(&self, stored: &Stored) -> Result<Option<Same>, Error> {
        let candidate = self.rendered_as(stored, &self.chart)?;
        if self.is_said(stored, &candidate)? {
            return Ok(Some(Same { lookups: candidate.lookups() }));
        }
        if !is_of_helm_3(stored) {
            return Ok(None);
        }
        let Ok(candidate) = self.rendered_as(stored, &self.chart.by_helm_3()) else { return Ok(None) };
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

/// Whether Helm 3 may have rendered a revision, or an operator that is built of it: they apply nothing server-side.
fn is_of_helm_3(stored: &Stored) -> bool {
    stored.release.apply_method != Some(ApplyMethod::ServerSide)
}

impl LoadedChart {
    /// The same chart, rendered as Helm 3 does it.
    fn by_helm_3(&self) -> Self {
        self.parsed_as(ParsedChart::new(self.parsed.chart().clone().with_rules(Rules::Helm3)))
    }
}
