//! What a person asks at a command line.

use backup_plugin::command::run;
use pilothouse_sdk::{
    CommandAnswer, Gvk, Invocation, ObjectRef,
    harness::{Cluster, StoreFault},
};
use serde_json::{Value, json};

const STORE: &str = "s3://backups/all";
const KEY: &str = "shop/Database.example.com/db/20260110T020304Z-0123abcd";

fn cluster() -> Cluster {
    let cluster = Cluster::new();
    for text in [include_str!("../../crds/backuppolicies.yaml"), include_str!("../../crds/backups.yaml")] {
        cluster.define(&serde_saphyr::from_str::<Value>(text).unwrap()).unwrap();
    }
    for name in ["shop", "restored", "lab"] {
        let login = json!({"access-key-id": "a2V5", "secret-access-key": "a2V5"});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "new", "namespace": name}, "data": login});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        cluster.create([namespace, secret]).unwrap();
    }
    cluster
}

fn entry(name: &str, key: &str) -> Value {
    let subject = json!({"apiVersion": "example.com/v1", "kind": "Database", "name": "db"});
    json!({
        "version": 1, "name": name, "namespace": "shop", "subject": subject, "policy": "nightly",
        "origin": {"kind": "Lifecycle", "change": "v7-93b1", "phase": "pre-upgrade"},
        "plan": {
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}},
            "storage": {"url": "s3://lost/prefix", "credentialsSecret": "old"},
        },
        "artefact": {
            "uri": format!("s3://lost/prefix/{key}"), "key": key, "size": 4, "sha256": "0".repeat(64), "format": "mariadb-sql",
            "subject": subject, "change": "v7-93b1", "takenAt": "2026-01-10T02:03:04Z",
        },
    })
}

/// A storage with one artefact.
fn stored(cluster: &Cluster) {
    cluster.store(STORE, KEY, "data");
    cluster.store(STORE, &format!("{KEY}.json"), entry("db-1", KEY).to_string());
}

fn ask(cluster: &Cluster, command: &str, options: &Value) -> CommandAnswer {
    run(cluster.host("backup"), Invocation { name: command.to_owned(), options: options.to_string() })
}

fn answer(cluster: &Cluster, command: &str, options: &Value) -> Value {
    let answer = ask(cluster, command, options);
    assert_eq!(answer.failure, None);
    serde_json::from_slice(&answer.output).unwrap()
}

fn import(cluster: &Cluster, more: &Value) -> Value {
    let mut options =
        json!({"namespace": "shop", "storage": {"url": STORE, "credentialsSecret": "new"}, "dryRun": false});
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    answer(cluster, "import", &options)
}

fn backup(cluster: &Cluster, namespace: &str, name: &str) -> Option<Value> {
    let kind = Gvk::new("backup.pilothouse.dev", "v1alpha1", "Backup");
    cluster.kubectl().get_ref(&ObjectRef::new(kind, namespace, name)).unwrap()
}

#[test]
fn what_a_storage_tells_of_becomes_backups_again_that_are_verified_as_they_were() {
    let cluster = cluster();
    stored(&cluster);
    let found = import(&cluster, &json!({}));
    assert_eq!(found["rows"][0]["outcome"], "Imported", "{found}");
    assert_eq!(found["rows"][0]["name"], "db-1");
    let made = backup(&cluster, "shop", "db-1").unwrap();
    assert_eq!(made["spec"]["origin"]["kind"], "Import");
    assert_eq!(made["spec"]["plan"]["storage"]["credentialsSecret"], "new", "of the storage that was named");
    assert_eq!((&made["status"]["phase"], &made["status"]["verified"]), (&json!("Completed"), &json!(true)));
    assert_eq!(made["status"]["artifact"]["uri"], format!("{STORE}/{KEY}"));
    assert_eq!(made["status"]["artifact"]["change"], "v7-93b1", "a rollback finds it by its change");

    let again = import(&cluster, &json!({}));
    assert_eq!(again["rows"][0]["outcome"], "Present");
    let listed = answer(&cluster, "backups", &json!({"namespace": "shop"}));
    assert_eq!((&listed[0]["name"], &listed[0]["verified"]), (&json!("db-1"), &json!(true)));
    assert_eq!(listed[0]["change"], "v7-93b1");
}

#[test]
fn only_looking_makes_nothing() {
    let cluster = cluster();
    stored(&cluster);
    assert_eq!(import(&cluster, &json!({"dryRun": true}))["rows"][0]["outcome"], "Importable");
    assert!(backup(&cluster, "shop", "db-1").is_none());
    assert!(cluster.writes().is_empty());
}

#[test]
fn an_import_that_was_cut_between_the_object_and_its_status_is_finished_by_the_next_one() {
    let cluster = cluster();
    stored(&cluster);
    import(&cluster, &json!({}));
    let mut half = backup(&cluster, "shop", "db-1").unwrap();
    let fresh = self::cluster();
    stored(&fresh);
    half.as_object_mut().unwrap().remove("status");
    half["metadata"] = json!({"name": "db-1", "namespace": "shop"});
    fresh.create([half]).unwrap();
    assert_eq!(import(&fresh, &json!({}))["rows"][0]["outcome"], "Imported");
    assert_eq!(backup(&fresh, "shop", "db-1").unwrap()["status"]["phase"], "Completed");
}

