//! Scene S5: a database whose upgrade loses rows. A verified backup stands before each upgrade, and the way back has every row.

mod disaster;
mod etcd;
mod postgresql;
mod redis;
mod rows;
mod store;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::progress::ToStderr;
use pilothouse_testbed::{Cluster, databases, etcd_images};
use serde_json::{Value, json};

use super::access::Access;
use super::look::Look;
use super::stage::{self, Pod, Stage as _};
use super::{DemoArgs, claim, interrupt, on_a_cluster_of_its_own};
use crate::steps::say;
use crate::{build, image};
use rows::{PLAYERS, Rows};
use store::Store;

const RESOURCE: &str = "mariadbs.charts.example.com/shop";
const RELEASE: &str = "shop";
const POLICY: &str = "backuppolicies.backup.pilothouse.dev/before-upgrades";
/// What packs and unpacks the files of a claim.
const BUSYBOX: &str = "docker.io/library/busybox:1.28.0-glibc";
/// A pod or two, a dump and its trial on a small machine.
const A_WHILE: Duration = Duration::from_secs(240);

/// Plays it on a cluster of its own.
///
/// # Errors
/// The step that was not seen.
pub(super) fn demo(args: &DemoArgs) -> Result<()> {
    if !args.node {
        bail!("scene S5 has a database in real pods: add --node (as root)");
    }
    let project = build::root().join("charts/samples/mariadb-operator");
    let mut plugins = build::plugins()?;
    plugins
        .retain(|plugin| ["helm.wasm", "etcd.wasm", "backup.wasm"].iter().any(|name| plugin.ends_with(name)));
    on_a_cluster_of_its_own(true, |cluster, access, work| {
        put_images(cluster)?;
        for definitions in [
            "plugins/backup/crds",
            "plugins/etcd/crds",
            "deploy/crds",
            "charts/samples/mariadb-operator/config/crd/bases",
        ] {
            let place = build::root().join(definitions).display().to_string();
            access.kubectl(&["apply", "--filename", &place])?;
        }
        let store = Store::open(work, &cluster.network()?.machine())?;
        claim::put(access, work)?;
        let mut host = Pod::of_project(access, &project, &plugins, values(&store)?, work)?;
        let backup_plugin = plugins.iter().find(|plugin| plugin.ends_with("backup.wasm"));
        let backup_plugin = backup_plugin.context("no backup plugin was built")?.clone();
        let look = Look { access, namespace: "demo" };
        let scene = Scene { look, store, work, backup_plugin, command: build::host()? };
        let played = host.start().and_then(|()| scene.play());
        if let Err(error) = &played {
            eprintln!("{}", stage::tail(&host.log(), 60));
            say(&format!("not seen: {error:#}"));
            say_what_is_there(access);
        } else if !args.once {
            say("the cluster is yours now; Ctrl-C takes it away");
            println!("  export KUBECONFIG={}", access.kubeconfig().display());
            println!(
                "  kubectl get mariadbs,backuppolicies,backups,restores,lifecycleruns,pods --all-namespaces"
            );
            interrupt::wait();
        }
        played
    })
}

fn put_images(cluster: &Cluster) -> Result<()> {
    let mut images = etcd_images::all(&ToStderr)?;
    images.push(pilothouse_testbed::busybox::archive(BUSYBOX)?);
    images.push(image::bare_host()?);
    cluster.import_images(&images)?;
    cluster.import_image_file(&databases::mariadb(&ToStderr)?)?;
    cluster.import_image_file(&databases::redis(&ToStderr)?)?;
    Ok(cluster.import_image_file(&databases::postgresql(&ToStderr)?)?)
}

/// What the host and the plugins may do, as the documentation has it, for the kinds and the store of the scene.
fn values(store: &Store) -> Result<Value> {
    let file = build::root().join("charts/pilothouse/ci/backup-values.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let text = text.replace("kind: Database }", "kind: MariaDB }").replace("[databases]", "[mariadbs]");
    let mut values: Value = serde_saphyr::from_str(&text)?;
    let more = json!({
        "/grants/plugins/etcd/stores": [store.place()],
        "/grants/plugins/backup/stores": [store.place(), claim::url("NAMESPACE")],
    });
    for (place, value) in more.as_object().into_iter().flatten() {
        *values.pointer_mut(place).with_context(|| format!("the values have no {place}"))? = value.clone();
    }
    let backup = values.pointer_mut("/grants/plugins/backup").and_then(Value::as_object_mut);
    backup.context("no grant")?.insert("settings".to_owned(), json!({"image": image::host_tag()}));
    claim::mount(&mut values)?;
    Ok(values)
}

