//! When a backup is due by the clock.

use backup_api::{
    BackupPolicySpec, BackupSpec, ConcurrencyPolicy, Origin, OriginKind, PolicyReference, ScheduleRule,
    SubjectReference, names,
};
use jiff::{SignedDuration, Timestamp};
use schedule::{Schedule, ScheduleError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{naming, plan};

/// Whether a backup of a subject is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Now. `last` becomes this time, before the backup is created.
    Now {
        /// When it had been due by the schedule, without jitter.
        scheduled: Timestamp,
        /// Backups to be deleted first.
        replaces: Vec<String>,
    },
    /// It waits for another one of the subject.
    Waits {
        /// When it had been due by the schedule.
        scheduled: Timestamp,
        /// Look again then at the latest.
        until: Timestamp,
    },
    /// It is too late to begin it. `last` becomes this time.
    Missed(Timestamp),
    /// Not before this time.
    At(Timestamp),
    /// Not by itself.
    Never,
}

/// For whom.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// Uid of the policy.
    pub policy_uid: &'a str,
    /// The subject.
    pub subject: &'a SubjectReference,
    /// When the last one that was begun or left out had been due; before the first: when the subject was first seen.
    pub last: Timestamp,
    /// Names of scheduled backups of the subject by this policy that are not over.
    pub running: &'a [String],
}

/// Whether a backup is due.
///
/// # Errors
/// The schedule cannot be read.
pub fn due(rule: &ScheduleRule, asker: &Asker<'_>, now: Timestamp) -> Result<Due, ScheduleError> {
    let schedule = Schedule::new(&rule.cron, rule.time_zone.as_deref())?;
    if rule.suspend {
        return Ok(Due::Never);
    }
    let offset = offset(rule, asker);
    let clock = now.saturating_sub(offset).unwrap_or(Timestamp::MIN);
    let next = schedule.next_after(clock).map(|next| later(next, offset));
    let Some(scheduled) = schedule.last_between(asker.last, clock) else {
        return Ok(next.map_or(Due::Never, Due::At));
    };
    let until = rule.starting_deadline.map(|deadline| later(later(scheduled, offset), deadline.signed()));
    if until.is_some_and(|until| now > until) {
        return Ok(Due::Missed(scheduled));
    }
    let replaces = match rule.concurrency_policy {
        ConcurrencyPolicy::Forbid if !asker.running.is_empty() => {
            let next = next.unwrap_or(Timestamp::MAX);
            return Ok(Due::Waits { scheduled, until: until.map_or(next, |until| until.min(next)) });
        }
        ConcurrencyPolicy::Replace => asker.running.to_vec(),
        ConcurrencyPolicy::Forbid | ConcurrencyPolicy::Allow => Vec::new(),
    };
    Ok(Due::Now { scheduled, replaces })
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// How much later this policy begins with this subject: always the same, so that restarts move nothing.
fn offset(rule: &ScheduleRule, asker: &Asker<'_>) -> SignedDuration {
    let most = rule.jitter.map_or(0, |jitter| jitter.0);
    let SubjectReference { api_version: _, kind, name } = asker.subject;
    let hash = Sha256::digest(format!("{}/{}/{kind}/{name}", asker.policy_uid, asker.subject.group()));
    let number = hash.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    let seconds = number.checked_rem(most.saturating_add(1)).unwrap_or_default();
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or_default())
}

/// The `Backup` that is created when one is due. The same time gives the same name, so that none is taken twice.
pub fn backup(
    namespace: &str,
    policy: &str,
    spec: &BackupPolicySpec,
    subject: &SubjectReference,
    scheduled: Timestamp,
) -> Value {
    let of = [subject.group(), &subject.kind, &subject.name].join("\n");
    let id = naming::digest(&of, 6);
    let head = naming::limited(&format!("{policy}-{}", subject.name.to_lowercase()), 120);
    let minutes = scheduled.as_second().div_euclid(60);
    let backup = BackupSpec {
        subject: subject.clone(),
        policy_ref: Some(PolicyReference { name: policy.to_owned() }),
        plan: Some(plan::of_policy(spec)),
        origin: Some(Origin {
            kind: OriginKind::Schedule,
            scheduled_at: Some(scheduled),
            ..Origin::default()
        }),
        subject_version: None,
        deletion_policy: None,
    };
    json!({
        "apiVersion": names::API_VERSION,
        "kind": names::BACKUP,
        "metadata": {"namespace": namespace, "name": format!("{head}-{id}-{minutes}")},
        "spec": backup,
    })
}

