//! Which backups are kept.

use std::collections::{BTreeMap, BTreeSet};

use backup_api::{BackupPhase, BackupSpec, BackupStatus, OriginKind, Retention, Strategy, SubjectReference};
use jiff::{Timestamp, tz::TimeZone};
use schedule::Periods;

use crate::lifecycle::reached;

/// How many failed ones are kept to be looked at.
const FAILED: usize = 3;

/// Of how many restores after rollbacks is kept what they have set aside, and of each how much.
const ASIDE: usize = 3;

/// A backup that may be kept or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Name of the `Backup`.
    pub name: String,
    /// Name of its policy.
    pub policy: Option<String>,
    /// What it is of.
    pub subject: SubjectReference,
    /// Why it was taken.
    pub origin: OriginKind,
    /// When it began.
    pub taken: Option<Timestamp>,
    /// How far it is.
    pub phase: BackupPhase,
    /// Was it shown to be whole?
    pub verified: bool,
}

impl Candidate {
    /// A `Backup` as it was read.
    pub fn of_backup(name: &str, spec: &BackupSpec, status: &BackupStatus, deleting: bool) -> Self {
        let origin = spec.origin.clone().unwrap_or_default();
        Self {
            name: name.to_owned(),
            policy: spec.policy_ref.as_ref().map(|policy| policy.name.clone()),
            subject: spec.subject.clone(),
            origin: origin.kind,
            taken: status.started_at,
            phase: if deleting { BackupPhase::Deleting } else { status.phase },
            verified: status.verified,
        }
    }
}

/// What a restore after a rollback has set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    candidate: Candidate,
    /// Name of the `Restore`; its tries have the same.
    restore: Option<String>,
    /// What it is of: a subject may have several databases.
    of: Option<Strategy>,
}

impl Aside {
    /// A `Backup` as it was read. None: it is something else.
    pub fn of_backup(name: &str, spec: &BackupSpec, status: &BackupStatus, deleting: bool) -> Option<Self> {
        let origin = spec.origin.as_ref()?;
        let is_aside = origin.kind == OriginKind::Restore && origin.change.is_some();
        is_aside.then(|| Self {
            candidate: Candidate::of_backup(name, spec, status, deleting),
            restore: origin.run.clone(),
            of: spec.plan.as_ref().map(|plan| reached(&plan.strategy)),
        })
    }
}

/// What retention needs to know beside the backups.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Name of the policy.
    pub policy: &'a str,
    /// Where its days begin.
    pub zone: TimeZone,
    /// The time.
    pub now: Timestamp,
}

/// Names of backups that are not kept any more, sorted. Whoever deletes them says `deletionPolicy: Delete` in them first, or their
/// artefacts would stay.
///
/// Looked at are those that the policy took by the clock or for changes. Those of people, of restores and of other policies are not its
/// to delete. Of each subject, those that are completed are counted by time; the last verified one never expires.
pub fn expired(rule: &Retention, candidates: &[Candidate], context: &Context<'_>) -> Vec<String> {
    let own = candidates.iter().filter(|candidate| {
        candidate.policy.as_deref() == Some(context.policy)
            && matches!(candidate.origin, OriginKind::Schedule | OriginKind::Lifecycle)
    });
    let mut subjects: BTreeMap<(&str, &str, &str), Vec<&Candidate>> = BTreeMap::new();
    for candidate in own {
        let SubjectReference { kind, name, .. } = &candidate.subject;
        subjects.entry((candidate.subject.group(), kind, name)).or_default().push(candidate);
    }
    let mut expired: Vec<String> =
        subjects.into_values().flat_map(|of_one| expired_of(rule, of_one, context)).collect();
    expired.sort();
    expired
}

/// Names of backups of one subject that are not kept any more, of those that restores after rollbacks have set aside. No policy has these.
///
/// Of each database the last restores are counted. The first that a restore has set aside is the only copy of what was there before it
/// wrote: it stays as long as any of that restore.
pub fn expired_asides(mut of_one: Vec<Aside>) -> Vec<String> {
    of_one.sort_by(|Aside { candidate: a, .. }, Aside { candidate: b, .. }| {
        (b.taken, &b.name).cmp(&(a.taken, &a.name))
    });
    let mut databases: Vec<Vec<&Aside>> = Vec::new();
    for aside in &of_one {
        match databases.iter_mut().find(|known| known.first().is_some_and(|first| first.of == aside.of)) {
            Some(known) => known.push(aside),
            None => databases.push(vec![aside]),
        }
    }
    databases.iter().flat_map(|of_one| expired_asides_of(of_one)).collect()
}

