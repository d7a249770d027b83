//! Restores: what must never be, at every place at which the host can die.

use std::collections::BTreeMap;

use backup_api::{
    BackupPhase, BackupSpec, BackupStatus, RestoreSpec, RestoreState, RestoreStatus, RestoreStep,
};
use backup_core::{
    backup::{
        Act, Token,
        observed::{CheckSeen, Looked, Product, TaskSeen, TokenSeen},
    },
    lifecycle::BackupSeen,
    restore::{Need, Object, Observed, Order, decide, needs},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    play::{plan, settings},
    world::hash,
};

/// What the database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    Present,
    Partial,
    Restored,
}

#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    spec: RestoreSpec,
    status: RestoreStatus,
    deleting: bool,
    backup: Option<BackupSeen>,
    aside: Option<(Timestamp, BackupSpec)>,
    aside_fails: bool,
    /// Hash of what the storage has.
    stored: Option<String>,
    /// So many of the first attempts fail.
    failing: usize,
    data: Data,
    jobs: BTreeMap<String, (Timestamp, Option<bool>)>,
    tokens: Vec<String>,
    check: Option<Timestamp>,
}

const WORK: SignedDuration = SignedDuration::from_secs(20);

fn artefact() -> Value {
    json!({
        "uri": "s3://bucket/backups/k", "key": "k", "size": 1000, "sha256": hash("k"), "format": "mariadb-sql",
        "subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}, "takenAt": "2026-01-01T00:00:00Z",
        "subjectVersion": "11.4.2",
    })
}

