//! Operations in a cluster of two maps, stopped at every act.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::{Hook, HookPhase, Marks, Release};

const NOW: i64 = 1_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// How a hook ends when it is given time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Good,
    Bad,
    Never,
}

#[derive(Debug, Clone, PartialEq)]
struct Object {
    run: String,
    ended: bool,
}

/// Secrets, hook objects, and what was done.
#[derive(Debug, Default)]
struct World {
    secret: Option<Value>,
    objects: BTreeMap<String, Object>,
    ends: BTreeMap<String, &'static str>,
    log: Vec<String>,
    main: u32,
    refuses_main: bool,
    /// Hooks whose objects are deleted and do not go.
    lingers: Vec<String>,
    acts_left: Option<usize>,
}

/// Whether the process died, and on which side of the act.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Death {
    Before,
    After,
}

struct Died;

impl World {
    fn end(&self, name: &str) -> End {
        match self.ends.get(name) {
            Some(&"bad") => End::Bad,
            Some(&"never") => End::Never,
            _ => End::Good,
        }
    }

    fn name(operation: &Operation, hook: usize) -> String {
        operation.stored().release.hooks[hook].name.clone()
    }

    /// Carries one act out, or dies over it.
    fn act(&mut self, operation: &mut Operation, act: &Act, death: Death) -> Result<(), Died> {
        let dies = self.acts_left == Some(0);
        if let Some(left) = &mut self.acts_left {
            *left = left.saturating_sub(1);
        }
        if dies && death == Death::Before {
            return Err(Died);
        }
        let died = || if dies { Err(Died) } else { Ok(()) };
        match act {
            Act::Write => {
                let secret = operation.stored().secrets(at(NOW)).unwrap().record;
                assert_eq!(operation.stored().is_new(), self.secret.is_none(), "created once");
                self.secret = Some(secret.clone());
                died()?;
                operation.written(&secret);
            }
            Act::Look { hook, run } => {
                died()?;
                let name = Self::name(operation, *hook);
                operation.seen(self.look(&name, run));
            }
            Act::Remove { hook, .. } => {
                let name = Self::name(operation, *hook);
                let lingers = self.lingers.contains(&name) && self.objects.contains_key(&name);
                if !lingers && self.objects.remove(&name).is_some() {
                    self.log.push(format!("-{name}"));
                }
                died()?;
                operation.removed(!lingers);
            }
            Act::Leave { hook } => {
                self.log.push(format!("!{}", Self::name(operation, *hook)));
                died()?;
                operation.left();
            }
            Act::Start { hook, run } => {
                let name = Self::name(operation, *hook);
                let created = self.start(&name, run);
                died()?;
                operation.started(created);
            }
            Act::Main => {
                let result = if self.refuses_main { Err("no".to_owned()) } else { Ok(()) };
                self.main += 1;
                self.log.push("main".to_owned());
                died()?;
                operation.main_done(result);
            }
            Act::LookReady => {
                died()?;
                operation.readiness(Ok(None));
            }
            Act::Finish => {
                died()?;
                operation.finished();
            }
            Act::Wait(_) | Act::Done | Act::Failed(_) => unreachable!("nothing to do for {act:?}"),
        }
        Ok(())
    }

    fn look(&self, name: &str, run: &str) -> HookState {
        let Some(object) = self.objects.get(name) else { return HookState::Absent };
        if object.run != run {
            return HookState::Other;
        }
        match self.end(name) {
            _ if !object.ended => HookState::Running { busy: false },
            End::Good => HookState::Succeeded,
            End::Bad => HookState::Failed(format!("job {name} failed: BackoffLimitExceeded")),
            End::Never => HookState::Running { busy: false },
        }
    }

    fn start(&mut self, name: &str, run: &str) -> Result<(), String> {
        if self.objects.contains_key(name) {
            return Err(format!("jobs.batch \"{name}\" already exists"));
        }
        self.log.push(format!("+{name}"));
        self.objects.insert(name.to_owned(), Object { run: run.to_owned(), ended: false });
        Ok(())
    }

    /// Runs an operation until it has to wait, ends, or the process dies.
    fn run(&mut self, operation: &mut Operation, death: Death) -> Result<Act, Died> {
        for _ in 0..100 {
            match operation.next_act() {
                end @ (Act::Wait(_) | Act::Done | Act::Failed(_)) => return Ok(end),
                act => self.act(operation, &act, death)?,
            }
        }
        panic!("no end: {:?}", self.log);
    }

