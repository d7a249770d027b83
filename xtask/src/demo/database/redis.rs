//! Redis by hand: its data put back while it serves; then the files of its claim, which are read while it is at rest and put back while
//! it is stopped.

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::databases;
use serde_json::{Value, json};

use super::{A_WHILE, BUSYBOX, Scene, secret};
use crate::demo::look::Look;
use crate::steps::say;

const FILL: &str = "for n = 1, 1000 do redis.call('HSET', 'player', n, 'Player ' .. n) end return redis.call('SET', 'visits', 7)";
const SPOIL: &str = "redis.call('FLUSHALL') return redis.call('SET', 'oops', 1)";
/// Over everything that is there.
const SUM: &str = "local all = redis.call('HGETALL', 'player') table.sort(all) local keys = redis.call('KEYS', '*') table.sort(keys) \
    return #all / 2 .. ' players, ' .. table.concat(keys, ' and ') .. ', ' .. redis.sha1hex(table.concat(all, ','))";

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    scene.apply(look, &secret("cache", &json!({"password": "a$word"})))?;
    scene.apply(look, &service())?;
    scene.apply(look, &server(1))?;
    serves(look)?;
    run(look, FILL)?;
    let before = run(look, SUM)?;
    while_it_serves(scene, &before)?;
    files(scene, &before)
}

fn serves(look: Look<'_>) -> Result<()> {
    look.seen_within(A_WHILE, "a Redis server serves", || {
        look.value("statefulset/cache", "{.status.readyReplicas}") == "1"
    })
}

fn while_it_serves(scene: &Scene<'_>, before: &str) -> Result<()> {
    let look = scene.look;
    let started = || look.value("pod/cache-0", "{.metadata.uid} {.status.containerStatuses[0].restartCount}");
    let same = started();
    back_up(
        scene,
        "cache",
        &json!({"strategy": {"job": {"preset": "redis", "image": image(), "parameters": {
        "host": "cache", "passwordSecret": {"name": "cache", "key": "password"}}}}}),
    )?;
    spoil(look, before)?;
    restore(scene, "cache")?;
    completed(look, "cache")?;
    expect(look, before)?;
    run(look, "return redis.call('SET', 'written', 1) and redis.call('DEL', 'written')")?;
    if started() != same {
        bail!("the server was not the same all the time: {same}, and now {}", started());
    }
    Ok(())
}

fn files(scene: &Scene<'_>, before: &str) -> Result<()> {
    let look = scene.look;
    let command = |words: &str| {
        json!({"selector": {"matchLabels": {"app": "cache"}}, "container": "redis",
            "command": ["sh", "-c", format!("REDISCLI_AUTH=\"$PASSWORD\" redis-cli {words}")]})
    };
    let claim = json!({"preset": "volume", "image": BUSYBOX, "parameters": {"claim": "data-cache-0"}});
    let quiesce = json!({"pre": [command("SAVE")], "post": [command("SET released 1")]});
    back_up(scene, "files", &json!({"strategy": {"job": claim}, "quiesce": quiesce}))?;
    if run(look, "return redis.call('DEL', 'released')")?.trim() != "1" {
        bail!("the command that releases the server was not run");
    }
    spoil(look, before)?;
    restore(scene, "files")?;
    look.seen_within(A_WHILE, "its files are not replaced while it runs", || {
        look.value("restores/files", "{.status.message}").contains("stop cache-0")
    })?;
    scene.apply(look, &server(0))?;
    completed(look, "files")?;
    scene.apply(look, &server(1))?;
    serves(look)?;
    expect(look, before)
}

fn back_up(scene: &Scene<'_>, name: &str, more: &Value) -> Result<()> {
    let look = scene.look;
    let mut plan =
        json!({"storage": scene.store.storage(), "verification": {"level": "Restore"}, "timeout": "10m"});
    if let (Some(plan), Some(more)) = (plan.as_object_mut(), more.as_object()) {
        plan.extend(more.clone());
    }
    let subject = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "cache"});
    scene.apply(
        look,
        &json!({"apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Backup",
        "metadata": {"name": name}, "spec": {"subject": subject, "plan": plan}}),
    )?;
    look.verified(A_WHILE, &format!("a backup of Redis by hand ({name}) is verified"), name)
}

fn restore(scene: &Scene<'_>, name: &str) -> Result<()> {
    scene.apply(
        scene.look,
        &json!({"apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Restore",
        "metadata": {"name": name}, "spec": {"backupRef": {"name": name}}}),
    )
}

fn completed(look: Look<'_>, name: &str) -> Result<()> {
    let restore = format!("restores/{name}");
    let phase = || look.value(&restore, "{.status.phase}");
    look.seen_within(A_WHILE, &format!("it is restored ({name})"), || {
        ["Completed", "Failed"].contains(&phase().as_str())
    })
    .with_context(|| look.value(&restore, "{.status.phase}: {.status.message}"))?;
    match phase().as_str() {
        "Completed" => Ok(()),
        _ => bail!("the restore failed: {}", look.value(&restore, "{.status.message}")),
    }
}

fn spoil(look: Look<'_>, before: &str) -> Result<()> {
    run(look, SPOIL)?;
    if run(look, SUM)? == before { bail!("nothing was lost") } else { Ok(()) }
}

fn expect(look: Look<'_>, before: &str) -> Result<()> {
    let now = run(look, SUM)?;
    if now != before {
        bail!("{before} were {now}");
    }
    say(&format!("everything of Redis is back: {}", now.trim()));
    Ok(())
}

/// What a script of Redis answers.
fn run(look: Look<'_>, script: &str) -> Result<String> {
    let client = r#"REDISCLI_AUTH="$PASSWORD" exec redis-cli EVAL "$0" 0"#;
    // Behind the dashes everything is the command's.
    let place = ["exec", "--namespace", look.namespace, "cache-0", "--", "sh", "-c", client, script];
    look.access.kubectl(&place)
}

fn image() -> &'static str {
    let [image, _] = databases::REDIS;
    image
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cache"},
        "spec": {"selector": {"app": "cache"}, "ports": [{"port": 6379}]}})
}

fn server(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "cache"},
        "spec": {
            "serviceName": "cache", "replicas": replicas, "selector": {"matchLabels": {"app": "cache"}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}],
            "template": {"metadata": {"labels": {"app": "cache"}}, "spec": {
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "redis", "image": image(), "args": ["--requirepass", "$(PASSWORD)"],
                    "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "cache", "key": "password"}}}],
                    "readinessProbe": {"tcpSocket": {"port": 6379}, "periodSeconds": 2},
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }],
            }},
        },
    })
}
