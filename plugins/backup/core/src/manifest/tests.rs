use backup_api::{BackupPlan, BackupSpec, Step};
use jiff::Timestamp;
use serde_json::json;

use super::*;

mod postgresql;

const PRESETS: [&str; 6] = ["mysql", "mariadb", "postgresql", "mongodb", "redis", "volume"];

fn job(preset: &str) -> Value {
    json!({"preset": preset, "parameters": {"host": "db", "database": "shop", "user": "me", "claim": "data-db-0",
        "passwordSecret": {"name": "secret-of-db", "key": "password"}}})
}

fn made(
    plan: Value,
    make: impl Fn(&Order<'_>) -> Result<Vec<Value>, ManifestError>,
) -> Result<Vec<Value>, ManifestError> {
    let base = json!({"storage": {"url": "s3://bucket/backups", "credentialsSecret": "store"}});
    let plan: BackupPlan = serde_json::from_value(merge(base, &plan)).unwrap();
    let spec: BackupSpec = serde_json::from_value(json!({
        "subject": {"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "name": "example"},
        "policyRef": {"name": "nightly"},
    }))
    .unwrap();
    let run: Run = serde_json::from_value(json!({
        "step": Step::Data, "attempt": 2, "key": "shop/k", "since": Timestamp::UNIX_EPOCH,
        "artifact": {"uri": "u", "key": "shop/k", "size": 7, "sha256": "ab", "format": "tar", "takenAt": Timestamp::UNIX_EPOCH,
            "subject": spec.subject, "snapshots": {"c1": "b-dump-2-c1", "c2": "b-dump-2-c2"}},
    }))
    .unwrap();
    let settings = Settings { image: "host:1".to_owned() };
    let object = Object { namespace: "shop", name: "b", uid: "u", deleting: false, spec: &spec };
    make(&Order { object, plan: &plan, run: &run, settings: &settings })
}

fn dump_of(job: Value) -> Result<Value, ManifestError> {
    made(json!({"strategy": {"job": job}}), dump).map(|mut objects| objects.remove(0))
}

fn trial_of(preset: &str) -> Value {
    made(json!({"strategy": {"job": job(preset)}}), trial).unwrap().remove(0)
}

fn restore_of(job: &Value) -> Result<Value, ManifestError> {
    let job = serde_json::from_value(job.clone()).unwrap();
    restore_job(&JobOrder {
        namespace: "shop",
        restore: "r",
        name: "r-restore-1",
        job: &job,
        encryption: None,
        sha256: "ab",
        size: 7,
        host_image: "host:1",
        seconds: 60,
    })
}

fn all() -> Vec<(String, Value)> {
    PRESETS
        .into_iter()
        .flat_map(|preset| {
            let made = [dump_of(job(preset)).unwrap(), trial_of(preset), restore_of(&job(preset)).unwrap()];
            ["dump", "trial", "restore"]
                .into_iter()
                .zip(made)
                .map(move |(what, job)| (format!("{preset} {what}"), job))
        })
        .collect()
}

fn pod(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]
}

fn containers(job: &Value) -> Vec<&Value> {
    let list = |name: &str| pod(job)[name].as_array().cloned().map(|_| pod(job)[name].as_array().unwrap());
    ["initContainers", "containers"].into_iter().filter_map(list).flatten().collect()
}

fn script(job: &Value) -> &str {
    containers(job).into_iter().find_map(|container| container["command"][2].as_str()).unwrap()
}

#[test]
fn every_container_is_hardened_and_knows_nothing_of_the_cluster() {
    for (name, job) in all() {
        assert_eq!(pod(&job)["automountServiceAccountToken"], false, "{name}");
        assert_eq!(pod(&job)["restartPolicy"], "Never", "{name}");
        assert!(
            pod(&job)["securityContext"].get("fsGroup").is_none(),
            "{name}: files of a claim get another group"
        );
        assert_eq!(job["spec"]["backoffLimit"], 0, "{name}");
        assert!(job["spec"]["activeDeadlineSeconds"].as_u64().unwrap() > 0, "{name}");
        for container in containers(&job) {
            let security = &container["securityContext"];
            assert_eq!(security["capabilities"]["drop"], json!(["ALL"]), "{name}");
            assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
            assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
            // Only who reads or writes files of any owner is root, and in that container alone.
            let any_owner = name.starts_with("volume") && container["name"] != "transfer";
            assert!(security["runAsNonRoot"] == true || any_owner, "{name}: {container}");
        }
    }
}

#[test]
fn nothing_is_mounted_over_the_hosts_program() {
    for (name, job) in all() {
        for container in containers(&job) {
            for mount in container["volumeMounts"].as_array().unwrap() {
                assert_ne!(mount["mountPath"], "/pilothouse", "{name}: a container could not begin");
            }
        }
    }
}

#[test]
fn the_token_is_for_the_transfer_alone_and_the_password_for_the_databases_tools() {
    for (name, job) in all() {
        assert!(
            !job.to_string().contains("\"store\""),
            "{name}: the credentials of the storage are in the Job"
        );
        for container in containers(&job) {
            let text = container.to_string();
            let transfers = container["name"] == "transfer";
            assert_eq!(text.contains("pilothouse-token"), transfers, "{name}");
            assert!(!(transfers && text.contains("PASSWORD")), "{name}");
        }
    }
    for preset in PRESETS {
        let trial = trial_of(preset).to_string();
        assert!(
            !trial.contains("\"secret-of-db\"") && !trial.contains("data-db-0"),
            "{preset}: a trial knows the live database"
        );
    }
}

#[test]
fn scripts_have_no_pipelines_and_nothing_of_helm_or_of_parameters() {
    for (name, job) in all() {
        let script = script(&job);
        assert!(script.starts_with("set -eu\n"), "{name}");
        let no_pipeline =
            script.lines().all(|line| !line.replace("||", "").replace(": |-", "").contains('|'));
        assert!(no_pipeline && !script.contains("{{"), "{name}: {script}");
        for value in ["shop", "secret-of-db", "data-db-0"] {
            assert!(!script.contains(value), "{name}: {value} is in the script");
        }
        let checked = std::process::Command::new("sh").args(["-n", "-c", script]).output().unwrap();
        assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}

/// Runs the script of a Job with tools that end with these codes; gives its own code, what it wrote and what it told.
fn ran(job: &Value, tool: &str, code: i32, status: Option<&str>) -> (i32, String, String) {
    ran_with(job, tool, &format!("echo data of $PILOTHOUSE_HOST\nexit {code}\n"), status)
}

/// The same with a tool of these lines.
fn ran_with(job: &Value, tool: &str, lines: &str, status: Option<&str>) -> (i32, String, String) {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let place = std::env::temp_dir().join(format!("backup-{}-{number}", std::process::id()));
    std::fs::create_dir_all(place.join("bin")).unwrap();
    let told = place.join("status");
    match status {
        Some(status) => std::fs::write(&told, status).unwrap(),
        None => drop(std::fs::remove_file(&told)),
    }
    let program = place.join("bin").join(tool);
    std::fs::write(&program, format!("#!/bin/sh\n{lines}")).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(place.join("data"), "").unwrap();
    let here = format!("{}/", place.display());
    let script = script(job).replace("/exchange/", &here).replace("/scratch/", &here);
    let path = format!("{}:{}", place.join("bin").display(), std::env::var("PATH").unwrap());
    let ended = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("PATH", path)
        .env("PILOTHOUSE_HOST", "db; exit 0")
        .env("PILOTHOUSE_PORT", "1")
        .env("PILOTHOUSE_FORMAT", "postgresql-sql")
        .env("PILOTHOUSE_OUTPUT", place.join("data"))
        .env("PILOTHOUSE_INPUT", place.join("data"))
        .output()
        .unwrap();
    let written = std::fs::read_to_string(place.join("data")).unwrap();
    let told = std::fs::read_to_string(&told).unwrap_or_default();
    std::fs::remove_dir_all(&place).unwrap();
    (ended.status.code().unwrap(), written, told)
}

#[test]
fn a_dump_tells_with_what_code_it_ended_after_its_last_byte() {
    let dump = dump_of(job("mariadb")).unwrap();
    let (code, written, told) = ran(&dump, "mariadb-dump", 0, None);
    assert_eq!((code, written.as_str(), told.as_str()), (0, "data of db; exit 0\n", "0"));
    let (code, written, told) = ran(&dump, "mariadb-dump", 3, None);
    // Half of a dump was written: that it is no whole one is told.
    assert_eq!((code, written.is_empty(), told.as_str()), (3, false, "3"));
}

#[test]
fn users_that_come_with_all_databases_are_made_known_to_the_server() {
    for (preset, tool) in [("mariadb", "mariadb"), ("mysql", "mysql")] {
        let restore = restore_of(&json!({"preset": preset, "parameters": {"host": "db"}})).unwrap();
        let refuses = "case \"$*\" in *FLUSH*) exit 1 ;; esac\n";
        assert_eq!(ran_with(&restore, tool, refuses, Some("0")).0, 1, "{preset}: nobody was asked to");
        assert_eq!(ran_with(&restore, tool, "", Some("0")).0, 0, "{preset}");
    }
}

#[test]
fn a_restore_fails_if_its_input_was_cut_though_its_tool_saw_no_error() {
    let restore = restore_of(&job("mariadb")).unwrap();
    assert_eq!(ran(&restore, "mariadb", 0, Some("0")).0, 0);
    assert_ne!(ran(&restore, "mariadb", 0, Some("1")).0, 0);
    assert_ne!(ran(&restore, "mariadb", 1, Some("0")).0, 0);
}

#[test]
fn a_template_of_ones_own_runs_its_command_into_the_pipe() {
    let own = json!({"template": {"metadata": {"labels": {"team": "a"}}, "spec": {"nodeSelector": {"disk": "ssd"}, "containers": [
        {"name": "dump", "image": "own:1", "command": ["own-dump"], "args": ["--all"]}]}}});
    let dump = dump_of(own.clone()).unwrap();
    let container = &pod(&dump)["containers"][0];
    assert_eq!(container["image"], "own:1");
    let command: Vec<&str> =
        container["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!((&command[..2], &command[3..]), (&["/bin/sh", "-c"][..], &["dump", "own-dump", "--all"][..]));
    assert!(command[2].ends_with("\"$@\" > \"$PILOTHOUSE_OUTPUT\"\n") && container.get("args").is_none());
    assert_eq!(pod(&dump)["nodeSelector"]["disk"], "ssd");
    assert_eq!(dump["spec"]["template"]["metadata"]["labels"]["team"], "a");
    let file = dump_of(merge(own, &json!({"output": "File"}))).unwrap();
    assert!(script(&file).ends_with("\"$@\"\n"));
    assert!(pod(&file)["initContainers"].as_array().unwrap().is_empty());
    assert_eq!(pod(&file)["containers"][1]["args"][1], "--file");
}

#[test]
fn a_template_over_a_preset_keeps_its_script() {
    let over = merge(
        job("postgresql"),
        &json!({"template": {"spec": {"containers": [
        {"name": "dump", "env": [{"name": "PGSSLMODE", "value": "verify-full"}], "resources": {"limits": {"memory": "1Gi"}}},
        {"name": "more", "image": "more:1"}]}}}),
    );
    let dump = dump_of(over).unwrap();
    let container = &pod(&dump)["containers"][0];
    assert!(script(&dump).contains("pg_dump"));
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert!(container["env"].as_array().unwrap().iter().any(|variable| variable["name"] == "PGSSLMODE"));
    assert!(
        container["env"].as_array().unwrap().iter().any(|variable| variable["name"] == "PILOTHOUSE_HOST")
    );
    assert_eq!(pod(&dump)["containers"].as_array().unwrap().len(), 3);
}

#[test]
fn a_template_that_takes_what_is_not_its_own_is_refused_with_its_place() {
    let with = |spec: Value| dump_of(json!({"template": {"spec": spec}})).unwrap_err().to_string();
    let dump = json!({"name": "dump", "image": "i", "command": ["c"]});
    for (spec, said) in [
        (
            json!({"restartPolicy": "Always", "containers": [dump]}),
            "strategy.job.template.spec.restartPolicy",
        ),
        (json!({"containers": [dump, {"name": "transfer"}]}), "strategy.job.template.spec.containers"),
        (json!({"initContainers": [{"name": "pipe"}], "containers": [dump]}), "the name pipe is taken"),
        (json!({"volumes": [{"name": "pilothouse-token"}], "containers": [dump]}), "is taken"),
        (
            json!({"containers": [dump, {"name": "x", "volumeMounts": [{"name": "pilothouse-token", "mountPath": "/t"}]}]}),
            "alone",
        ),
        (json!({"containers": [{"name": "dump", "image": "i"}]}), "has to have a command"),
        (json!({"containers": [{"name": "dump", "command": ["c"]}]}), "say the image"),
    ] {
        let told = with(spec.clone());
        assert!(told.contains(said), "{spec}: {told}");
    }
}

#[test]
fn what_kubernetes_would_expand_in_a_parameter_stays_as_it_is() {
    let odd = merge(job("mariadb"), &json!({"parameters": {"database": "a$(HOME)"}}));
    let dump = dump_of(odd).unwrap();
    let variables = pod(&dump)["containers"][0]["env"].as_array().unwrap();
    let database = variables.iter().find(|variable| variable["name"] == "PILOTHOUSE_DATABASE").unwrap();
    assert_eq!(database["value"], "a$$(HOME)");
}

#[test]
fn keys_of_age_are_with_the_transfer_and_only_the_private_one_comes_by_a_secret() {
    let age =
        json!({"age": {"recipients": ["age1abc"], "identitySecret": {"name": "keys", "key": "private"}}});
    let plan = json!({"strategy": {"job": job("mariadb")}, "encryption": age});
    let dump = made(plan.clone(), dump).unwrap().remove(0);
    assert!(pod(&dump)["containers"][1]["args"].to_string().contains("age1abc"));
    assert!(!dump.to_string().contains("\"keys\""), "a dump needs no private key");
    let trial_job = made(plan.clone(), trial).unwrap().remove(0);
    assert!(trial_job.to_string().contains("\"keys\"") && trial_job.to_string().contains("--identity"));
    let without = merge(plan, &json!({"encryption": {"age": {"identitySecret": null}}}));
    let error = made(without, trial).unwrap_err().to_string();
    assert!(error.starts_with("encryption.age.identitySecret"), "{error}");
}

#[test]
fn a_snapshot_of_etcd_is_ordered_in_the_etcd_plugins_words() {
    let of = |storage: Value| {
        let plan = json!({"strategy": {"etcd": {}}, "storage": storage, "timeout": "10m"});
        made(plan, dump).map(|mut objects| objects.remove(0)["spec"].take())
    };
    let spec = of(json!({"url": "s3+https://minio:9000/bucket/pre/", "authoritiesSecret": {"name": "ca", "key": "ca.crt"}, "checksums": false})).unwrap();
    assert_eq!(
        spec,
        json!({
            "storageType": "S3",
            "s3": {"path": "bucket/pre/shop/k", "awsSecret": "store", "endpoint": "https://minio:9000",
                "forcePathStyle": true, "withoutChecksums": true, "caSecret": "ca"},
            "etcdCluster": {"name": "example"},
            "backupPolicy": {"timeoutInSecond": 600, "verification": "Hash"},
        })
    );
    assert_eq!(of(json!({"url": "gs://bucket"})).unwrap()["gcs"]["path"], "bucket/shop/k");
    for (url, abs) in [
        (
            "az://account7/box/pre",
            json!({"path": "box/pre/shop/k", "endpoint": "", "storageAccount": "account7"}),
        ),
        ("az+https://azure:1/ACCOUNT/box", json!({"path": "box/shop/k", "endpoint": "https://azure:1"})),
    ] {
        let spec = of(json!({"url": url})).unwrap();
        assert_eq!(
            (&spec["storageType"], &spec["abs"]),
            (&json!("ABS"), &merge(abs, &json!({"absSecret": "store"})))
        );
    }
    assert_eq!(
        of(json!({"url": "s3://bucket", "virtualHosted": true})).unwrap()["s3"]["forcePathStyle"],
        false
    );
    for (storage, said) in [
        (json!({"url": "file:///var/backups"}), "storage.url"),
        (json!({"url": "az://account7"}), "storage.url"),
        (json!({"region": "eu-1"}), "storage.region"),
        (json!({"authoritiesSecret": {"name": "ca", "key": "pem"}}), "storage.authoritiesSecret.key"),
    ] {
        let error = of(storage).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn snapshots_of_volumes_are_of_the_claims_that_were_written_down() {
    let plan =
        json!({"storage": null, "strategy": {"volumeSnapshot": {"claims": ["c1", "c2"], "class": "fast"}}});
    let objects = made(plan.clone(), dump).unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["metadata"]["name"], "b-dump-2-c1");
    assert_eq!(
        objects[0]["spec"],
        json!({"source": {"persistentVolumeClaimName": "c1"}, "volumeSnapshotClassName": "fast"})
    );
    made(plan, |order| {
        let names = names(order, Role::Dump);
        assert_eq!(
            (names.len(), names[1].name.as_str(), names[1].kind),
            (2, "b-dump-2-c2", "VolumeSnapshot")
        );
        Ok(Vec::new())
    })
    .unwrap();
}

#[test]
fn data_is_put_back_into_a_server_or_into_a_claim() {
    let restore = restore_of(&job("mariadb")).unwrap();
    assert!(pod(&restore)["containers"][1]["args"].to_string().contains("--sha256"));
    let restore = restore_of(&job("volume")).unwrap();
    let mounts = pod(&restore)["containers"][0]["volumeMounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["mountPath"] == "/data" && mount["readOnly"] == false));
    let without = merge(job("volume"), &json!({"parameters": {"claim": null}}));
    assert!(restore_of(&without).unwrap_err().to_string().contains("claim"));
}
