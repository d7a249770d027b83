//! The revisions of a release, and which of them are kept (Helm's `pkg/storage/storage.go`).

use std::num::NonZeroU32;

use crate::{Entry, Status};

/// How many revisions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// All.
    None,
    /// At most so many.
    AtMost(NonZeroU32),
}

impl Limit {
    /// The limit that Helm and operator-sdk users write: 0 stands for none.
    #[must_use]
    pub fn new(max: u32) -> Self {
        NonZeroU32::new(max).map_or(Self::None, Self::AtMost)
    }
}

/// The revisions of a release, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History(Vec<Entry>);

impl FromIterator<Entry> for History {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.revision);
        Self(entries)
    }
}

impl History {
    /// All of them, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The newest.
    #[must_use]
    pub fn latest(&self) -> Option<&Entry> {
        self.0.last()
    }

    /// A revision by its number.
    #[must_use]
    pub fn get(&self, revision: u32) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.revision == revision)
    }

    /// The newest deployed one. Should there be several (Helm's races make that), the newest counts, as for Helm.
    #[must_use]
    pub fn deployed(&self) -> Option<&Entry> {
        self.0.iter().rev().find(|entry| entry.status == Status::Deployed)
    }

    /// The revisions since the release was uninstalled last (with its history kept), or all of them. An uninstall that is
    /// under way has not ended the life yet.
    #[must_use]
    pub fn life(&self) -> &[Entry] {
        let latest = self.latest().map(|entry| entry.revision);
        let ended = |entry: &Entry| match entry.status {
            Status::Uninstalled => true,
            Status::Uninstalling => Some(entry.revision) != latest,
            _ => false,
        };
        let start = self.0.iter().rposition(ended).map_or(0, |at| at + 1);
        self.0.get(start..).unwrap_or_default()
    }

    /// The newest revision that has been deployed once: the deployed one, else the newest superseded one. What a
    /// failed upgrade goes back to.
    #[must_use]
    pub fn good(&self) -> Option<&Entry> {
        let life = self.life();
        let newest = |status| life.iter().rev().find(move |entry| entry.status == status);
        newest(Status::Deployed).or_else(|| newest(Status::Superseded))
    }

    /// The revisions whose objects may be in the cluster when revision `before` is begun: the good one and everything
    /// that was tried after it. What is in one of them and not in the new one has to be deleted. Rollbacks bring
    /// nothing that the good one has not.
    #[must_use]
    pub fn origins(&self, before: u32) -> Vec<&Entry> {
        let good = self.good().map_or(0, |entry| entry.revision);
        let tried = |entry: &Entry| {
            entry.revision > good
                && entry.marks.may_have_applied()
                && entry.marks.rollback.is_none()
                && !entry.marks.cleaned
        };
        let origin = |entry: &&Entry| entry.revision < before && (entry.revision == good || tried(entry));
        self.life().iter().filter(origin).collect()
    }

    /// The number of the next revision.
    #[must_use]
    pub fn next(&self) -> u32 {
        self.latest().map_or(1, |entry| entry.revision + 1)
    }

    /// Revisions to delete before one more is stored, in the order in which to delete them. Never the good one, and
    /// nothing that names objects which may be in the cluster. First go failed attempts that were repeated since, and
    /// what they were rolled back by; then the oldest, as Helm has it.
    #[must_use]
    pub fn surplus(&self, limit: Limit) -> Vec<u32> {
        let Limit::AtMost(max) = limit else { return Vec::new() };
        let room = usize::try_from(max.get() - 1).unwrap_or(usize::MAX);
        let excess = self.0.len().saturating_sub(room);
        let origins = self.origins(self.next());
        let mut candidates: Vec<_> = self
            .0
            .iter()
            .map(|entry| (!self.is_repeated(entry), entry))
            .filter(|(once, entry)| !(*once && origins.contains(entry)))
            .filter(|(_, entry)| self.good() != Some(entry))
            .collect();
        candidates.sort_by_key(|(once, entry)| (*once, entry.revision));
        candidates.into_iter().take(excess).map(|(_, entry)| entry.revision).collect()
    }

    /// Whether an attempt failed that was made again later, or only led back from such a one.
    fn is_repeated(&self, entry: &Entry) -> bool {
        let attempt = match entry.marks.rollback {
            Some(_) => self.0.iter().rev().find(|before| before.revision < entry.revision),
            None => Some(entry),
        };
        let Some(attempt) = attempt.filter(|attempt| attempt.status == Status::Failed) else { return false };
        let again = |later: &&Entry| later.revision > entry.revision && later.marks.rollback.is_none();
        let Some(inputs) = &attempt.marks.inputs else { return false };
        self.0.iter().filter(again).any(|later| later.marks.is_of(inputs))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Marks, Progress, Stage};

    pub(crate) fn entry(revision: u32, status: Status) -> Entry {
        Entry {
            revision,
            status,
            marks: Marks::default(),
            uid: String::new(),
            resource_version: String::new(),
            touched: None,
            controller: None,
            chunks: None,
        }
    }

    pub(crate) fn history(statuses: &[Status]) -> History {
        statuses.iter().zip(1..).map(|(status, revision)| entry(revision, *status)).collect()
    }

    fn failed(revision: u32, inputs: &str) -> Entry {
        let mut entry = entry(revision, Failed);
        entry.marks.inputs = Some(inputs.to_owned());
        entry.marks.progress = Some(Progress::start(Stage::Main));
        entry
    }

    fn rollback(revision: u32, to: u32, status: Status) -> Entry {
        let mut entry = entry(revision, status);
        entry.marks.rollback = Some(to);
        entry.marks.inputs = Some("good".to_owned());
        entry
    }

    use Status::{Deployed, Failed, PendingUpgrade, Superseded, Uninstalled, Uninstalling};

    #[test]
    fn entries_are_sorted_by_number_not_by_name() {
        let history: History = [10, 2, 1].map(|revision| entry(revision, Superseded)).into_iter().collect();
        assert_eq!(history.latest().unwrap().revision, 10);
        assert_eq!(history.next(), 11);
        assert_eq!(History::default().next(), 1);
    }

    #[test]
    fn of_several_deployed_revisions_the_newest_counts() {
        assert_eq!(history(&[Deployed, Deployed, Failed]).deployed().unwrap().revision, 2);
    }

    #[test]
    fn a_life_begins_after_the_last_uninstall() {
        let history = history(&[Superseded, Uninstalled, Superseded, Failed]);
        assert_eq!(history.life().len(), 2);
        assert_eq!(history.good().unwrap().revision, 3);
    }

    #[test]
    fn an_uninstall_under_way_still_knows_what_the_release_may_have_left() {
        let history: History =
            [entry(1, Superseded), entry(2, Deployed), entry(3, Uninstalling)].into_iter().collect();
        assert_eq!(history.origins(3).iter().map(|entry| entry.revision).collect::<Vec<_>>(), [2]);
        let again: History = [entry(1, Uninstalling), entry(2, Failed)].into_iter().collect();
        assert_eq!(again.life().len(), 1);
    }

    #[test]
    fn nothing_is_good_before_the_first_deployment() {
        assert_eq!(history(&[Failed, Failed]).good(), None);
    }

    #[test]
    fn origins_are_the_good_revision_and_what_was_applied_after_it() {
        let mut pre = failed(3, "x");
        pre.marks.progress = Some(Progress { stage: Stage::Pre, hook: 0, attempt: 1 });
        let history: History = [
            entry(1, Superseded),
            entry(2, Deployed),
            pre,
            failed(4, "x"),
            entry(5, Failed),
            entry(6, PendingUpgrade),
        ]
        .into_iter()
        .collect();
        assert_eq!(history.origins(6).iter().map(|entry| entry.revision).collect::<Vec<_>>(), [2, 4, 5]);
    }

    #[test]
    fn pruning_makes_room_for_one_more_oldest_first() {
        let history = history(&[Superseded, Superseded, Superseded, Deployed]);
        assert_eq!(history.surplus(Limit::new(4)), [1]);
        assert_eq!(history.surplus(Limit::new(3)), [1, 2]);
        assert_eq!(history.surplus(Limit::new(0)), [0_u32; 0]);
        assert_eq!(history.surplus(Limit::new(10)), [0_u32; 0]);
    }

    #[test]
    fn pruning_never_takes_the_deployed_revision_nor_one_whose_objects_may_be_there() {
        let tried = history(&[Deployed, Failed, Failed, Failed]);
        assert_eq!(tried.surplus(Limit::new(1)), [0_u32; 0]);
        let superseded = history(&[Superseded, Superseded, Failed]);
        assert_eq!(superseded.surplus(Limit::new(1)), [1], "the way back stays");
    }

    #[test]
    fn failures_without_end_do_not_fill_the_history() {
        let mut untouched = failed(2, "bad");
        untouched.marks.progress = Some(Progress { stage: Stage::Pre, hook: 0, attempt: 1 });
        let again = Entry { revision: 3, ..untouched.clone() };
        let hooks: History = [entry(1, Deployed), untouched, again].into_iter().collect();
        assert_eq!(hooks.surplus(Limit::new(3)), [2]);
        let applied: History = [entry(1, Deployed), failed(2, "bad"), failed(3, "bad")].into_iter().collect();
        assert_eq!(applied.surplus(Limit::new(1)), [2], "the newest still says what it brought");
        let installs: History = [failed(1, "bad"), failed(2, "bad")].into_iter().collect();
        assert_eq!(installs.surplus(Limit::new(2)), [1]);
    }

    #[test]
    fn repeated_failures_go_before_revisions_one_could_go_back_to() {
        let history: History = [
            entry(1, Superseded),
            failed(2, "bad"),
            rollback(3, 1, Superseded),
            failed(4, "bad"),
            rollback(5, 1, Deployed),
        ]
        .into_iter()
        .collect();
        assert_eq!(history.surplus(Limit::new(4)), [2, 3]);
        assert_eq!(history.surplus(Limit::new(3)), [2, 3, 1]);
    }
}