#[test]
fn a_backup_of_something_else_is_not_written_over() {
    let cluster = cluster();
    stored(&cluster);
    let other = "shop/Database.example.com/db/20260111T020304Z-0123abcd";
    cluster.store(STORE, other, "more");
    cluster.store(STORE, &format!("{other}.json"), entry("db-1", other).to_string());
    let found = import(&cluster, &json!({}));
    assert_eq!(
        (&found["rows"][0]["outcome"], &found["rows"][1]["outcome"]),
        (&json!("Imported"), &json!("Refused"))
    );
    let message = found["rows"][1]["message"].as_str().unwrap();
    assert!(message.contains("is of something else"), "{message}");
    assert_eq!(
        backup(&cluster, "shop", "db-1").unwrap()["status"]["artifact"]["key"],
        other,
        "the newest first"
    );
}

#[test]
fn what_is_not_whole_or_cannot_be_read_is_told_and_the_rest_imported() {
    let cluster = cluster();
    stored(&cluster);
    let at = |day: u32| format!("shop/Database.example.com/db/202602{day:02}T020304Z-0123abcd");
    cluster.store(STORE, &format!("{}.json", at(1)), entry("gone", &at(1)).to_string());
    cluster.store(STORE, &at(2), "longer than it was");
    cluster.store(STORE, &format!("{}.json", at(2)), entry("longer", &at(2)).to_string());
    cluster.store(STORE, &at(3), "data");
    cluster.store(STORE, &format!("{}.json", at(3)), "{\"version\":1");
    cluster.store(STORE, &at(4), "data");
    cluster.store(STORE, &format!("{}.json", at(4)), "{\"version\":2}");
    // Never was whole, and something else's.
    cluster.store(STORE, &at(5), "data");
    cluster.store(STORE, "notes.json", "{}");
    let found = import(&cluster, &json!({}));
    let told: Vec<(&str, &str)> = found["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["outcome"].as_str().unwrap(), row["message"].as_str().unwrap()))
        .collect();
    assert_eq!(told.len(), 5, "{told:?}");
    for (index, words) in [
        (0, "version 2"),
        (1, "no entry of a catalogue"),
        (2, "18 bytes, and its entry tells of 4"),
        (3, "the artefact is not"),
    ] {
        assert!(told[index].0 == "Refused" && told[index].1.contains(words), "{:?}", told[index]);
    }
    assert_eq!(told[4].0, "Imported");
}

#[test]
fn artefacts_of_another_namespace_are_imported_when_that_is_named() {
    let cluster = cluster();
    stored(&cluster);
    let found = import(&cluster, &json!({"namespace": "restored"}));
    assert_eq!((found["rows"].as_array().unwrap().len(), &found["others"]), (0, &json!(["shop"])));
    let found = import(&cluster, &json!({"namespace": "restored", "from": "shop", "subject": "database/db"}));
    assert_eq!(found["rows"][0]["outcome"], "Imported");
    assert!(backup(&cluster, "restored", "db-1").is_some() && backup(&cluster, "shop", "db-1").is_none());
    let none =
        import(&cluster, &json!({"namespace": "restored", "from": "shop", "subject": "Database/other"}));
    assert_eq!(none["rows"], json!([]));
}

#[test]
fn the_storage_of_a_policy_is_taken_from_it() {
    let cluster = cluster();
    stored(&cluster);
    let options = json!({"namespace": "shop", "policy": "nightly", "dryRun": true});
    let missing = ask(&cluster, "import", &options).failure.unwrap();
    assert_eq!(missing, "there is no BackupPolicy nightly in the namespace shop");
    let policy = json!({
        "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "BackupPolicy",
        "metadata": {"name": "nightly", "namespace": "shop"},
        "spec": {
            "subjects": [{"apiGroup": "example.com", "kind": "Database"}],
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}}, "storage": {"url": STORE},
        },
    });
    cluster.create([policy]).unwrap();
    assert_eq!(answer(&cluster, "import", &options)["rows"][0]["outcome"], "Importable");
}

#[test]
fn a_storage_that_does_not_answer_is_told_and_nothing_made() {
    let cluster = cluster();
    stored(&cluster);
    cluster.fail_store(StoreFault::unavailable());
    let options = json!({"namespace": "shop", "storage": {"url": STORE}, "dryRun": false});
    assert!(ask(&cluster, "import", &options).failure.is_some());
    assert!(cluster.writes().is_empty());
}

#[test]
fn backups_are_listed_by_policy_and_subject() {
    let cluster = cluster();
    let backup = |namespace: &str, name: &str, policy: &str, subject: &str| {
        json!({
            "apiVersion": "backup.pilothouse.dev/v1alpha1", "kind": "Backup",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "subject": {"apiVersion": "example.com/v1", "kind": "Database", "name": subject},
                "policyRef": {"name": policy},
            },
        })
    };
    cluster
        .create([
            backup("shop", "a", "nightly", "db"),
            backup("shop", "b", "hourly", "db"),
            backup("lab", "c", "nightly", "x"),
        ])
        .unwrap();
    let names = |options: Value| -> Vec<String> {
        let rows = answer(&cluster, "backups", &options);
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(json!({})), ["c", "a", "b"]);
    assert_eq!(names(json!({"namespace": "shop"})), ["a", "b"]);
    assert_eq!(names(json!({"policy": "nightly"})), ["c", "a"]);
    assert_eq!(names(json!({"subject": "DATABASE/db", "policy": "hourly"})), ["b"]);
}

#[test]
fn what_nobody_knows_is_said_to_be_unknown() {
    let cluster = cluster();
    assert!(ask(&cluster, "restore", &json!({})).failure.unwrap().contains("knows no command \"restore\""));
    assert!(ask(&cluster, "backups", &json!({"nameSpace": "x"})).failure.unwrap().contains("nameSpace"));
}