fn backup(change: &Value) -> BackupSeen {
    let status = json!({"phase": "Completed", "verified": true, "artifact": artefact()});
    let spec = json!({"subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}, "plan": plan(json!({}))});
    let of = |part: &str, base: Value| match change.get(part) {
        Some(change) => backup_core::manifest::merge(base, change),
        None => base,
    };
    BackupSeen {
        deleting: false,
        spec: serde_json::from_value(of("spec", spec)).unwrap(),
        status: serde_json::from_value(of("status", status)).unwrap(),
    }
}

fn world(change: &Value) -> World {
    let spec = backup_core::manifest::merge(
        json!({"backupRef": {"name": "b"}, "timeout": "30m", "retries": 2}),
        change,
    );
    World {
        now: "2026-01-10T02:00:00Z".parse().unwrap(),
        spec: serde_json::from_value(spec).unwrap(),
        status: RestoreStatus::default(),
        deleting: false,
        backup: Some(backup(&json!({}))),
        aside: None,
        aside_fails: false,
        stored: Some(hash("k")),
        failing: 0,
        data: Data::Present,
        jobs: BTreeMap::new(),
        tokens: Vec::new(),
        check: None,
    }
}

impl World {
    fn task(&self) -> String {
        format!("r-restore-{}", self.status.run.as_ref().map_or(1, |run| run.attempt))
    }

    fn observe(&self, needs: &[Need]) -> Observed {
        let mut seen = Observed::default();
        for need in needs {
            match need {
                Need::Backup => seen.backup = self.backup.clone(),
                Need::Aside => seen.aside = self.aside_seen(),
                Need::Object => {
                    seen.object = self.stored.as_ref().map_or(Looked::Absent, |_| Looked::Present(1000));
                }
                Need::Check => seen.check = self.check_seen(),
                Need::Download if self.tokens.contains(&self.task()) => seen.download = TokenSeen::Open,
                Need::Download => {}
                Need::Task => seen.task = self.task_seen(),
                Need::Volumes | Need::Users => {}
            }
        }
        seen
    }

    fn aside_seen(&self) -> Option<BackupSeen> {
        let (since, spec) = self.aside.clone()?;
        let phase = match (self.now.duration_since(since) < WORK, self.aside_fails) {
            (true, _) => BackupPhase::Running,
            (false, true) => BackupPhase::Failed,
            (false, false) => BackupPhase::Completed,
        };
        let done = phase == BackupPhase::Completed;
        let completed_at = done.then(|| since + WORK);
        let status = BackupStatus { phase, verified: done, completed_at, ..BackupStatus::default() };
        Some(BackupSeen { deleting: false, spec, status })
    }

    fn check_seen(&self) -> CheckSeen {
        match (self.check, &self.stored) {
            (None, _) => CheckSeen::Absent,
            (Some(since), _) if self.now.duration_since(since) < SignedDuration::from_secs(4) => {
                CheckSeen::Running(9)
            }
            (Some(_), Some(sha256)) => CheckSeen::Done { size: 1000, sha256: sha256.clone() },
            (Some(_), None) => CheckSeen::Failed { why: "it is gone".to_owned(), passing: false },
        }
    }

    fn task_seen(&self) -> TaskSeen {
        match self.jobs.get(&self.task()) {
            None => TaskSeen::Absent,
            Some((_, None)) => TaskSeen::Running("the Job is running".to_owned()),
            Some((_, Some(true))) => TaskSeen::Succeeded(Product::default()),
            Some((_, Some(false))) => TaskSeen::Failed("restore ended with 1".to_owned()),
        }
    }

    fn perform(&mut self, order: &Order) {
        let now = self.now;
        match order {
            Order::CreateBackup(object) => {
                assert_eq!(
                    self.status.set_aside.as_deref(),
                    object["metadata"]["name"].as_str(),
                    "not announced"
                );
                let spec = serde_json::from_value(object["spec"].clone()).unwrap();
                self.aside.get_or_insert((now, spec));
            }
            Order::Act(Act::Nothing) => {}
            Order::Act(Act::StartCheck { .. }) => drop(self.check.get_or_insert(now)),
            Order::Act(Act::Open(token)) => self.open(token),
            Order::Act(Act::Close { name }) => self.tokens.retain(|token| token != name),
            Order::Act(Act::Create { token, objects, .. }) => {
                self.open(token.as_ref().unwrap());
                let run = self.status.run.as_ref().unwrap();
                assert!(run.step == RestoreStep::Restore && run.touched_at.is_some(), "not announced");
                let name = objects[0]["metadata"]["name"].as_str().unwrap().to_owned();
                self.jobs.entry(name).or_insert((now, None));
                self.data = Data::Partial;
            }
            Order::Act(Act::Delete { token, objects, .. }) => {
                self.tokens.retain(|known| Some(known) != token.as_ref());
                self.jobs.remove(&objects[0].name);
            }
            Order::Act(other) => panic!("a restore does not do this: {other:?}"),
        }
    }

    fn open(&mut self, token: &Token) {
        let Token::Download(download) = token else { panic!("a restore writes nothing: {token:?}") };
        if !self.tokens.contains(&download.name) {
            self.tokens.push(download.name.clone());
        }
    }

    fn advance(&mut self, by: SignedDuration) {
        self.now += by;
        for (begun, end) in self.jobs.values_mut() {
            if end.is_none() && self.now.duration_since(*begun) >= WORK {
                let well = self.failing == 0;
                self.failing = self.failing.saturating_sub(1);
                *end = Some(well);
                self.data = if well { Data::Restored } else { Data::Partial };
            }
        }
    }

    /// The host dies: readings and tokens are forgotten, and what was being read through it is cut.
    fn crash(&mut self) {
        self.tokens.clear();
        self.check = None;
        for (begun, end) in self.jobs.values_mut().filter(|(_, end)| end.is_none()) {
            if self.now > *begun {
                *end = Some(false);
            }
        }
        self.advance(SignedDuration::from_secs(3));
    }

    fn watch(&self) {
        assert!(self.jobs.len() <= 1, "two at once: {:?}", self.jobs);
        if self.data != Data::Present {
            assert!(self.stored == Some(hash("k")), "touched by what is not whole");
            let aside = self.aside_seen().is_some_and(|aside| aside.status.verified);
            assert!(aside || !self.spec.set_aside, "touched before the present data was set aside");
        }
        if self.status.phase == RestoreState::Completed {
            assert_eq!(self.data, Data::Restored);
        }
    }

    /// Plays to the end, with a host that dies at these places; tells how many there were.
    fn play(&mut self, crashes: &[usize], deleted: Option<usize>) -> usize {
        let mut place = 0;
        for _ in 0..2_000 {
            self.deleting |= deleted.is_some_and(|at| place >= at);
            let spec = self.spec.clone();
            let object = Object { namespace: "shop", name: "r", deleting: self.deleting, spec: &spec };
            let seen = self.observe(&needs(&object, &self.status));
            let decision = decide(object, &self.status, &seen, &settings(), self.now);
            let mut dies = || {
                place += 1;
                crashes.contains(&(place - 1))
            };
            if dies() {
                self.crash();
                continue;
            }
            self.status = decision.status;
            self.watch();
            if dies() {
                self.crash();
                continue;
            }
            self.perform(&decision.order);
            self.watch();
            if dies() {
                self.crash();
                continue;
            }
            match decision.next {
                None if deleted.is_some() && !self.deleting => self.deleting = true,
                None => {
                    assert!(
                        self.jobs.is_empty() && self.tokens.is_empty(),
                        "something is left: {:?}",
                        self.jobs
                    );
                    return place;
                }
                Some(next) if next.is_zero() => {}
                Some(next) => self.advance(SignedDuration::try_from(next).unwrap()),
            }
            self.watch();
        }
        panic!("it does not come to an end: {:?}", self.status);
    }
}

fn end(mut world: World) -> World {
    world.play(&[], None);
    world
}

#[test]
fn the_present_data_is_set_aside_and_the_artefact_put_back() {
    let world = end(world(&json!({})));
    assert_eq!((world.status.phase, world.data), (RestoreState::Completed, Data::Restored));
    assert_eq!(world.status.set_aside.as_deref(), Some("r-before"));
    let (_, aside) = world.aside.unwrap();
    assert_eq!(aside.plan.unwrap().strategy, plan(json!({})).strategy);
}

#[test]
fn without_setting_aside_nothing_is_backed_up() {
    let world = end(world(&json!({"setAside": false})));
    assert_eq!((world.status.phase, world.aside), (RestoreState::Completed, None));
}

#[test]
fn an_attempt_that_fails_is_followed_by_another() {
    let world = end(World { failing: 2, ..world(&json!({})) });
    assert_eq!((world.status.phase, world.status.attempts), (RestoreState::Completed, 3));
    let world = end(World { failing: 9, ..self::world(&json!({})) });
    assert_eq!((world.status.phase, world.status.attempts), (RestoreState::Failed, 3));
    assert!(world.status.message.contains("is in the Backup r-before"), "{}", world.status.message);
}

#[test]
fn present_data_that_cannot_be_set_aside_is_not_written_over() {
    let world = end(World { aside_fails: true, ..world(&json!({})) });
    assert_eq!((world.status.phase, world.data), (RestoreState::Failed, Data::Present));
    assert!(world.status.message.contains("nothing was touched"), "{}", world.status.message);
}

#[test]
fn an_artefact_that_is_not_whole_is_refused() {
    for stored in [None, Some(hash("other"))] {
        let world = end(World { stored, ..world(&json!({"force": true})) });
        assert_eq!((world.status.phase, world.data), (RestoreState::Failed, Data::Present));
        assert!(world.status.message.contains("nothing was touched"), "{}", world.status.message);
    }
}

#[test]
fn a_backup_that_does_not_fit_is_refused() {
    let job = |preset: &str| json!({"preset": preset, "parameters": {"host": "db", "claim": "c"}});
    let target = |kind: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": "db"});
    for (spec, of_backup, said) in [
        (json!({}), json!({"status": {"phase": "Running"}}), "is Running"),
        (json!({}), json!({"status": {"phase": "Failed", "artifact": null}}), "is Failed"),
        (json!({}), json!({"status": {"verified": false}}), "was not verified"),
        (json!({"target": target("Deployment")}), json!({}), "the target is a Deployment.apps"),
        (json!({"job": job("postgresql")}), json!({}), "and the artefact is MariadbSql"),
        (json!({"job": job("mysql")}), json!({}), "and the artefact is MariadbSql"),
        (json!({"backupRef": {"name": "b", "sha256": hash("x")}}), json!({}), "is asked for"),
        (json!({}), json!({"status": {"artifact": {"sha256": "x; rm -rf /"}}}), "is no SHA-256"),
        (json!({"targetVersion": "11.3.9"}), json!({}), "an older version may not read"),
        (json!({}), json!({"status": {"artifact": {"encrypted": true}}}), "name the Secret of the key"),
        (
            json!({}),
            json!({"spec": {"plan": {"storage": null, "strategy": {"job": null, "volumeSnapshot": {"claims": ["c"]}}}}}),
            "and the artefact is MariadbSql",
        ),
        (
            json!({"job": {"template": {"spec": {}}}}),
            json!({"status": {"artifact": {"format": "custom"}}}),
            "how the data is put back",
        ),
    ] {
        let world = World { backup: Some(backup(&of_backup)), ..world(&spec) };
        let world = end(world);
        assert_eq!((world.status.phase, world.data), (RestoreState::Failed, Data::Present), "{said}");
        assert!(world.status.message.contains(said), "{said}: {}", world.status.message);
    }
    let world = end(World { backup: None, ..world(&json!({})) });
    assert!(world.status.message.contains("there is no Backup"), "{}", world.status.message);
}

#[test]
fn force_restores_what_was_not_verified_and_other_versions() {
    let unverified = World {
        backup: Some(backup(&json!({"status": {"verified": false}}))),
        ..world(&json!({"force": true}))
    };
    assert_eq!(end(unverified).status.phase, RestoreState::Completed);
    let older = end(world(&json!({"force": true, "targetVersion": "10.1"})));
    assert_eq!(older.status.phase, RestoreState::Completed);
    let later = end(world(&json!({"targetVersion": "11.8.0"})));
    assert_eq!(later.status.phase, RestoreState::Completed);
}

#[test]
fn an_object_of_a_storage_is_restored_without_its_backup() {
    let spec = json!({
        "backupRef": null,
        "artifact": {"storage": {"url": "s3://bucket/backups"}, "key": "k", "sha256": hash("k"), "format": "mariadb-sql"},
        "target": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "other"},
        "job": {"preset": "mariadb", "parameters": {"host": "other"}},
    });
    let world = end(World { backup: None, ..world(&spec) });
    assert_eq!(world.status.phase, RestoreState::Completed, "{}", world.status.message);
    assert_eq!(world.status.artefact.unwrap().size, 1000, "what was read tells the size");
    assert_eq!(world.aside.unwrap().1.subject.name, "other");
}

#[test]
fn whatever_place_the_host_dies_at_a_restore_is_completed() {
    for (spec, failing) in [(json!({}), 0), (json!({"setAside": false}), 0), (json!({}), 1)] {
        let places = World { failing, ..world(&spec) }.play(&[], None);
        for first in 0..places {
            for second in (first..places + 12).step_by(5) {
                let mut world = World { failing, ..world(&spec) };
                world.play(&[first, second], None);
                assert!(world.status.run.is_none(), "crashes at {first} and {second}");
                if failing == 0 {
                    assert_eq!(
                        world.status.phase,
                        RestoreState::Completed,
                        "crashes at {first} and {second}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_backup_that_is_deleted_meanwhile_does_not_stop_its_restore() {
    let mut world = world(&json!({}));
    world.spec.set_aside = false;
    let places = world.clone().play(&[], None);
    assert!(places > 10);
    let spec = world.spec.clone();
    let object = Object { namespace: "shop", name: "r", deleting: false, spec: &spec };
    let seen = world.observe(&needs(&object, &world.status));
    world.status = decide(object, &world.status, &seen, &settings(), world.now).status;
    world.backup = None;
    world.play(&[], None);
    assert_eq!(world.status.phase, RestoreState::Completed);
}

#[test]
fn a_restore_that_is_deleted_leaves_no_job_and_no_token() {
    let places = world(&json!({})).play(&[], None);
    for at in 0..places {
        world(&json!({})).play(&[], Some(at));
    }
}
