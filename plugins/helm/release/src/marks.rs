//! What we know about a revision that Helm has no words for: annotations on its Secret. The helm command line ignores
//! them, and drops them when it writes the Secret anew.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Progress, Stage};

const INPUTS: &str = "helm.pilothouse.dev/inputs";
const ACCEPTED: &str = "helm.pilothouse.dev/accepted-inputs";
const PROGRESS: &str = "helm.pilothouse.dev/progress";
const ROLLBACK: &str = "helm.pilothouse.dev/rollback-to";
const ATTEMPT: &str = "helm.pilothouse.dev/attempt";
const CLEANED: &str = "helm.pilothouse.dev/cleaned";
const FOUND: &str = "helm.pilothouse.dev/found";
const ASKED: &str = "helm.pilothouse.dev/asked";
const FORCED: &str = "helm.pilothouse.dev/forced";
const TESTED: &str = "helm.pilothouse.dev/tested";
const TEST_FAILURE: &str = "helm.pilothouse.dev/test-failure";
const CHART: &str = "helm.pilothouse.dev/chart";
const REMEDIES: &str = "helm.pilothouse.dev/remedies";
const CHANGE: &str = "helm.pilothouse.dev/change";
const UNDOES: &str = "helm.pilothouse.dev/undoes";
const RESET: &str = "helm.pilothouse.dev/reset";
const LOOKUPS: &str = "helm.pilothouse.dev/lookups";
const LAST_WORDS: &str = "helm.pilothouse.dev/last-words";
const ALL: [&str; 18] = [
    INPUTS,
    ACCEPTED,
    PROGRESS,
    ROLLBACK,
    ATTEMPT,
    CLEANED,
    FOUND,
    ASKED,
    FORCED,
    TESTED,
    TEST_FAILURE,
    CHART,
    REMEDIES,
    CHANGE,
    UNDOES,
    RESET,
    LOOKUPS,
    LAST_WORDS,
];

/// What parts, in a digest of inputs, that of everything else from that of what was looked up in the cluster.
const LOOKED_UP: char = '+';

/// The digest of inputs where something else is found in the cluster than was looked up before.
#[must_use]
pub fn found_otherwise(base: &str, found: &str) -> String {
    format!("{base}{LOOKED_UP}{found}")
}

/// A digest of inputs without what was looked up.
#[must_use]
pub fn base(inputs: &str) -> &str {
    inputs.split(LOOKED_UP).next().unwrap_or(inputs)
}

/// Our own notes about a revision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// Digest of what it was rendered from.
    pub inputs: Option<String>,
    /// Digest of what would have been rendered when this revision, made by somebody else, was accepted in its place.
    pub accepted: Option<String>,
    /// Where the operation stands that is under way, or where it stood when it failed.
    pub progress: Option<Progress>,
    /// The revision that this one, a rollback, goes back to.
    pub rollback: Option<u32>,
    /// How often these inputs have been tried, this time included; 0 when nobody counted.
    pub attempt: u32,
    /// Whether what a failed install left behind has been taken away.
    pub cleaned: bool,
    /// Objects of an install that were there before it, whatever they are called: its failure does not take them away.
    pub found: BTreeSet<String>,
    /// The last request for a way back that was known when this revision was made: it is not carried out again.
    pub asked: Option<String>,
    /// The same for a request to upgrade although nothing changed.
    pub forced: Option<String>,
    /// The last request for a test that was carried out.
    pub tested: Option<String>,
    /// What its last test found wrong.
    pub test_failure: Option<String>,
    /// Where its chart came from, for those that lie elsewhere.
    pub chart: Option<String>,
    /// Whether its uninstall is what follows a failed upgrade, and not the end of the release.
    pub remedies: bool,
    /// What was announced when it was made: a word and the name of the change, `upgrade/v4-0a1b2c3d4e`.
    pub change: Option<String>,
    /// Of a rollback: the change that it undoes.
    pub undoes: Option<String>,
    /// The last request to forget failures that was known when this revision was made: its failure is none of those.
    pub reset: Option<String>,
    /// What its chart looked up in the cluster, with digests of what was found.
    pub lookups: Option<String>,
    /// What the hook that runs wrote before it was seen to fail.
    pub last_words: Option<String>,
}

