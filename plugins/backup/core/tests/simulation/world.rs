//! One database, one storage, Jobs, and a host that forgets when it dies.

use std::collections::{BTreeMap, BTreeSet};

use backup_api::{BackupPlan, BackupSpec, BackupStatus, Step};
use backup_core::{
    backup::{
        Act, Need, Observed, Role, Token, command_at_hand,
        observed::{CheckSeen, ExecSeen, Looked, PodSeen, Product, TaskSeen, TokenSeen},
    },
    key::ENTRY,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// What happens to one Job, by the number of its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It does its work.
    Well,
    /// Its dump fails in the middle.
    Fails,
    /// Its object is whole, but a container fails after that.
    FailsAfterwards,
    /// It never ends.
    Hangs,
    /// It ends, and the storage has other bytes than were sent.
    Corrupts,
    /// It ends, and the storage has lost the object.
    Loses,
    /// When it is deleted, its pod goes on for a while and tries to finish.
    Lingers,
}

/// What can be set of a world.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) fates: Vec<Fate>,
    pub(crate) trial: Fate,
    /// Codes of the first commands that bring to rest, and of the first that release.
    pub(crate) pre: Vec<i32>,
    pub(crate) post: Vec<i32>,
    /// Seconds that it takes to bring to rest; to release takes one.
    pub(crate) freeze: i64,
    /// The ends of so many commands are not heard of, though they were carried out.
    pub(crate) deaf: usize,
    /// The storage does not answer from second to second.
    pub(crate) outage: Option<(i64, i64)>,
    /// The pod is replaced in this second.
    pub(crate) replaced: Option<i64>,
    /// The pod vanishes in this second.
    pub(crate) vanishes: Option<i64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            fates: Vec::new(),
            trial: Fate::Well,
            pre: Vec::new(),
            post: Vec::new(),
            freeze: 2,
            deaf: 0,
            outage: None,
            replaced: None,
            vanishes: None,
        }
    }
}

#[derive(Debug, Clone)]
struct Job {
    begun: Timestamp,
    fate: Fate,
    /// Under which key it writes; none: it only reads.
    key: Option<String>,
    end: Option<Result<Product, String>>,
    /// Deleted, and until when its pod is still there.
    leaves: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct Process {
    name: String,
    post: bool,
    ends: Timestamp,
    code: i32,
}

/// The world.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) began: Timestamp,
    pub(crate) rules: Rules,
    pub(crate) spec: BackupSpec,
    pub(crate) status: BackupStatus,
    pub(crate) deleting: bool,
    pub(crate) gone: bool,
    pub(crate) frozen: bool,
    pub(crate) store: BTreeMap<String, (u64, String)>,
    jobs: BTreeMap<String, Job>,
    processes: Vec<Process>,
    pod: Option<u32>,
    // What the host keeps in memory.
    ends: BTreeMap<String, i32>,
    running: BTreeSet<String>,
    tokens: BTreeMap<String, String>,
    checks: BTreeMap<String, (String, Timestamp)>,
    counts: [usize; 3],
}

pub(crate) const SIZE: u64 = 1000;
const DUMP: SignedDuration = SignedDuration::from_secs(40);

pub(crate) fn hash(text: &str) -> String {
    format!(
        "{:0>64}",
        text.bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .chars()
            .rev()
            .take(60)
            .collect::<String>()
    )
}