    /// Opens the stored operation again and again, time passing in between, until it ends.
    fn settle(&mut self) -> Act {
        for _ in 0..20 {
            self.objects.values_mut().for_each(|object| object.ended = true);
            let stored = Stored::read(self.secret.as_ref().unwrap()).unwrap();
            let Some(mut operation) = Operation::resume(stored, at(NOW + 60)) else { return Act::Done };
            match self.run(&mut operation, Death::Before) {
                Ok(Act::Wait(_)) => {}
                Ok(end) => return end,
                Err(Died) => unreachable!("nobody dies here"),
            }
        }
        panic!("does not settle: {:?}", self.log);
    }

    fn stored(&self) -> Stored {
        Stored::read(self.secret.as_ref().unwrap()).unwrap()
    }

    fn status(&self) -> Status {
        self.stored().release.info.status
    }
}

fn job(name: &str, event: &str, policies: &[&str]) -> Hook {
    Hook {
        name: name.to_owned(),
        kind: "Job".to_owned(),
        path: format!("web/templates/{name}.yaml"),
        events: vec![event.to_owned()],
        delete_policies: policies.iter().map(|policy| (*policy).to_owned()).collect(),
        ..Hook::default()
    }
}

fn pending(status: Status, hooks: Vec<Hook>) -> Operation {
    let mut release = Release { name: "web".into(), version: 2, hooks, ..Release::default() };
    release.set_status(status, "under way");
    let stored = Stored::new(release, Marks::default(), BTreeMap::new());
    Operation::begin(stored, at(NOW)).unwrap()
}

fn upgrade(hooks: Vec<Hook>) -> Operation {
    pending(Status::PendingUpgrade, hooks)
}

fn weigh(mut hook: Hook, weight: i64) -> Hook {
    hook.weight = weight;
    hook
}

#[test]
fn without_hooks_an_install_is_two_writes() {
    let mut operation = pending(Status::PendingInstall, vec![]);
    let mut acts = Vec::new();
    let mut world = World::default();
    loop {
        let act = operation.next_act();
        acts.push(act.clone());
        if act == Act::Done {
            break;
        }
        assert!(world.act(&mut operation, &act, Death::Before).is_ok());
    }
    assert_eq!(acts, [Act::Write, Act::Main, Act::Finish, Act::Write, Act::Done]);
    let stored = world.stored();
    assert_eq!(stored.release.info.status, Status::Deployed);
    assert_eq!(stored.release.info.description, "Install complete");
    assert_eq!(stored.marks.progress, None);
}

#[test]
fn hooks_run_one_after_the_other_around_the_objects() {
    let hooks = vec![
        weigh(job("second", "pre-upgrade", &["hook-succeeded"]), 5),
        weigh(job("first", "pre-upgrade", &["before-hook-creation", "hook-succeeded"]), -1),
        job("last", "post-upgrade", &[]),
        job("other", "post-install", &[]),
    ];
    let mut world = World::default();
    let mut operation = upgrade(hooks);
    let act = world.run(&mut operation, Death::Before).ok().unwrap();
    assert_eq!(act, Act::Wait(Wait::Run { hook: 1, until: None }), "the call returns instead of waiting");
    assert_eq!(world.stored().release.hooks[1].last_run.phase, HookPhase::Running);
    assert_eq!(world.settle(), Act::Done);
    assert_eq!(world.log, ["+first", "+second", "-second", "-first", "main", "+last"]);
    assert_eq!(world.status(), Status::Deployed);
    let phases: Vec<_> = world.stored().release.hooks.iter().map(|hook| hook.last_run.phase).collect();
    assert_eq!(phases, [HookPhase::Succeeded, HookPhase::Succeeded, HookPhase::Succeeded, HookPhase::NotRun]);
}

#[test]
fn a_leftover_is_deleted_before_the_hook_is_created_again() {
    let mut world = World::default();
    let leftover = Object { run: "web.v1.pre-upgrade.0.1".into(), ended: true };
    world.objects.insert("backup".into(), leftover.clone());
    assert!(world.run(&mut upgrade(vec![job("backup", "pre-upgrade", &[])]), Death::Before).is_ok());
    assert_eq!(world.settle(), Act::Done);
    assert_eq!(world.log, ["-backup", "+backup", "main"]);
}

#[test]
fn a_leftover_that_no_policy_deletes_fails_the_hook_as_in_helm() {
    let mut world = World::default();
    world.objects.insert("backup".into(), Object { run: String::new(), ended: true });
    let end = world.run(&mut upgrade(vec![job("backup", "pre-upgrade", &["hook-failed"])]), Death::Before);
    let Ok(Act::Failed(message)) = end else { panic!("{:?}", world.log) };
    assert_eq!(
        message,
        "pre-upgrade hooks failed: warning: Hook pre-upgrade web/templates/backup.yaml failed: jobs.batch \"backup\" \
         already exists"
    );
}

