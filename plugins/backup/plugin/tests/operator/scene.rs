//! A shop with a database, an etcd cluster and a storage.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, SystemTime},
};

use backup_core::manifest::merge;
use pilothouse_sdk::{
    Announced, Condition, DeleteOptions, Earlier, Ending, Error, Gvk, HookProgress, HookStep,
    LifecycleHook as _, ObjectRef, PlannedHook, Subject, Task,
    harness::{Cluster, Runner},
};
use serde_json::{Value, json};

use crate::actors::{Actors, list};

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const STORE: &str = "s3://backups";
pub(crate) const PASSWORD: &str = "hunter2";
const MANIFEST: &str = include_str!("../../plugin.yaml");
const DATA: &[u8] = b"all that the shop has sold";

/// The definitions as they are shipped.
fn definitions() -> Vec<Value> {
    let files = [
        include_str!("../../../crds/backuppolicies.yaml"),
        include_str!("../../../crds/backups.yaml"),
        include_str!("../../../crds/restores.yaml"),
        include_str!("../../../../etcd/crds/etcdbackups.yaml"),
        include_str!("../../../../etcd/crds/etcdclusters.yaml"),
        include_str!("../../../../etcd/crds/etcdrestores.yaml"),
        include_str!("../../../../../deploy/crds/lifecycle.pilothouse.dev_lifecycleruns.yaml"),
    ];
    files.into_iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect()
}

pub(crate) fn own(kind: &str) -> Gvk {
    Gvk::new("backup.pilothouse.dev", "v1alpha1", kind)
}

pub(crate) fn reference(kind: &str, name: &str) -> ObjectRef {
    ObjectRef::new(own(kind), NAMESPACE, name)
}

pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

fn storage() -> Value {
    json!({"url": STORE, "credentialsSecret": "login"})
}

/// A plan for the etcd cluster.
pub(crate) fn of_etcd(change: &Value) -> Value {
    merge(json!({"strategy": {"etcd": {}}, "storage": storage(), "timeout": "20m", "retries": 2}), change)
}

/// A plan for the database.
pub(crate) fn of_database(change: &Value) -> Value {
    let parameters = json!({"host": "db", "passwordSecret": {"name": "db", "key": "password"}});
    let strategy = json!({"job": {"preset": "mariadb", "parameters": parameters}});
    merge(json!({"strategy": strategy, "storage": storage(), "timeout": "20m", "retries": 2}), change)
}

pub(crate) fn cluster_subject() -> Value {
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "example"})
}

pub(crate) fn database_subject() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "name": "db"})
}