impl World {
    pub(crate) fn new(plan: &BackupPlan, rules: Rules) -> Self {
        let spec =
            json!({"subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}, "plan": plan});
        let began = "2026-01-10T02:00:00Z".parse().unwrap();
        Self {
            now: began,
            began,
            rules,
            spec: serde_json::from_value(spec).unwrap(),
            status: BackupStatus::default(),
            deleting: false,
            gone: false,
            frozen: false,
            store: BTreeMap::new(),
            jobs: BTreeMap::new(),
            processes: Vec::new(),
            pod: Some(1),
            ends: BTreeMap::new(),
            running: BTreeSet::new(),
            tokens: BTreeMap::new(),
            checks: BTreeMap::new(),
            counts: [0; 3],
        }
    }

    fn second(&self) -> i64 {
        self.now.duration_since(self.began).as_secs()
    }

    fn store_answers(&self) -> bool {
        self.rules.outage.is_none_or(|(from, to)| !(from..to).contains(&self.second()))
    }

    /// Time goes by, one second after another.
    pub(crate) fn advance(&mut self, by: SignedDuration) {
        for _ in 0..by.as_secs().max(1) {
            self.now += SignedDuration::from_secs(1);
            self.tick();
        }
    }

    fn tick(&mut self) {
        let second = self.second();
        if self.rules.replaced == Some(second) {
            self.pod = Some(2);
            self.processes.clear();
        }
        if self.rules.vanishes == Some(second) {
            // Nobody is left who could be at rest.
            self.pod = None;
            self.frozen = false;
            self.processes.clear();
        }
        let now = self.now;
        let (over, open): (Vec<Process>, _) =
            self.processes.drain(..).partition(|process| process.ends <= now);
        self.processes = open;
        for process in over {
            if process.code == 0 {
                self.frozen = !process.post;
            }
            if self.running.remove(&process.name) {
                self.ends.insert(process.name, process.code);
            }
        }
        let names: Vec<String> = self.jobs.keys().cloned().collect();
        for name in names {
            self.work(&name);
        }
        self.jobs.retain(|_, job| job.leaves.is_none_or(|leaves| leaves > now));
    }

    fn work(&mut self, name: &str) {
        let answers = self.store_answers();
        let writes = self.tokens.get(name).cloned();
        let Some(job) = self.jobs.get_mut(name).filter(|job| job.end.is_none()) else { return };
        let goes_on = job.leaves.is_none() || job.fate == Fate::Lingers;
        if !goes_on || job.fate == Fate::Hangs || self.now.duration_since(job.begun) < DUMP {
            return;
        }
        let Some(key) = job.key.clone() else {
            job.end =
                Some(if job.fate == Fate::Well { Ok(Product::default()) } else { Err("trial".to_owned()) });
            return;
        };
        let product = Product { size: SIZE, sha256: hash(&key), version: None };
        job.end = Some(match job.fate {
            Fate::Fails => Err("dump ended with 2".to_owned()),
            _ if writes.as_deref() != Some(&key) => Err("the token is not known".to_owned()),
            _ if !answers => Err("the storage does not answer".to_owned()),
            Fate::FailsAfterwards => Err("transfer ended with 1".to_owned()),
            _ => Ok(product.clone()),
        });
        let written = job.end.as_ref().is_some_and(Result::is_ok)
            || (job.fate == Fate::FailsAfterwards && answers && writes.as_deref() == Some(&key));
        match job.fate {
            Fate::Loses => {}
            Fate::Corrupts if written => drop(self.store.insert(key, (SIZE, hash("other")))),
            _ if written => drop(self.store.insert(key, (SIZE, product.sha256))),
            _ => {}
        }
    }

    /// The host dies: what it kept in memory is lost, and streams through it are cut.
    pub(crate) fn crash(&mut self) {
        self.ends.clear();
        self.running.clear();
        self.tokens.clear();
        self.checks.clear();
        for job in self.jobs.values_mut().filter(|job| job.end.is_none() && job.fate != Fate::Hangs) {
            if self.now > job.begun {
                job.end = Some(Err("the stream was cut".to_owned()));
            }
        }
        self.advance(SignedDuration::from_secs(3));
    }

    pub(crate) fn observe(&self, needs: &[Need]) -> Observed {
        let mut seen = Observed::default();
        for need in needs {
            match need {
                Need::Pods => seen.pods = Some(self.pods()),
                // There is one backup.
                Need::Others => {}
                Need::Claims => seen.claims = Some(vec!["data-db-0".to_owned()]),
                Need::Exec => seen.exec = self.exec_seen(),
                Need::Upload => seen.upload = self.token(Role::Dump),
                Need::Download => seen.download = self.token(Role::Trial),
                Need::Dump => seen.dump = self.task(Role::Dump),
                Need::Trial => seen.trial = self.task(Role::Trial),
                Need::Object => seen.object = self.look(""),
                Need::Entry => seen.entry = self.look(ENTRY),
                Need::Check => seen.check = self.check(),
            }
        }
        seen
    }

    fn pods(&self) -> Vec<PodSeen> {
        let labels = BTreeMap::from([("app".to_owned(), "db".to_owned())]);
        let pod = |number: u32| PodSeen {
            name: "db-0".to_owned(),
            uid: format!("pod-{number}"),
            labels: labels.clone(),
            containers: vec!["db".to_owned()],
        };
        self.pod.map(pod).into_iter().collect()
    }

    fn exec_seen(&self) -> ExecSeen {
        let Some(name) = command_at_hand(&self.status) else { return ExecSeen::Unknown };
        if self.running.contains(&name) {
            return ExecSeen::Running;
        }
        match self.ends.get(&name) {
            Some(255) => ExecSeen::Unreachable("connection reset".to_owned()),
            Some(code) => ExecSeen::Exited(*code, String::new()),
            None => ExecSeen::Unknown,
        }
    }

    fn attempt(&self) -> (u32, String) {
        self.status.run.as_ref().map_or((1, String::new()), |run| (run.attempt, run.key.clone()))
    }

    fn name(&self, role: Role) -> String {
        format!("b-{}-{}", role.word(), self.attempt().0)
    }

    fn token(&self, role: Role) -> TokenSeen {
        if self.tokens.contains_key(&self.name(role)) { TokenSeen::Open } else { TokenSeen::Closed }
    }

    fn task(&self, role: Role) -> TaskSeen {
        match self.jobs.get(&self.name(role)) {
            None => TaskSeen::Absent,
            Some(Job { leaves: Some(_), .. }) => TaskSeen::Leaving,
            Some(Job { end: None, .. }) => TaskSeen::Running("the Job is running".to_owned()),
            Some(Job { end: Some(Ok(product)), .. }) => TaskSeen::Succeeded(product.clone()),
            Some(Job { end: Some(Err(why)), .. }) => TaskSeen::Failed(why.clone()),
        }
    }

    fn look(&self, behind: &str) -> Looked {
        if !self.store_answers() {
            return Looked::Unknown("it does not answer".to_owned());
        }
        let found = self.store.get(&format!("{}{behind}", self.attempt().1));
        found.map_or(Looked::Absent, |(size, _)| Looked::Present(*size))
    }

    fn check(&self) -> CheckSeen {
        let name = format!("b-check-{}", self.attempt().0);
        let Some((key, since)) = self.checks.get(&name) else { return CheckSeen::Absent };
        if !self.store_answers() {
            return CheckSeen::Failed { why: "it does not answer".to_owned(), passing: true };
        }
        if self.now.duration_since(*since) < SignedDuration::from_secs(5) {
            return CheckSeen::Running(1);
        }
        match self.store.get(key) {
            Some((size, sha256)) => CheckSeen::Done { size: *size, sha256: sha256.clone() },
            None => CheckSeen::Failed { why: "there is no such object".to_owned(), passing: false },
        }
    }

    /// Does what was decided, if the world lets it be done.
    pub(crate) fn perform(&mut self, act: &Act) {
        let announced = self.status.run.as_ref().map(|run| run.step);
        let during = |steps: &[Step]| {
            assert!(
                announced.is_some_and(|step| steps.contains(&step)),
                "{act:?} was not announced: {announced:?}"
            );
        };
        match act {
            Act::Nothing => {}
            Act::Exec(command) => {
                during(&[Step::Quiesce, Step::Release]);
                assert_eq!(command_at_hand(&self.status).as_ref(), Some(&command.name), "not announced");
                self.exec(command);
            }
            Act::Open(token) => {
                during(&[Step::Data, Step::Trial]);
                self.open(token);
            }
            Act::Close { name } => {
                during(&[Step::Tidy, Step::Clean]);
                self.tokens.remove(name);
            }
            Act::Create { role, token, objects } => {
                self.open(token.as_ref().unwrap());
                during(if *role == Role::Dump { &[Step::Data] } else { &[Step::Trial] });
                let name = objects[0]["metadata"]["name"].as_str().unwrap().to_owned();
                assert_eq!(name, self.name(*role));
                self.create(*role, name);
            }
            Act::Delete { role, token, objects, leftovers } => {
                during(&[Step::Tidy, Step::Clean, Step::Remove]);
                if let Some(place) = leftovers {
                    during(&[Step::Clean]);
                    assert_eq!((place.key.as_str(), *role), (self.attempt().1.as_str(), Role::Dump));
                }
                self.tokens.remove(token.as_ref().unwrap());
                assert_eq!(objects[0].name, self.name(*role));
                let now = self.now;
                if let Some(job) = self.jobs.get_mut(&objects[0].name) {
                    let after = if job.fate == Fate::Lingers { 70 } else { 2 };
                    job.leaves.get_or_insert(now + SignedDuration::from_secs(after));
                }
            }
            Act::StartCheck { name, object, .. } => {
                during(&[Step::Reread]);
                self.checks.entry(name.clone()).or_insert((object.key.clone(), self.now));
            }
            Act::ForgetCheck { name } => drop(self.checks.remove(name)),
            Act::DeleteObject(place) => {
                during(&[Step::Clean, Step::Remove]);
                if self.store_answers() {
                    self.store.remove(&place.key);
                }
            }
            Act::WriteEntry { object, text } => {
                during(&[Step::Catalogue]);
                if self.store_answers() {
                    self.store.insert(object.key.clone(), (text.len() as u64, "entry".to_owned()));
                }
            }
        }
    }

    fn open(&mut self, token: &Token) {
        match token {
            Token::Upload(upload) => {
                self.tokens.insert(upload.name.clone(), upload.object.key.clone());
            }
            Token::Download(download) => drop(self.tokens.insert(download.name.clone(), String::new())),
        }
    }

    fn exec(&mut self, command: &backup_core::backup::act::Command) {
        if self.running.contains(&command.name) || self.ends.contains_key(&command.name) {
            return;
        }
        let post = command.command[0] == "thaw";
        if self.pods().first().map(|pod| &pod.uid) != Some(&command.uid) {
            self.ends.insert(command.name.clone(), 255);
            return;
        }
        let (codes, count) = if post { (&self.rules.post, 1) } else { (&self.rules.pre, 0) };
        let code = codes.get(self.counts[count]).copied().unwrap_or(0);
        self.counts[count] += 1;
        let ends = self.now + SignedDuration::from_secs(if post { 1 } else { self.rules.freeze });
        self.processes.push(Process { name: command.name.clone(), post, ends, code });
        if self.rules.deaf > 0 {
            self.rules.deaf -= 1;
            self.ends.insert(command.name.clone(), 255);
        } else {
            self.running.insert(command.name.clone());
        }
    }

    fn create(&mut self, role: Role, name: String) {
        if self.jobs.contains_key(&name) {
            return;
        }
        let (attempt, key) = self.attempt();
        let fate = match role {
            Role::Dump => self.rules.fates.get(attempt as usize - 1).copied().unwrap_or(Fate::Well),
            Role::Trial | Role::Restore => self.rules.trial,
        };
        let key = (role == Role::Dump).then_some(key);
        self.jobs.insert(name, Job { begun: self.now, fate, key, end: None, leaves: None });
    }

    /// What must never be.
    pub(crate) fn watch(&self) {
        let dumps = self.jobs.values().filter(|job| job.key.is_some()).count();
        assert!(dumps <= 1, "two Jobs read the database at once: {:?}", self.jobs);
        let over = self.status.phase == backup_api::BackupPhase::Completed;
        assert_eq!(self.status.verified, over || self.status.phase == backup_api::BackupPhase::Deleting);
        if over {
            let artefact = self.status.artefact.as_ref().expect("completed without an artefact");
            let stored = self.store.get(&artefact.key);
            assert_eq!(
                stored,
                Some(&(artefact.size, artefact.sha256.clone())),
                "completed without its object"
            );
            assert!(
                self.store.contains_key(&format!("{}{ENTRY}", artefact.key)),
                "completed without its entry"
            );
        }
    }

    /// What must be so in the end.
    pub(crate) fn conclude(&self) {
        assert!(!self.frozen, "the database was left at rest: {:?}", self.status);
        assert!(self.jobs.is_empty(), "Jobs are left: {:?}", self.jobs);
        assert!(self.tokens.is_empty(), "tokens are left: {:?}", self.tokens);
        let completed = self.status.phase == backup_api::BackupPhase::Completed;
        let expected = usize::from(completed) * 2;
        assert_eq!(self.store.len(), expected, "{:?}: {:?}", self.status.phase, self.store);
    }
}