#[test]
fn a_failed_hook_ends_the_upgrade_before_anything_is_applied_and_cleans_up_by_policy() {
    let hooks = vec![
        weigh(job("good", "pre-upgrade", &["hook-succeeded"]), 0),
        weigh(job("bad", "pre-upgrade", &["hook-failed"]), 1),
        weigh(job("never", "pre-upgrade", &[]), 2),
    ];
    let mut world = World { ends: [("bad".to_owned(), "bad")].into(), ..World::default() };
    assert!(world.run(&mut upgrade(hooks), Death::Before).is_ok());
    let message = "pre-upgrade hooks failed: job bad failed: BackoffLimitExceeded".to_owned();
    assert_eq!(world.settle(), Act::Failed(message.clone()));
    assert_eq!(world.log, ["+good", "+bad", "-bad", "-good"]);
    assert_eq!(world.main, 0);
    let stored = world.stored();
    assert_eq!(stored.release.info.status, Status::Failed);
    assert_eq!(stored.release.info.description, format!("Upgrade \"web\" failed: {message}"));
    assert!(!stored.marks.may_have_applied(), "nothing has to be rolled back");
}

#[test]
fn a_failed_hook_after_the_objects_says_that_they_may_have_changed() {
    let hooks = vec![job("bad", "post-upgrade", &[])];
    let mut world = World { ends: [("bad".to_owned(), "bad")].into(), ..World::default() };
    assert!(world.run(&mut upgrade(hooks), Death::Before).is_ok());
    assert!(matches!(world.settle(), Act::Failed(_)));
    assert!(world.stored().marks.may_have_applied());
}

#[test]
fn refused_objects_fail_the_upgrade() {
    let mut world = World { refuses_main: true, ..World::default() };
    let end = world.run(&mut upgrade(vec![]), Death::Before);
    assert!(matches!(end, Ok(Act::Failed(message)) if message == "no"));
    assert_eq!(world.status(), Status::Failed);
}

#[test]
fn what_is_no_job_and_no_pod_is_done_when_it_is_there() {
    let claim = Hook { kind: "PersistentVolumeClaim".into(), ..job("claim", "pre-upgrade", &[]) };
    let mut world = World::default();
    let end = world.run(&mut upgrade(vec![claim]), Death::Before);
    assert!(matches!(end, Ok(Act::Done)));
    assert_eq!(world.log, ["+claim", "main"]);
}

#[test]
fn a_hook_that_never_ends_times_out_when_there_is_a_limit() {
    let mut world = World { ends: [("slow".to_owned(), "never")].into(), ..World::default() };
    let minute = Some(Duration::from_mins(1));
    let mut operation = upgrade(vec![job("slow", "pre-upgrade", &[])]).with_timeout(minute);
    let act = world.run(&mut operation, Death::Before).ok().unwrap();
    assert_eq!(act, Act::Wait(Wait::Run { hook: 0, until: Some(at(NOW + 60)) }));
    let mut later = Operation::resume(world.stored(), at(NOW + 60)).unwrap().with_timeout(minute);
    let end = world.run(&mut later, Death::Before);
    assert!(
        matches!(end, Ok(Act::Failed(message)) if message.contains("timed out waiting for the condition"))
    );
}

/// Carries a stored operation on at another time.
fn go_on(world: &mut World, now: i64) -> Act {
    let minute = Some(Duration::from_mins(1));
    let mut operation = Operation::resume(world.stored(), at(now)).unwrap().with_timeout(minute);
    world.run(&mut operation, Death::Before).ok().unwrap()
}

#[test]
fn what_does_not_make_room_in_time_fails_the_hook() {
    let mut world = World { lingers: vec!["slow".into()], ..World::default() };
    world.objects.insert("slow".into(), Object { run: "web.v1.pre-upgrade.0.1".into(), ended: true });
    let mut operation =
        upgrade(vec![job("slow", "pre-upgrade", &[])]).with_timeout(Some(Duration::from_mins(1)));
    let waits = Act::Wait(Wait::Gone { hook: 0, until: Some(at(NOW + 60)) });
    assert_eq!(
        world.run(&mut operation, Death::Before).ok(),
        Some(Act::Wait(Wait::Gone { hook: 0, until: Some(at(NOW + 60)) }))
    );
    assert_eq!(go_on(&mut world, NOW + 59), waits);
    let Act::Failed(message) = go_on(&mut world, NOW + 60) else { panic!("{:?}", world.log) };
    assert_eq!(
        message,
        "pre-upgrade hooks failed: timed out waiting for the condition: Job slow of an earlier run is still being deleted after 1m"
    );
    assert_eq!((world.status(), world.main), (Status::Failed, 0));
}