/// The cluster, the plugin in it, and everybody else.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) runner: Runner,
    pub(crate) actors: Actors,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let cluster = Cluster::new();
        for definition in definitions() {
            cluster.define(&definition).unwrap();
        }
        let secret = |name: &str, key: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": {key: PASSWORD}});
        let metadata = |name: &str| json!({"name": name, "namespace": NAMESPACE, "labels": {"app": "shop"}});
        cluster
            .create([
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
                secret("login", "secret-access-key"),
                secret("db", "password"),
                json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("db"), "spec": {}}),
                json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": metadata("example"), "spec": {"size": 3}}),
            ])
            .unwrap();
        let runner = Runner::new(&cluster, backup_plugin::plugin)
            .manifest(MANIFEST)
            .unwrap()
            .config(&json!({"image": "registry.example.com/pilothouse:1"}));
        Self { cluster, runner, actors: Actors::new(DATA) }
    }

    pub(crate) fn create(&mut self, kind: &str, name: &str, spec: &Value) {
        self.cluster.create([object(kind, name, spec)]).unwrap();
    }

    /// A backup by hand.
    pub(crate) fn back_up(&mut self, name: &str, subject: &Value, plan: &Value) {
        self.create("Backup", name, &json!({"subject": subject, "plan": plan}));
    }

    /// Lets time go by with everybody at work: second after second while there is something to do, else until
    /// the next call is due.
    pub(crate) fn play(&mut self, seconds: u64) {
        let mut left = seconds;
        while left > 0 {
            self.runner.settle().unwrap();
            let step = if self.actors.act(&self.cluster) { 1 } else { self.rest().clamp(1, left) };
            self.runner.run_for(Duration::from_secs(step)).unwrap();
            left -= step;
        }
        self.actors.act(&self.cluster);
    }

    /// For so many seconds nobody is called.
    fn rest(&self) -> u64 {
        self.runner.next_call().map_or(u64::MAX, |next| next.as_secs())
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.cluster.kubectl().get_ref(&reference(kind, name)).unwrap()
    }

    pub(crate) fn status(&self, kind: &str, name: &str) -> Value {
        self.get(kind, name).unwrap_or_else(|| panic!("there is no {kind} {name}"))["status"].clone()
    }

    /// Phase, whether it was verified, and what it says.
    pub(crate) fn backup(&self, name: &str) -> (String, bool, String) {
        let status = self.status("Backup", name);
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (text("phase"), status["verified"] == true, text("message"))
    }

    /// Phase and what it says.
    pub(crate) fn restore(&self, name: &str) -> (String, String) {
        let status = self.status("Restore", name);
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (text("phase"), text("message"))
    }

    pub(crate) fn backups(&self) -> Vec<String> {
        let all = list(&self.cluster, own("Backup"));
        all.iter().map(|backup| backup["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn condition(&self, kind: &str, name: &str, condition: &str) -> Condition {
        self.cluster.condition(&reference(kind, name), condition).unwrap()
    }

    pub(crate) fn delete(&self, kind: &str, name: &str) {
        self.cluster.kubectl().delete_ref(&reference(kind, name), &DeleteOptions::default()).unwrap();
    }

    /// What a completed backup left in the storage.
    pub(crate) fn artefact(&self, name: &str) -> Option<Vec<u8>> {
        let status = self.status("Backup", name);
        self.cluster.stored(STORE, status["artifact"]["key"].as_str()?)
    }

    /// What must be so whenever nothing moves.
    pub(crate) fn check(&self, word: &str) {
        for backup in list(&self.cluster, own("Backup")) {
            let status = &backup["status"];
            if status["verified"] == true {
                let key = status["artifact"]["key"].as_str().unwrap();
                let stored = self.cluster.stored(STORE, key);
                let stored =
                    stored.unwrap_or_else(|| panic!("{word}: {key} is called verified and is not there"));
                assert_eq!(status["artifact"]["sha256"], crate::actors::sha256(&stored), "{word}");
                assert!(
                    self.cluster.stored(STORE, &format!("{key}.json")).is_some(),
                    "{word}: {key} has no entry"
                );
            }
        }
        let told: Vec<Value> = ["Backup", "Restore", "BackupPolicy"]
            .iter()
            .flat_map(|kind| list(&self.cluster, own(kind)))
            .collect();
        assert!(
            !format!("{told:?} {:?} {:?}", self.cluster.events(), self.cluster.logs()).contains(PASSWORD),
            "{word}"
        );
    }

    /// Nothing of an attempt is left: no Job, no pod, no token.
    pub(crate) fn nothing_is_left(&self, word: &str) {
        let left: Vec<String> = self
            .cluster
            .objects()
            .iter()
            .filter(|object| ["Job", "EtcdBackup", "EtcdRestore"].contains(&object.kind.kind.as_str()))
            .map(ToString::to_string)
            .collect();
        assert_eq!(left, [""; 0], "{word}");
        let secrets = list(&self.cluster, Gvk::new("", "v1", "Secret"));
        let names: Vec<&str> =
            secrets.iter().filter_map(|secret| secret["metadata"]["name"].as_str()).collect();
        assert_eq!(names, ["db", "login"], "{word}");
    }
}

/// A phase of a change of the database, and where its hooks stand.
pub(crate) struct Change {
    pub(crate) announced: Announced,
    pub(crate) hooks: Vec<PlannedHook>,
    /// What the first hook left for its next call.
    record: RefCell<Option<Value>>,
}

impl Change {
    /// As the host begins failed hooks anew when somebody asks for it.
    pub(crate) fn retried(self) -> Self {
        Self { record: RefCell::default(), ..self }
    }
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Done(Vec<pilothouse_sdk::Artefact>),
    Failed(String, String),
    Pending(String),
}

pub(crate) fn announced(phase: &str, change: &str, subject: &Value) -> Announced {
    let (group, version) = subject["apiVersion"].as_str().unwrap().split_once('/').unwrap_or(("", "v1"));
    let kind = Gvk::new(group, version, subject["kind"].as_str().unwrap());
    let run = Gvk::new("lifecycle.pilothouse.dev", "v1alpha1", "LifecycleRun");
    Announced {
        run: ObjectRef::new(run, NAMESPACE, format!("{phase}-{change}")),
        subject: Subject {
            object: ObjectRef::new(kind, NAMESPACE, subject["name"].as_str().unwrap()),
            uid: "u-1".to_owned(),
            labels: vec![("app".to_owned(), "shop".to_owned())],
        },
        phase: phase.to_owned(),
        change: change.to_owned(),
        undoes: None,
        ending: None,
        details: json!({"from": "11.4.2", "to": "11.8.1"}),
        announced_at: SystemTime::UNIX_EPOCH,
        artefacts: Vec::new(),
    }
}

/// The same, undoing a change that left these.
pub(crate) fn undoing(
    phase: &str,
    change: &str,
    undone: (&Value, &str, &[pilothouse_sdk::Artefact]),
) -> Announced {
    let (subject, undoes, artefacts) = undone;
    let earlier = |artefact: &pilothouse_sdk::Artefact| Earlier {
        plugin: "backup".to_owned(),
        hook: "nightly".to_owned(),
        artefact: artefact.clone(),
    };
    Announced {
        undoes: Some(undoes.to_owned()),
        ending: phase.starts_with("post-").then_some(Ending::Succeeded),
        details: json!({"from": "11.8.1", "to": "11.4.2"}),
        artefacts: artefacts.iter().map(earlier).collect(),
        ..announced(phase, change, subject)
    }
}

impl Scene {
    /// Asks for the hooks of a phase.
    pub(crate) fn plan(&mut self, announced: Announced) -> Result<Change, Error> {
        let ctx = self.runner.lifecycle_context(&announced.run);
        let hooks = backup_plugin::hooks().plan(&ctx, &announced)?;
        Ok(Change { announced, hooks, record: RefCell::default() })
    }

    fn task(change: &Change) -> Task {
        let hook = change.hooks.first().unwrap_or_else(|| panic!("there is no hook"));
        let (announced, parameters) = (change.announced.clone(), hook.parameters.clone());
        Task {
            announced,
            name: hook.name.clone(),
            parameters,
            attempt: 1,
            record: change.record.borrow().clone(),
        }
    }

    /// One call of the first hook; none: the host died in it.
    pub(crate) fn step(&mut self, change: &Change) -> Option<Result<HookStep, Error>> {
        let (ctx, task) = (self.runner.lifecycle_context(&change.announced.run), Self::task(change));
        let called = catch_unwind(AssertUnwindSafe(|| backup_plugin::hooks().run(&ctx, &task)));
        match called {
            Ok(step) => {
                if let Some(record) = step.as_ref().ok().and_then(HookStep::recorded) {
                    change.record.replace(Some(record.clone()));
                }
                Some(step)
            }
            Err(payload) if payload.is::<String>() || payload.is::<&str>() => resume_unwind(payload),
            Err(_) => {
                self.runner.restart();
                None
            }
        }
    }

    /// The first hook until its end, for at most so many seconds.
    pub(crate) fn carry_out(&mut self, change: &Change, seconds: u64) -> End {
        let mut last = String::new();
        for _ in 0..seconds {
            match self.step(change) {
                Some(Ok(step)) => match step.progress() {
                    HookProgress::Done(artefacts) => return End::Done(artefacts.clone()),
                    HookProgress::Failed { reason, message } | HookProgress::Refused { reason, message } => {
                        return End::Failed(reason.clone(), message.clone());
                    }
                    HookProgress::Pending(message) => last.clone_from(message),
                },
                Some(Err(error)) => last = error.to_string(),
                None => {}
            }
            self.play(1);
        }
        End::Pending(last)
    }

    pub(crate) fn cancel(&mut self, change: &Change) -> Result<(), Error> {
        let ctx = self.runner.lifecycle_context(&change.announced.run);
        backup_plugin::hooks().cancel(&ctx, &Self::task(change))
    }

    /// The host dies, and is begun anew.
    pub(crate) fn restart(&mut self) {
        self.runner.restart();
    }
}
