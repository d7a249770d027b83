//! The shipped definitions and the types are the same thing.

#[cfg(test)]
mod tests {
    use backup_api::{
        BackupPolicySpec, BackupSpec, DeletionPolicy, Duration, FailurePolicy, Level, Preset, Quantity,
        RestoreSpec, definition::definitions,
    };
    use definition::unstructural;
    use serde_json::{Value, json};

    const SHIPPED: [(&str, &str); 3] = [
        ("backuppolicies.yaml", include_str!("../../crds/backuppolicies.yaml")),
        ("backups.yaml", include_str!("../../crds/backups.yaml")),
        ("restores.yaml", include_str!("../../crds/restores.yaml")),
    ];

    #[test]
    fn the_shipped_definitions_are_those_the_types_give() {
        for ((file, definition), (shipped_as, shipped)) in definitions().into_iter().zip(SHIPPED) {
            assert_eq!(file, shipped_as);
            let generated = serde_saphyr::to_string(&definition).unwrap();
            // Both are long: that they differ is enough.
            assert!(
                generated == shipped,
                "{file} is not what the types give: run `cargo run -p backup-api --features schema --example backup-crds -- plugins/backup/crds`"
            );
        }
    }

    #[test]
    fn every_schema_is_structural_and_documented() {
        for (file, definition) in definitions() {
            let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            assert_eq!(unstructural(root), Vec::<String>::new(), "{file}");
            for part in ["spec", "status"] {
                for (name, property) in root["properties"][part]["properties"].as_object().unwrap() {
                    assert!(
                        property["description"].is_string(),
                        "{file}: {part}.{name} says nothing of itself"
                    );
                }
            }
        }
    }

    /// The fields that rules in CEL speak of without `has` are there in every object: they have defaults or are required.
    #[test]
    fn numbers_and_switches_have_defaults_in_the_schema() {
        let policy = &definitions()[0].1["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let spec = &policy["properties"]["spec"]["properties"];
        assert_eq!(spec["phases"]["default"], json!(["pre-upgrade"]));
        assert_eq!(spec["timeout"]["default"], json!("1h"));
        assert_eq!(spec["onFailure"]["default"], json!("Fail"));
        assert_eq!(spec["verification"]["default"]["level"], json!("Reread"));
        assert_eq!(spec["restore"]["default"]["setAside"], json!(true));
        assert_eq!(spec["retention"]["properties"]["keepLast"]["default"], json!(0));
        assert_eq!(spec["storage"]["properties"]["checksums"]["default"], json!(true));
    }

    #[test]
    fn a_policy_of_few_words_is_read_with_its_defaults() {
        let spec: BackupPolicySpec = serde_json::from_value(json!({
            "subjects": [{"apiGroup": "charts.example.com", "kind": "Shop", "name": "shop"}],
            "storage": {"url": "s3://bucket/backups", "credentialsSecret": "s3"},
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db", "passwordSecret": {"name": "db", "key": "password"}}}},
        }))
        .unwrap();
        assert_eq!(spec.phases, ["pre-upgrade"]);
        assert_eq!((spec.on_failure, spec.deletion_policy), (FailurePolicy::Fail, DeletionPolicy::Retain));
        assert_eq!((spec.timeout, spec.retries), (Duration::minutes(60), 6));
        assert_eq!(spec.verification.level, Level::Reread);
        assert!(spec.restore.set_aside && spec.restore.phase.is_none());
        assert_eq!(spec.storage.unwrap().max_size, Quantity(1 << 40));
        assert_eq!(spec.strategy.job.unwrap().preset, Some(Preset::MariaDb));
    }

    #[test]
    fn a_backup_by_hand_names_its_subject_and_its_policy() {
        let spec: BackupSpec = serde_json::from_value(json!({
            "subject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
            "policyRef": {"name": "nightly"},
        }))
        .unwrap();
        assert_eq!(spec.subject.group(), "apps");
        assert!(spec.plan.is_none() && spec.origin.is_none());
    }

    #[test]
    fn everything_that_is_written_is_read_back() {
        let policy = json!({
            "subjects": [{"apiGroup": "", "kind": "Service", "selector": {"matchLabels": {"a": "b"}}}],
            "phases": ["pre-upgrade", "pre-delete"], "onFailure": "Ignore", "weight": -5, "timeout": "2h",
            "retries": 1, "approval": true,
            "schedule": {"cron": "@daily", "timeZone": "Europe/Berlin", "jitter": "10m", "startingDeadline": "1h",
                "concurrencyPolicy": "Replace", "suspend": true},
            "retention": {"keepLast": 3, "maxAge": "4w", "hourly": 1, "daily": 2, "weekly": 3, "monthly": 4, "yearly": 5},
            "storage": {"virtualHosted": false, "checksums": true, "url": "file:///claims/backups/shop", "maxSize": "5Gi"},
            "strategy": {"job": {"image": "i", "parameters": {}, "template": {"spec": {"hostNetwork": false}},
                "output": "File", "restore": {"template": {}}}},
            "quiesce": {
                "pre": [{"selector": {"matchLabels": {"app": "db"}}, "container": "c", "command": ["freeze"], "timeout": "5s", "onError": "Fail"}],
                "post": [{"selector": {"matchLabels": {"app": "db"}}, "command": ["thaw"], "timeout": "30s", "onError": "Continue"}]},
            "encryption": {"age": {"recipients": ["age1x"], "identitySecret": {"name": "n", "key": "k"}}},
            "verification": {"level": "Restore", "trial": {"image": "t"}},
            "restore": {"phase": "post-rollback", "setAside": false},
            "deletionPolicy": "Delete",
        });
        assert_eq!(written_back::<BackupPolicySpec>(&policy), policy);
        let restore = json!({
            "backupRef": {"name": "b"}, "target": {"apiVersion": "v1", "kind": "Service", "name": "s"},
            "targetVersion": "1.2.3", "setAside": false, "force": true, "timeout": "30m", "retries": 0,
        });
        assert_eq!(written_back::<RestoreSpec>(&restore), restore);
    }

    fn written_back<T: serde::Serialize + serde::de::DeserializeOwned>(given: &Value) -> Value {
        let read: T = serde_json::from_value(given.clone()).unwrap();
        serde_json::to_value(read).unwrap()
    }
}