impl Marks {
    /// Reads them from a Secret's annotations; what cannot be read is as if it were not there.
    #[must_use]
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| annotations.get(key).cloned();
        Self {
            inputs: text(INPUTS),
            accepted: text(ACCEPTED),
            progress: annotations.get(PROGRESS).and_then(|word| word.parse().ok()),
            rollback: annotations.get(ROLLBACK).and_then(|word| word.parse().ok()),
            attempt: annotations.get(ATTEMPT).and_then(|word| word.parse().ok()).unwrap_or(0),
            cleaned: annotations.contains_key(CLEANED),
            asked: text(ASKED),
            forced: text(FORCED),
            tested: text(TESTED),
            test_failure: text(TEST_FAILURE),
            chart: text(CHART),
            remedies: annotations.contains_key(REMEDIES),
            change: text(CHANGE),
            undoes: text(UNDOES),
            reset: text(RESET),
            lookups: text(LOOKUPS),
            last_words: text(LAST_WORDS),
            found: annotations
                .get(FOUND)
                .into_iter()
                .flat_map(|text| text.lines())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Every annotation with its value; none where there must be none.
    pub fn annotations(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        let values = [
            self.inputs.clone(),
            self.accepted.clone(),
            self.progress.map(|progress| progress.to_string()),
            self.rollback.map(|revision| revision.to_string()),
            (self.attempt > 0).then(|| self.attempt.to_string()),
            self.cleaned.then(|| "true".to_owned()),
            (!self.found.is_empty())
                .then(|| self.found.iter().map(String::as_str).collect::<Vec<_>>().join("\n")),
            self.asked.clone(),
            self.forced.clone(),
            self.tested.clone(),
            self.test_failure.clone(),
            self.chart.clone(),
            self.remedies.then(|| "true".to_owned()),
            self.change.clone(),
            self.undoes.clone(),
            self.reset.clone(),
            self.lookups.clone(),
            self.last_words.clone(),
        ];
        ALL.into_iter().zip(values)
    }

    /// Whether it was rendered from these inputs, whatever was looked up in the cluster.
    #[must_use]
    pub fn is_of(&self, inputs: &str) -> bool {
        self.inputs.as_deref().is_some_and(|own| base(own) == base(inputs))
    }

    /// Whether this revision was made by us.
    #[must_use]
    pub fn ours(&self) -> bool {
        self.progress.is_some() || self.inputs.is_some() || self.rollback.is_some()
    }

    /// Whether objects of the release may have been changed for this revision. Nobody knows for those of others.
    #[must_use]
    pub fn may_have_applied(&self) -> bool {
        self.progress.is_none_or(|progress| progress.stage >= Stage::Main)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_are_written() {
        let marks = Marks {
            inputs: Some("sha256:1".into()),
            accepted: Some("sha256:2".into()),
            progress: Some(Progress { stage: Stage::Post, hook: 1, attempt: 2 }),
            rollback: Some(4),
            attempt: 3,
            cleaned: true,
            asked: Some("3".into()),
            forced: Some("now".into()),
            tested: Some("then".into()),
            test_failure: Some("no answer".into()),
            chart: Some("{}".into()),
            remedies: true,
            change: Some("upgrade/v4-0a1b2c3d4e".into()),
            undoes: Some("v3-0a1b2c3d4e".into()),
            reset: Some("monday".into()),
            lookups: Some("[]".into()),
            last_words: Some("disk is full".into()),
            found: ["Secret \"a\"", "ConfigMap \"b\""].map(str::to_owned).into(),
        };
        let written = |marks: &Marks| {
            marks
                .annotations()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(Marks::read(&written(&marks)), marks);
        assert_eq!(written(&marks).len(), ALL.len());
        assert!(written(&Marks::default()).is_empty());
        let broken =
            [(PROGRESS, "soon"), (ATTEMPT, "many")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(Marks::read(&broken.into()), Marks::default());
    }
}