fn expired_asides_of(newest_first: &[&Aside]) -> Vec<String> {
    let of_phase = |phase| newest_first.iter().copied().filter(move |aside| aside.candidate.phase == phase);
    let mut restores: Vec<Vec<&Aside>> = Vec::new();
    for aside in of_phase(BackupPhase::Completed) {
        match restores
            .iter_mut()
            .find(|known| known.first().is_some_and(|first| first.restore == aside.restore))
        {
            Some(known) => known.push(aside),
            None => restores.push(vec![aside]),
        }
    }
    let old = restores.iter().skip(ASIDE).flatten();
    let surplus = restores.iter().take(ASIDE).flat_map(|tries| {
        let later = tries.split_last().map_or(&[][..], |(_, later)| later);
        later.iter().skip(ASIDE - 1)
    });
    let failed: Vec<&Aside> = of_phase(BackupPhase::Failed).skip(FAILED).collect();
    old.chain(surplus).chain(&failed).map(|aside| aside.candidate.name.clone()).collect()
}

fn expired_of(rule: &Retention, mut of_one: Vec<&Candidate>, context: &Context<'_>) -> Vec<String> {
    of_one.sort_by(|a, b| (b.taken, &b.name).cmp(&(a.taken, &a.name)));
    let of_phase = |phase| of_one.iter().copied().filter(move |candidate| candidate.phase == phase);
    let completed: Vec<&Candidate> = of_phase(BackupPhase::Completed).collect();
    let failed = of_phase(BackupPhase::Failed).skip(FAILED);
    let kept = kept(rule, &completed, context);
    let old =
        completed.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, candidate)| *candidate);
    old.chain(failed).map(|candidate| candidate.name.clone()).collect()
}

/// The indexes of those that are kept; the newest come first.
fn kept(rule: &Retention, completed: &[&Candidate], context: &Context<'_>) -> BTreeSet<usize> {
    let times: Vec<Timestamp> =
        completed.iter().map(|candidate| candidate.taken.unwrap_or(Timestamp::MAX)).collect();
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let periods = Periods {
        hourly: count(rule.hourly),
        daily: count(rule.daily),
        weekly: count(rule.weekly),
        monthly: count(rule.monthly),
        yearly: count(rule.yearly),
    };
    let newest = count(rule.keep_last);
    let by_number = newest > 0 || periods != Periods::default();
    let mut kept: BTreeSet<usize> = if by_number {
        periods.kept(&times, &context.zone).into_iter().chain(0..newest.min(times.len())).collect()
    } else {
        (0..times.len()).collect()
    };
    if let Some(age) = rule.max_age {
        let oldest = context.now.saturating_sub(age.signed()).unwrap_or(Timestamp::MIN);
        kept.retain(|at| times.get(*at).is_some_and(|time| *time >= oldest));
    }
    kept.extend(completed.iter().position(|candidate| candidate.verified));
    kept
}

#[cfg(test)]
mod tests {
    use backup_api::Duration;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn candidate(name: &str, taken: &str) -> Candidate {
        Candidate {
            name: name.to_owned(),
            policy: Some("nightly".to_owned()),
            subject: SubjectReference {
                api_version: "v1".to_owned(),
                kind: "Service".to_owned(),
                name: "db".to_owned(),
            },
            origin: OriginKind::Schedule,
            taken: Some(format!("2026-{taken}Z").parse().unwrap()),
            phase: BackupPhase::Completed,
            verified: true,
        }
    }

    fn days(count: u32) -> Vec<Candidate> {
        (1..=count).map(|day| candidate(&format!("b{day}"), &format!("01-{day:02}T02:00:00"))).collect()
    }

    fn gone(rule: &Retention, candidates: &[Candidate]) -> Vec<String> {
        let now = "2026-01-31T00:00:00Z".parse().unwrap();
        expired(rule, candidates, &Context { policy: "nightly", zone: TimeZone::UTC, now })
    }

    fn last(keep_last: u32) -> Retention {
        Retention { keep_last, ..Retention::default() }
    }

