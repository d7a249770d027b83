//! The same of PostgreSQL by hand: a backup, rows that are lost, a restore. Once of one database, kept in a claim; once of all with
//! their roles.

use anyhow::{Result, bail};
use pilothouse_testbed::databases;
use serde_json::{Value, json};

use super::{A_WHILE, Scene, secret};
use crate::demo::{claim, look::Look};
use crate::steps::say;

const FILL: &str = "CREATE TABLE visit (id int PRIMARY KEY, page text NOT NULL, at timestamptz DEFAULT now()); \
    INSERT INTO visit SELECT n, 'Page ' || n FROM generate_series(1, 1000) n; CREATE ROLE reader LOGIN; GRANT SELECT ON visit TO reader;";
const SPOIL: &str = "DELETE FROM visit WHERE id % 2 = 0; ALTER TABLE visit DROP COLUMN page;";
/// Over whole rows, and who may read them.
const SUM: &str = "SELECT count(*), md5(string_agg(v::text, ',' ORDER BY id)), has_table_privilege('reader', 'visit', 'SELECT') FROM visit v";

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(scene: &Scene<'_>) -> Result<()> {
    let look = scene.look;
    scene.apply(look, &secret("stats", &json!({"password": super::rows::PASSWORD})))?;
    scene.apply(look, &service())?;
    scene.apply(look, &server())?;
    look.seen_within(A_WHILE, "a PostgreSQL server serves", || {
        look.value("statefulset/stats", "{.status.readyReplicas}") == "1"
    })?;
    sql(look, FILL)?;
    let before = sql(look, SUM)?;
    let claim = json!({"url": claim::url(look.namespace)});
    for (name, database, storage) in [("one", Some("stats"), claim), ("all", None, scene.store.storage())] {
        scene.apply(look, &backup(name, database, &storage))?;
        there_and_back(scene, name, &before)?;
    }
    Ok(())
}

fn there_and_back(scene: &Scene<'_>, name: &str, before: &str) -> Result<()> {
    let look = scene.look;
    look.verified(A_WHILE, &format!("a backup of PostgreSQL by hand ({name}) is verified"), name)?;
    say(&look.value(&format!("backups/{name}"), "{.status.artifact.uri}"));
    sql(look, SPOIL)?;
    if sql(look, SUM)? == before {
        bail!("nothing was lost");
    }
    let restore = json!({"backupRef": {"name": name}});
    scene.apply(
        look,
        &json!({"apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Restore",
        "metadata": {"name": name}, "spec": restore}),
    )?;
    let ended = || look.value(&format!("restores/{name}"), "{.status.phase}");
    look.seen_within(A_WHILE, &format!("it is restored ({name})"), || {
        ["Completed", "Failed"].contains(&ended().as_str())
    })?;
    let now = sql(look, SUM)?;
    if ended() != "Completed" || now != before {
        bail!("{}: {before} were {now}", look.value(&format!("restores/{name}"), "{.status.message}"));
    }
    say(&format!("every row of PostgreSQL is back: {}", now.trim()));
    Ok(())
}

fn backup(name: &str, database: Option<&str>, storage: &Value) -> Value {
    let [image, _] = databases::POSTGRESQL;
    let mut parameters = json!({"host": "stats", "passwordSecret": {"name": "stats", "key": "password"}});
    if let (Some(database), Some(fields)) = (database, parameters.as_object_mut()) {
        fields.insert("database".to_owned(), json!(database));
    }
    json!({
        "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Backup", "metadata": {"name": name},
        "spec": {
            "subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "stats"},
            "plan": {
                "storage": storage,
                "strategy": {"job": {"preset": "postgresql", "image": image, "parameters": parameters}},
                "verification": {"level": "Restore"},
                "timeout": "10m",
            },
        },
    })
}

fn service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "stats"},
        "spec": {"selector": {"app": "stats"}, "ports": [{"port": 5432}]}})
}

fn server() -> Value {
    let [image, _] = databases::POSTGRESQL;
    let directories = [("data", "/var/lib/postgresql/data"), ("run", "/run/postgresql"), ("tmp", "/tmp")];
    let mounts: Vec<Value> =
        directories.iter().map(|(name, path)| json!({"name": name, "mountPath": path})).collect();
    let volumes: Vec<Value> =
        directories.iter().map(|(name, _)| json!({"name": name, "emptyDir": {}})).collect();
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "stats"},
        "spec": {
            "serviceName": "stats", "selector": {"matchLabels": {"app": "stats"}},
            "template": {"metadata": {"labels": {"app": "stats"}}, "spec": {
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "postgresql", "image": image,
                    "env": [
                        {"name": "POSTGRES_DB", "value": "stats"},
                        {"name": "POSTGRES_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "stats", "key": "password"}}},
                    ],
                    "readinessProbe": {"exec": {"command": ["pg_isready", "--host=127.0.0.1"]}, "periodSeconds": 2},
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": mounts,
                }],
                "volumes": volumes,
            }},
        },
    })
}

fn sql(look: Look<'_>, statement: &str) -> Result<String> {
    let client = r#"PGPASSWORD="$POSTGRES_PASSWORD" exec psql --host=127.0.0.1 --username=postgres --dbname=stats --no-psqlrc --quiet --no-align --tuples-only --set=ON_ERROR_STOP=1 --command="$0""#;
    // Behind the dashes everything is the command's.
    let place = ["exec", "--namespace", look.namespace, "stats-0", "--", "sh", "-c", client, statement];
    look.access.kubectl(&place)
}