#[cfg(test)]
mod tests {
    use backup_api::Duration;

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-{text}Z").parse().unwrap()
    }

    fn nightly() -> ScheduleRule {
        serde_json::from_value(json!({"cron": "0 2 * * *", "timeZone": "Europe/Berlin"})).unwrap()
    }

    fn subject(name: &str) -> SubjectReference {
        SubjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: name.to_owned(),
        }
    }

    fn ask(rule: &ScheduleRule, last: &str, now: &str, running: &[String]) -> Due {
        let subject = subject("db");
        let asker = Asker { policy_uid: "u", subject: &subject, last: at(last), running };
        due(rule, &asker, at(now)).unwrap()
    }

    fn now(scheduled: &str) -> Due {
        Due::Now { scheduled: at(scheduled), replaces: Vec::new() }
    }

    #[test]
    fn one_is_due_at_its_time_in_its_time_zone() {
        assert_eq!(ask(&nightly(), "10T00:00:00", "10T00:59:59", &[]), Due::At(at("10T01:00:00")));
        assert_eq!(ask(&nightly(), "10T00:00:00", "10T01:00:00", &[]), now("10T01:00:00"));
        assert_eq!(ask(&nightly(), "10T01:00:00", "10T01:00:01", &[]), Due::At(at("11T01:00:00")));
        let daily = ScheduleRule { cron: "@daily".to_owned(), time_zone: None, ..nightly() };
        assert_eq!(ask(&daily, "10T00:00:00", "10T05:00:00", &[]), Due::At(at("11T00:00:00")));
    }

    #[test]
    fn of_many_that_were_missed_only_the_last_is_taken_and_none_that_is_too_late() {
        assert_eq!(ask(&nightly(), "01T00:00:00", "10T09:00:00", &[]), now("10T01:00:00"));
        let strict = ScheduleRule { starting_deadline: Some(Duration::minutes(60)), ..nightly() };
        assert_eq!(ask(&strict, "10T00:00:00", "10T02:00:00", &[]), now("10T01:00:00"));
        assert_eq!(ask(&strict, "10T00:00:00", "10T02:00:01", &[]), Due::Missed(at("10T01:00:00")));
    }

    #[test]
    fn a_clock_that_went_back_makes_nothing_due() {
        assert_eq!(ask(&nightly(), "10T01:00:00", "09T23:00:00", &[]), Due::At(at("10T01:00:00")));
        assert_eq!(ask(&nightly(), "10T01:00:00", "10T00:30:00", &[]), Due::At(at("10T01:00:00")));
    }

    #[test]
    fn jitter_is_bounded_and_always_the_same() {
        let rule = ScheduleRule { jitter: Some(Duration::minutes(30)), ..nightly() };
        let times: Vec<Timestamp> = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .map(|name| {
                let subject = subject(name);
                let asker =
                    Asker { policy_uid: "u", subject: &subject, last: at("10T00:00:00"), running: &[] };
                let Due::At(time) = due(&rule, &asker, at("10T00:30:00")).unwrap() else {
                    panic!("not later")
                };
                assert_eq!(due(&rule, &asker, time - SignedDuration::from_secs(1)), Ok(Due::At(time)));
                assert_eq!(due(&rule, &asker, time), Ok(now("10T01:00:00")), "{name}");
                time
            })
            .collect();
        assert!(times.iter().all(|time| (at("10T01:00:00")..=at("10T01:30:00")).contains(time)), "{times:?}");
        assert!(times.iter().collect::<std::collections::BTreeSet<_>>().len() > 3, "{times:?}");
    }

    #[test]
    fn another_one_that_is_running_is_waited_for_ignored_or_replaced() {
        let running = ["b-1".to_owned()];
        let with = |policy| ScheduleRule { concurrency_policy: policy, ..nightly() };
        let waits = ask(&with(ConcurrencyPolicy::Forbid), "10T00:00:00", "10T01:05:00", &running);
        assert_eq!(waits, Due::Waits { scheduled: at("10T01:00:00"), until: at("11T01:00:00") });
        assert_eq!(
            ask(&with(ConcurrencyPolicy::Allow), "10T00:00:00", "10T01:05:00", &running),
            now("10T01:00:00")
        );
        let replaces = ask(&with(ConcurrencyPolicy::Replace), "10T00:00:00", "10T01:05:00", &running);
        assert_eq!(replaces, Due::Now { scheduled: at("10T01:00:00"), replaces: running.to_vec() });
        let strict = ScheduleRule { starting_deadline: Some(Duration::minutes(10)), ..nightly() };
        let waits = ask(&strict, "10T00:00:00", "10T01:05:00", &running);
        assert_eq!(waits, Due::Waits { scheduled: at("10T01:00:00"), until: at("10T01:10:00") });
    }

    #[test]
    fn nothing_is_due_while_it_is_suspended_and_no_schedule_is_told() {
        let suspended = ScheduleRule { suspend: true, ..nightly() };
        assert_eq!(ask(&suspended, "01T00:00:00", "10T09:00:00", &[]), Due::Never);
        let odd = ScheduleRule { cron: "often".to_owned(), ..suspended };
        let subject = subject("db");
        let asker = Asker { policy_uid: "u", subject: &subject, last: at("10T00:00:00"), running: &[] };
        assert!(due(&odd, &asker, at("10T00:00:00")).is_err());
    }

    #[test]
    fn the_same_time_of_the_same_subject_is_one_backup() {
        let policy: BackupPolicySpec = serde_json::from_value(json!({
            "subjects": [{"kind": "Service"}], "storage": {"url": "s3://b"},
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}},
        }))
        .unwrap();
        let name = |subject: &SubjectReference, time: &str| {
            backup("shop", "nightly", &policy, subject, at(time))["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(name(&subject("db"), "10T01:00:00"), name(&subject("db"), "10T01:00:00"));
        let service = SubjectReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: "db".to_owned(),
        };
        assert_ne!(name(&subject("db"), "10T01:00:00"), name(&service, "10T01:00:00"));
        assert_ne!(name(&subject("db"), "10T01:00:00"), name(&subject("db"), "10T01:01:00"));
        assert!(name(&subject(&"x".repeat(253)), "10T01:00:00").len() <= 200);
    }
}