    #[test]
    fn the_newest_are_kept_by_time_and_not_by_name() {
        let candidates = days(12);
        let gone = gone(&last(3), &candidates);
        assert_eq!(gone, ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"]);
    }

    #[test]
    fn numbers_add_up_and_age_is_a_limit() {
        let rule = Retention { keep_last: 2, weekly: 3, ..Retention::default() };
        // Sundays are 4, 11, 18, 25.
        let kept: Vec<u32> =
            (1..=28).filter(|day| !gone(&rule, &days(28)).contains(&format!("b{day}"))).collect();
        assert_eq!(kept, [18, 25, 27, 28]);
        let rule = Retention { max_age: Some("7d".parse().unwrap()), ..rule };
        let kept: Vec<u32> =
            (1..=28).filter(|day| !gone(&rule, &days(28)).contains(&format!("b{day}"))).collect();
        assert_eq!(kept, [25, 27, 28]);
        let rule = Retention { max_age: Some("7d".parse().unwrap()), ..Retention::default() };
        assert_eq!(gone(&rule, &days(28)).len(), 23);
    }

    #[test]
    fn the_last_verified_one_stays_however_old_it_is() {
        let mut candidates = days(5);
        candidates[3].verified = false;
        candidates[4].verified = false;
        let rule = Retention { max_age: Some(Duration(1)), ..Retention::default() };
        assert_eq!(gone(&rule, &candidates), ["b1", "b2", "b4", "b5"]);
        assert_eq!(gone(&last(1), &candidates), ["b1", "b2", "b4"]);
    }

    #[test]
    fn only_completed_ones_count_and_a_few_failed_ones_stay_to_be_looked_at() {
        let mut candidates = days(8);
        for candidate in &mut candidates[2..7] {
            candidate.phase = BackupPhase::Failed;
            candidate.verified = false;
        }
        candidates[7].phase = BackupPhase::Running;
        candidates[7].verified = false;
        assert_eq!(gone(&last(2), &candidates), ["b3", "b4"]);
        assert_eq!(gone(&last(1), &candidates), ["b1", "b3", "b4"]);
    }

    /// Of the restore `r` of a database, on this day.
    fn aside(name: &str, (restore, database): (&str, &str), day: u32) -> Aside {
        let job = json!({"preset": "mariadb", "parameters": {"host": "db", "database": database}});
        Aside {
            candidate: candidate(name, &format!("01-{day:02}T02:00:00")),
            restore: Some(restore.to_owned()),
            of: Some(serde_json::from_value(json!({"job": job})).unwrap()),
        }
    }

    #[test]
    fn of_what_rollbacks_have_set_aside_that_of_the_last_three_of_each_database_stays() {
        let mut asides: Vec<Aside> =
            (1..=5).map(|day| aside(&format!("a{day}"), (&format!("r{day}"), "a"), day)).collect();
        asides.push(aside("b0", ("q", "b"), 1));
        assert_eq!(expired_asides(asides.clone()), ["a2", "a1"]);
        asides[4].candidate.phase = BackupPhase::Failed;
        assert_eq!(expired_asides(asides), ["a1"]);
    }

    #[test]
    fn what_a_restore_has_set_aside_before_it_wrote_outlives_that_of_its_further_tries() {
        let tries = (1..=5).map(|day| aside(&format!("r-{day}"), ("r", "a"), day));
        assert_eq!(expired_asides(tries.chain([aside("s-1", ("s", "a"), 6)]).collect()), ["r-3", "r-2"]);
    }

    #[test]
    fn others_are_not_touched() {
        let mut candidates = days(6);
        candidates[0].policy = Some("nightly-2".to_owned());
        candidates[1].policy = None;
        candidates[2].origin = OriginKind::Manual;
        candidates[3].origin = OriginKind::Restore;
        candidates[4].subject.name = "web".to_owned();
        assert_eq!(gone(&last(1), &candidates), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn the_last_verified_one_and_so_many_of_the_newest_never_expire(
            keep in 0_u32..5,
            daily in 0_u32..5,
            age in proptest::option::of(1_u64..3_000_000),
            taken in proptest::collection::vec((0_i64..2_600_000, any::<bool>()), 0..30),
        ) {
            let first: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let candidates: Vec<Candidate> = taken.iter().enumerate().map(|(at, (second, verified))| Candidate {
                taken: Some(first + jiff::SignedDuration::from_secs(*second)),
                verified: *verified,
                ..candidate(&format!("b{at}"), "01-01T00:00:00")
            }).collect();
            let rule = Retention { keep_last: keep, daily, max_age: age.map(Duration), ..Retention::default() };
            let gone = gone(&rule, &candidates);
            let mut sorted: Vec<&Candidate> = candidates.iter().collect();
            sorted.sort_by(|a, b| (b.taken, &b.name).cmp(&(a.taken, &a.name)));
            if let Some(last) = sorted.iter().find(|candidate| candidate.verified) {
                prop_assert!(!gone.contains(&last.name));
            }
            if age.is_none() {
                for candidate in sorted.iter().take(keep as usize) {
                    prop_assert!(!gone.contains(&candidate.name));
                }
            }
            let names: BTreeSet<&String> = gone.iter().collect();
            prop_assert_eq!(names.len(), gone.len());
        }
    }
}