#[test]
fn what_a_hook_that_has_run_leaves_behind_is_told_and_does_not_hold_the_operation() {
    let mut world = World { lingers: vec!["b".into()], ..World::default() };
    let hooks = ["a", "b", "c"].map(|name| job(name, "pre-upgrade", &["hook-succeeded"]));
    let mut operation = upgrade(hooks.to_vec()).with_timeout(Some(Duration::from_mins(1)));
    assert!(world.run(&mut operation, Death::Before).is_ok());
    let mut end = Act::Done;
    for _ in 0..3 {
        world.objects.values_mut().for_each(|object| object.ended = true);
        end = go_on(&mut world, NOW);
    }
    assert_eq!(end, Act::Wait(Wait::Gone { hook: 1, until: Some(at(NOW + 60)) }), "{:?}", world.log);
    assert_eq!(go_on(&mut world, NOW + 60), Act::Done);
    assert_eq!(world.log, ["+a", "+b", "+c", "-c", "!b", "-a", "main"]);
    assert_eq!(world.status(), Status::Deployed);
}

#[test]
fn a_hook_that_vanishes_is_begun_again_but_not_for_ever() {
    let mut world = World::default();
    assert!(world.run(&mut upgrade(vec![job("ghost", "pre-upgrade", &[])]), Death::Before).is_ok());
    for _ in 0..2 {
        world.objects.clear();
        let mut operation = Operation::resume(world.stored(), at(NOW)).unwrap();
        assert!(matches!(world.run(&mut operation, Death::Before), Ok(Act::Wait(_))));
    }
    world.objects.clear();
    let mut operation = Operation::resume(world.stored(), at(NOW)).unwrap();
    let end = world.run(&mut operation, Death::Before);
    assert!(matches!(end, Ok(Act::Failed(message)) if message.contains("was deleted 3 times")));
}

#[test]
fn an_outdated_upgrade_is_left_when_nothing_of_it_is_at_work() {
    let mut world = World { ends: [("hangs".to_owned(), "never")].into(), ..World::default() };
    assert!(world.run(&mut upgrade(vec![job("hangs", "pre-upgrade", &[])]), Death::Before).is_ok());
    let mut operation = Operation::resume(world.stored(), at(NOW)).unwrap().outdated();
    assert!(matches!(world.run(&mut operation, Death::Before), Ok(Act::Failed(_))));
    assert_eq!(world.status(), Status::Failed);
}

#[test]
fn an_outdated_upgrade_lets_a_working_hook_finish_first() {
    let mut world = World::default();
    assert!(world.run(&mut upgrade(vec![job("works", "pre-upgrade", &[])]), Death::Before).is_ok());
    let mut operation = Operation::resume(world.stored(), at(NOW)).unwrap().outdated();
    assert_eq!(operation.next_act(), Act::Look { hook: 0, run: "web.v2.pre-upgrade.0.1".into() });
    operation.seen(HookState::Running { busy: true });
    assert_eq!(operation.next_act(), Act::Wait(Wait::Run { hook: 0, until: None }));
    operation.seen(HookState::Succeeded);
    assert_eq!(operation.next_act(), Act::Write);
    assert!(matches!(world.run(&mut operation, Death::Before), Ok(Act::Failed(_))));
    assert_eq!(world.main, 0);
}

#[test]
fn an_outdated_rollback_is_brought_to_its_end() {
    let mut world = World::default();
    let mut operation = pending(Status::PendingRollback, vec![]).outdated();
    assert!(matches!(world.run(&mut operation, Death::Before), Ok(Act::Done)));
    assert_eq!(world.status(), Status::Deployed);
    assert_eq!(world.stored().release.info.description, "under way", "says which revision it went back to");
}

#[test]
fn an_uninstall_starts_again_when_a_hook_before_it_failed() {
    let hooks = vec![job("dump", "pre-delete", &[])];
    let mut world = World { ends: [("dump".to_owned(), "bad")].into(), ..World::default() };
    assert!(world.run(&mut pending(Status::Uninstalling, hooks), Death::Before).is_ok());
    assert!(matches!(world.settle(), Act::Failed(_)));
    let stored = world.stored();
    assert_eq!(stored.release.info.status, Status::Uninstalling);
    assert_eq!(stored.marks.progress, Some(Progress::start(Stage::Pre)));
    world.ends.clear();
    let mut again = Operation::resume(stored, at(NOW)).unwrap();
    assert!(matches!(world.run(&mut again, Death::Before), Ok(Act::Wait(_))));
    assert_eq!(world.settle(), Act::Done);
    assert_eq!(world.log, ["+dump", "-dump", "+dump", "main"]);
}

