//! The host is killed between any two writes, and the next one finishes what it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};
use crate::proxy::{Act, Asked, Fault, Proxy, nth};
use crate::release::{Node, small, with_backup};

/// A namespace with a project behind a proxy, and the node that runs its hooks.
struct Stage {
    bench: Bench,
    proxy: Proxy,
    place: Place,
    _node: Node,
}

async fn stage(namespace: &str) -> Option<Stage> {
    let bench = Bench::new(namespace).await?;
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(namespace, &proxy.kubeconfig());
    let node = bench.node();
    Some(Stage { bench, proxy, place, _node: node })
}

impl Place {
    /// Starts a host that is killed when the answer of the n-th write that fits is on its way.
    pub(crate) fn start_to_be_killed(
        &self,
        proxy: &Proxy,
        n: usize,
        fits: impl Fn(&Asked) -> bool + Send + 'static,
    ) -> (Host, Arc<AtomicBool>) {
        let killer: Arc<Mutex<Option<Act>>> = Arc::default();
        let killed = Arc::new(AtomicBool::new(false));
        let (given, flag) = (Arc::clone(&killer), Arc::clone(&killed));
        let kill = move || {
            if let Some(kill) = &*given.lock().unwrap() {
                kill();
                flag.store(true, Ordering::SeqCst);
            }
        };
        proxy.script(nth(n, Fault::Then(Arc::new(kill)), move |asked: &Asked| asked.writes() && fits(asked)));
        // Held until the host is known: it must not get to its n-th write before that.
        let mut slot = killer.lock().unwrap();
        let host = self.start();
        *slot = Some(host.killer());
        drop(slot);
        (host, killed)
    }
}

impl Stage {
    /// The same for the writes for a release.
    fn start_to_be_killed(&self, release: &str, n: usize) -> (Host, Arc<AtomicBool>) {
        let name = release.to_owned();
        self.place.start_to_be_killed(&self.proxy, n, move |asked| asked.names(&name))
    }

    /// Waits until the host was killed, or the release rests at the last of these revisions without that. The write
    /// that says so may be the one that kills, and others may follow it: only what rests when all is quiet has survived.
    async fn killed_or_done(&self, release: &str, killed: &AtomicBool, revision: u64) -> bool {
        let seen = await_that(format!("{release} ends one way or the other"), async || {
            if killed.load(Ordering::SeqCst) {
                return Ok(true);
            }
            let object = self.bench.object("player-stats", release).await?;
            if at_rest(&object, revision) { Ok(false) } else { Err(object["status"].to_string()) }
        });
        if seen.await.0 {
            return true;
        }
        self.proxy.settle().await;
        killed.load(Ordering::SeqCst)
    }

    /// Waits until the object says that it is at rest, then looks at everything that can have gone wrong.
    async fn check(&self, release: &str, what: &str, revision: u64) {
        let object = await_that(format!("{what}: {release} is deployed as wanted"), async || {
            let object = self.bench.object("player-stats", release).await?;
            if at_rest(&object, revision) { Ok(object) } else { Err(object["status"].to_string()) }
        });
        let object = object.await.0;
        let last = object["status"]["release"]["revision"].as_u64().unwrap();
        let revisions = self.bench.revisions(release).await;
        let numbers: Vec<u64> = revisions.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{what}: {revisions:?}");
        let deployed = revisions.iter().filter(|(_, status)| status == "deployed").count();
        let pending = revisions.iter().filter(|(_, status)| status.starts_with("pending")).count();
        assert_eq!((deployed, pending), (1, 0), "{what}: {revisions:?}");
        assert_eq!(last, revision, "{what} was not carried on but begun anew: {revisions:?}");
        let history = self.bench.history(release).await;
        assert_eq!(history.last(), Some(&(last, "deployed".to_owned())), "{what}: {history:?}");
    }
}