fn say_what_is_there(access: &Access) {
    for arguments in [
        ["get", "mariadbs,backuppolicies,backups,restores,lifecycleruns", "--output=yaml"].as_slice(),
        &["get", "pods,jobs,persistentvolumeclaims", "--output=wide"],
        &["describe", "jobs,pods"],
        &["events"],
    ] {
        let all = [arguments, &["--namespace", "demo"]].concat();
        eprintln!("{}", access.kubectl(&all).unwrap_or_else(|error| error.to_string()));
    }
}

/// The scene on its stage.
struct Scene<'a> {
    look: Look<'a>,
    store: Store,
    work: &'a Path,
    backup_plugin: PathBuf,
    /// The command, as people type it.
    command: PathBuf,
}

impl Scene<'_> {
    fn play(&self) -> Result<()> {
        self.begin()?;
        let before = self.fill()?;
        self.failed_upgrade(&before)?;
        self.no_backup_no_upgrade(&before)?;
        self.by_the_clock()?;
        postgresql::play(self)?;
        redis::play(self)?;
        etcd::play(self)?;
        disaster::play(self, &before)
    }

    fn begin(&self) -> Result<()> {
        self.secrets(self.look)?;
        self.apply(self.look, &self.policy(&json!({})))?;
        self.apply(self.look, &database(0))
    }

    /// A namespace with the passwords of database and store.
    fn secrets(&self, look: Look<'_>) -> Result<()> {
        look.access.kubectl(&["create", "namespace", look.namespace])?;
        self.apply(look, &secret("shop-root", &json!({"password": rows::PASSWORD})))?;
        self.apply(look, &secret("store", &self.store.login()))
    }

    fn apply(&self, look: Look<'_>, object: &Value) -> Result<()> {
        let file = self.work.join("object.json");
        std::fs::write(&file, object.to_string())?;
        look.kubectl(&["apply", "--filename", &file.display().to_string()]).map(drop)
    }

    fn policy(&self, more: &Value) -> Value {
        let mut spec = json!({
            "subjects": [{"apiGroup": "charts.example.com", "kind": "MariaDB", "name": RELEASE}],
            "phases": ["pre-upgrade"],
            "timeout": "15m",
            "retries": 20,
            "storage": self.store.storage(),
            "strategy": self.strategy(),
            "verification": {"level": "Restore"},
        });
        if let (Some(fields), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        json!({"apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "BackupPolicy",
            "metadata": {"name": "before-upgrades"}, "spec": spec})
    }

    fn strategy(&self) -> Value {
        let [old, _] = databases::MARIADB;
        json!({"job": {
            "preset": "mariadb", "image": old,
            "parameters": {"host": "shop-mariadb", "database": "shop", "user": "root",
                "passwordSecret": {"name": "shop-root", "key": "password"}},
        }})
    }

    fn fill(&self) -> Result<Rows> {
        self.look.seen_within(A_WHILE, "the database is released, and its tables are made", || {
            self.latest() == Some((1, "deployed".to_owned()))
        })?;
        let rows = Rows::fill(self.look)?;
        say(&format!("{PLAYERS} rows are written: {rows}"));
        println!("{}", self.look.kubectl(&["get", "mariadbs,backuppolicies,pods,services"])?);
        Ok(rows)
    }

    /// The new version's change of the tables loses rows and a column, and fails.
    fn failed_upgrade(&self, before: &Rows) -> Result<()> {
        self.change(1, true)?;
        self.look.seen("an upgrade is asked for: a backup is taken first", || {
            !self.backups(r#"?(@.spec.origin.phase=="pre-upgrade")"#).is_empty()
        })?;
        self.look.seen_within(A_WHILE, "the upgrade's change of the tables loses rows and fails", || {
            self.revisions().contains(&(2, "failed".to_owned()))
        })?;
        self.look.seen_within(A_WHILE, "the release is rolled back to the image before", || {
            self.latest() == Some((3, "deployed".to_owned())) && self.image() == databases::MARIADB[0]
        })?;
        self.look.seen_within(A_WHILE, "and the backup of that very change is put back", || {
            self.phases("restores") == "Completed"
        })?;
        self.lost_and_found(before)?;
        println!("{}", self.look.helm(&["history", RELEASE])?);
        println!("{}", self.look.kubectl(&["get", "backups,restores,lifecycleruns"])?);
        Ok(())
    }

    /// What was set aside before the restore tells that something was lost.
    fn lost_and_found(&self, before: &Rows) -> Result<()> {
        let aside = self.look.value("restores", "{.items[0].status.setAside}");
        let key = self.look.value(&format!("backups/{aside}"), "{.status.artifact.key}");
        let spoiled = self.store.read(&key).context("the data that was written over was not set aside")?;
        if spoiled.contains("`score`") || spoiled.matches("Player").count() != PLAYERS / 2 {
            bail!("the upgrade lost nothing: there was nothing to be restored");
        }
        let now = Rows::read(self.look)?;
        if now != *before {
            bail!("written were {before}, and after the restore there are {now}");
        }
        say(&format!("every row is back: {now}"));
        Ok(())
    }

    /// The store refuses the login: the upgrade does not begin, and says why; with the right login it goes on by itself.
    fn no_backup_no_upgrade(&self, before: &Rows) -> Result<()> {
        self.apply(self.look, &secret("store", &self.store.wrong_login()))?;
        self.change(1, false)?;
        let told =
            || self.look.value(RESOURCE, r#"{.status.conditions[?(@.reason=="WaitingForHooks")].message}"#);
        let says_why = || {
            ["403", "denied", "refuse", "signature"].iter().any(|word| told().to_lowercase().contains(word))
        };
        self.look.seen_within(
            A_WHILE,
            "the store takes no backup: the upgrade waits, and says why",
            says_why,
        )?;
        println!("  {}", told());
        if self.latest() != Some((3, "deployed".to_owned())) || self.image() != databases::MARIADB[0] {
            bail!("the upgrade began without a backup");
        }
        self.apply(self.look, &secret("store", &self.store.login()))?;
        self.look.seen_within(
            A_WHILE,
            "the login is mended: the backup is taken, and the upgrade goes on",
            || self.latest() == Some((4, "deployed".to_owned())) && self.image() == databases::MARIADB[1],
        )?;
        let now = Rows::read(self.look)?;
        if now == *before { Ok(()) } else { bail!("the upgrade changed rows: {before} were {now}") }
    }

    fn by_the_clock(&self) -> Result<()> {
        let verified = r#"{.items[?(@.spec.origin.kind=="Schedule")].status.verified}"#;
        self.apply(
            self.look,
            &self.policy(&json!({"schedule": {"cron": "* * * * *"}, "retention": {"keepLast": 3}})),
        )?;
        self.look.seen_within(A_WHILE, "a backup by the clock is verified", || {
            self.look.value("backups", verified).contains("true")
        })?;
        self.look.patch(POLICY, r#"{"spec":{"schedule":{"suspend":true}}}"#)?;
        self.look.seen_within(A_WHILE, "and the schedule is paused", || {
            !self.phases("backups").contains("Running")
        })
    }

    fn change(&self, version: usize, broken: bool) -> Result<()> {
        let mut object = database(version);
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("schema".to_owned(), json!({"broken": broken}));
        }
        self.apply(self.look, &object)
    }

    fn image(&self) -> String {
        self.look.value("pod/shop-mariadb-0", "{.spec.containers[0].image}")
    }

    /// Names of those that a filter of JSONPath lets through.
    fn backups(&self, filter: &str) -> Vec<String> {
        let names = self.look.value("backups", &format!("{{.items[{filter}].metadata.name}}"));
        names.split_whitespace().map(str::to_owned).collect()
    }

    fn phases(&self, resource: &str) -> String {
        self.look.value(resource, "{.items[*].status.phase}")
    }

    fn latest(&self) -> Option<(u64, String)> {
        self.revisions().pop()
    }

    fn revisions(&self) -> Vec<(u64, String)> {
        let text = self.look.helm(&["history", RELEASE, "--output=json"]).unwrap_or_default();
        let revisions: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        let read =
            |one: &Value| Some((one.get("revision")?.as_u64()?, one.get("status")?.as_str()?.to_owned()));
        revisions.iter().filter_map(read).collect()
    }
}

/// The resource, with the old image or the new one.
fn database(version: usize) -> Value {
    let image = databases::MARIADB.get(version).copied().unwrap_or_default();
    let (repository, tag) = image.rsplit_once(':').unwrap_or((image, ""));
    json!({
        "apiVersion": "charts.example.com/v1alpha1", "kind": "MariaDB", "metadata": {"name": RELEASE},
        "spec": {
            "image": {"repository": repository, "tag": tag},
            "rootPasswordSecret": {"name": "shop-root", "key": "password"},
            "database": "shop",
        },
    })
}

fn secret(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}