#[test]
fn an_uninstall_ends_even_when_a_hook_after_it_failed() {
    let hooks = vec![job("bye", "post-delete", &[])];
    let mut world = World { ends: [("bye".to_owned(), "bad")].into(), ..World::default() };
    assert!(world.run(&mut pending(Status::Uninstalling, hooks), Death::Before).is_ok());
    assert_eq!(world.settle(), Act::Done);
}

#[test]
fn records_of_others_and_of_the_past_are_no_operation() {
    let release = |status| {
        let mut release = Release { name: "web".into(), version: 2, ..Release::default() };
        release.set_status(status, "");
        Stored::new(release, Marks::default(), BTreeMap::new())
    };
    assert!(Operation::resume(release(Status::PendingUpgrade), at(NOW)).is_none(), "no progress: not ours");
    assert!(Operation::begin(release(Status::Deployed), at(NOW)).is_none());
}

/// Every hook of an operation that ends well, killed at each act and on both sides of it: each hook still runs exactly
/// once to its end, in order, and the record ends deployed.
#[test]
fn wherever_it_is_killed_an_operation_ends_the_same() {
    for status in
        [Status::PendingInstall, Status::PendingUpgrade, Status::PendingRollback, Status::Uninstalling]
    {
        let action = Action::of(status).unwrap();
        let hooks = || {
            vec![
                weigh(job("a", action.before(), &["before-hook-creation", "hook-succeeded"]), 0),
                weigh(Hook { kind: "ConfigMap".into(), ..job("b", action.before(), &["hook-succeeded"]) }, 1),
                weigh(job("c", action.before(), &[]), 2),
                job("d", action.after(), &["before-hook-creation"]),
            ]
        };
        for death in [Death::Before, Death::After] {
            for acts in 0..40 {
                let mut world = World { acts_left: Some(acts), ..World::default() };
                let mut survived = world.run(&mut pending(status, hooks()), death).is_ok();
                // Some deaths lie behind the first wait.
                while survived && world.secret.as_ref().is_some() {
                    world.objects.values_mut().for_each(|object| object.ended = true);
                    let Some(mut operation) = Operation::resume(world.stored(), at(NOW)) else { break };
                    match world.run(&mut operation, death) {
                        Ok(Act::Wait(_)) => {}
                        Ok(_) => break,
                        Err(Died) => survived = false,
                    }
                }
                world.acts_left = None;
                if world.secret.is_none() {
                    assert!(world.log.is_empty(), "nothing was done before it was announced");
                    continue;
                }
                assert_eq!(world.settle(), Act::Done, "{status} {death:?} {acts}");
                let trail = format!("{status} {death:?} {acts}: {:?}", world.log);
                let created: Vec<_> = world.log.iter().filter(|line| line.starts_with('+')).collect();
                assert_eq!(created, ["+a", "+b", "+c", "+d"], "{trail}");
                let main = world.log.iter().position(|line| line == "main").unwrap();
                assert!(world.log[..main].contains(&"+c".to_owned()), "{trail}");
                assert!(!world.log[..main].contains(&"+d".to_owned()), "{trail}");
                assert_eq!(world.objects.keys().collect::<Vec<_>>(), ["c", "d"], "{trail}");
                if status == Status::Uninstalling {
                    assert_eq!(
                        world.stored().marks.progress,
                        Some(Progress::start(Stage::Finish)),
                        "{trail}"
                    );
                } else {
                    assert_eq!(world.status(), Status::Deployed, "{trail}");
                }
            }
        }
    }
}

#[test]
fn hook_records_are_written_as_helm_reads_them() {
    let mut world = World::default();
    assert!(world.run(&mut upgrade(vec![job("a", "pre-upgrade", &[])]), Death::Before).is_ok());
    let record = serde_json::to_value(&world.stored().release).unwrap();
    assert_eq!(
        record["hooks"][0]["last_run"],
        json!({"started_at": "1970-01-12T13:46:40Z", "phase": "Running"})
    );
    assert_eq!(record["hooks"][0]["delete_policies"], json!(["before-hook-creation"]));
    assert_eq!(record["info"]["status"], "pending-upgrade");
}