/// Whether the object's status says that this generation is deployed, as this revision or a later one.
fn at_rest(object: &Value, revision: u64) -> bool {
    let status = &object["status"];
    let ready = status["conditions"].as_array().into_iter().flatten().any(|condition| {
        condition["type"] == "Deployed"
            && condition["status"] == "True"
            && condition["observedGeneration"] == object["metadata"]["generation"]
    });
    ready && status["release"]["revision"].as_u64().is_some_and(|now| now >= revision)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_after_any_write_of_an_install_leaves_work_that_the_next_one_finishes() {
    let Some(stage) = stage("crash-install").await else { return };
    let mut writes = 0;
    for n in 1.. {
        let release = format!("game-{n:02}");
        let (host, killed) = stage.start_to_be_killed(&release, n);
        stage.bench.make("player-stats", &release, with_backup(1)).await;
        let was_killed = stage.killed_or_done(&release, &killed, 1).await;
        drop(host);
        stage.proxy.heal();
        if !was_killed {
            break;
        }
        let _next = stage.place.start();
        stage.check(&release, &format!("killed after write {n} of the install"), 1).await;
        writes = n;
    }
    println!("killed after each of {writes} writes of an install");
    assert!(writes >= 8, "an install has more writes than {writes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_after_any_write_of_an_upgrade_leaves_work_that_the_next_one_finishes() {
    let Some(stage) = stage("crash-upgrade").await else { return };
    // One release for each write that there may be, installed beforehand.
    const MOST: usize = 30;
    let name = |n: usize| format!("game-{n:02}");
    {
        let _host = stage.place.start();
        for n in 1..=MOST {
            stage.bench.make("player-stats", &name(n), with_backup(1)).await;
        }
        for n in 1..=MOST {
            stage.check(&name(n), "install", 1).await;
        }
    }
    let mut writes = 0;
    for n in 1..=MOST {
        let release = name(n);
        let (host, killed) = stage.start_to_be_killed(&release, n);
        stage.bench.respec("player-stats", &release, json!({"replicaCount": 2})).await;
        let was_killed = stage.killed_or_done(&release, &killed, 2).await;
        drop(host);
        stage.proxy.heal();
        if !was_killed {
            break;
        }
        let _next = stage.place.start();
        stage.check(&release, &format!("killed after write {n} of the upgrade"), 2).await;
        stage.bench.await_replicas(&format!("{release}-player-stats"), 2).await;
        writes = n;
    }
    println!("killed after each of {writes} writes of an upgrade");
    assert!((8..MOST).contains(&writes), "{writes} writes in an upgrade");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_after_any_write_of_a_rollback_leaves_work_that_the_next_one_finishes() {
    let Some(stage) = stage("crash-rollback").await else { return };
    const MOST: usize = 20;
    let name = |n: usize| format!("game-{n:02}");
    {
        let _host = stage.place.start();
        for revision in 1..=2 {
            for n in 1..=MOST {
                match revision {
                    1 => stage.bench.make("player-stats", &name(n), small(1)).await,
                    _ => stage.bench.respec("player-stats", &name(n), small(2)).await,
                }
            }
            for n in 1..=MOST {
                stage.check(&name(n), &format!("revision {revision}"), revision).await;
            }
        }
    }
    let mut writes = 0;
    for n in 1..=MOST {
        let release = name(n);
        let (host, killed) = stage.start_to_be_killed(&release, n);
        let back = json!({"metadata": {"annotations": {"helm.pilothouse.dev/rollback-to": "1"}}});
        stage.bench.merge(&stage.bench.path("player-stats", &release), &back).await;
        let was_killed = stage.killed_or_done(&release, &killed, 3).await;
        drop(host);
        stage.proxy.heal();
        if !was_killed {
            break;
        }
        let _next = stage.place.start();
        stage.check(&release, &format!("killed after write {n} of the rollback"), 3).await;
        stage.bench.await_replicas(&format!("{release}-player-stats"), 1).await;
        writes = n;
    }
    println!("killed after each of {writes} writes of a rollback");
    assert!((5..MOST).contains(&writes), "{writes} writes in a rollback");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_killed_after_any_write_of_an_uninstall_leaves_nothing_once_the_next_one_is_there() {
    let Some(stage) = stage("crash-uninstall").await else { return };
    const MOST: usize = 16;
    let name = |n: usize| format!("game-{n:02}");
    {
        let _host = stage.place.start();
        for n in 1..=MOST {
            stage.bench.make("player-stats", &name(n), with_backup(1)).await;
        }
        for n in 1..=MOST {
            stage.check(&name(n), "install", 1).await;
        }
    }
    let mut writes = 0;
    for n in 1..=MOST {
        let release = name(n);
        let (host, killed) = stage.start_to_be_killed(&release, n);
        let path = stage.bench.path("player-stats", &release);
        stage.bench.delete(&path).await;
        let ended = await_that("the host was killed, or the object is gone", async || {
            let gone = stage.bench.get(&path).await.is_err();
            if gone || killed.load(Ordering::SeqCst) { Ok(()) } else { Err("neither".to_owned()) }
        });
        ended.await;
        stage.proxy.settle().await;
        drop(host);
        stage.proxy.heal();
        if !killed.load(Ordering::SeqCst) {
            break;
        }
        let _next = stage.place.start();
        await_that(format!("killed after write {n} of the uninstall: nothing is left"), async || {
            let mut left = Vec::new();
            for resource in ["player-stats", "deployments", "services", "serviceaccounts", "secrets"] {
                let list = stage.bench.get(&stage.bench.path(resource, "")).await?;
                let names = list["items"].as_array().cloned().unwrap_or_default();
                let names =
                    names.iter().filter_map(|o| o["metadata"]["name"].as_str().map(ToOwned::to_owned));
                left.extend(names.filter(|name| name.contains(&release)));
            }
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
        writes = n;
    }
    println!("killed after each of {writes} writes of an uninstall");
    assert!((5..MOST).contains(&writes), "{writes} writes in an uninstall");
}
