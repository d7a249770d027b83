//! The shipped definitions and the types are the same thing.

#[cfg(test)]
mod tests {
    use etcd_api::{
        BackupStatus, ClusterStatus, EtcdBackupSpec, EtcdClusterSpec, EtcdRestoreSpec, Phase, StorageType,
        definition::definitions, names,
    };
    use serde_json::{Value, json};

    const SHIPPED: [(&str, &str); 3] = [
        ("etcdclusters.yaml", include_str!("../../crds/etcdclusters.yaml")),
        ("etcdbackups.yaml", include_str!("../../crds/etcdbackups.yaml")),
        ("etcdrestores.yaml", include_str!("../../crds/etcdrestores.yaml")),
    ];

    fn spec_of(file: &str) -> Value {
        let definition = definitions().into_iter().find(|(name, _)| *name == file).unwrap().1;
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
    }

    #[test]
    fn the_shipped_definitions_are_those_the_types_give() {
        for ((file, definition), (shipped_as, shipped)) in definitions().into_iter().zip(SHIPPED) {
            assert_eq!(file, shipped_as);
            let generated = serde_saphyr::to_string(&definition).unwrap();
            // Both are long: that they differ is enough.
            assert!(
                generated == shipped,
                "{file} is not what the types give: run `cargo run -p etcd-api --features schema --example etcd-crds -- plugins/etcd/crds`"
            );
        }
    }

    /// Keywords that a structural schema may not have, and values that have no type.
    fn unstructural(schema: &Value, at: &str, found: &mut Vec<String>) {
        let Some(map) = schema.as_object() else { return };
        let free = ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"];
        if !map.contains_key("type") && !free.iter().any(|keyword| map.contains_key(*keyword)) {
            found.push(format!("{at}: no type"));
        }
        for keyword in ["$ref", "$schema", "definitions", "patternProperties", "nullable", "title"] {
            if map.contains_key(keyword) {
                found.push(format!("{at}: {keyword}"));
            }
        }
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                unstructural(property, &format!("{at}.{name}"), found);
            }
        }
        for nested in ["items", "additionalProperties"] {
            if let Some(schema) = map.get(nested) {
                unstructural(schema, &format!("{at}.{nested}"), found);
            }
        }
    }

    #[test]
    fn every_schema_is_structural_and_documented() {
        for (file, definition) in definitions() {
            let root = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let mut found = Vec::new();
            unstructural(root, file, &mut found);
            assert_eq!(found, Vec::<String>::new());
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

    #[test]
    fn fields_of_the_old_interface_keep_their_names() {
        let cluster = spec_of("etcdclusters.yaml");
        let pod = &cluster["properties"]["pod"]["properties"];
        for field in ["size", "repository", "version", "paused", "pod", "TLS"] {
            assert!(cluster["properties"].get(field).is_some(), "{field}");
        }
        for field in [
            "labels",
            "nodeSelector",
            "affinity",
            "antiAffinity",
            "resources",
            "tolerations",
            "etcdEnv",
            "persistentVolumeClaimSpec",
            "annotations",
            "busyboxImage",
            "securityContext",
            "DNSTimeoutInSecond",
        ] {
            assert!(pod.get(field).is_some(), "pod.{field}");
        }
        let backup = spec_of("etcdbackups.yaml");
        for field in ["etcdEndpoints", "storageType", "backupPolicy", "s3", "abs", "gcs", "clientTLSSecret"] {
            assert!(backup["properties"].get(field).is_some(), "{field}");
        }
        for field in ["path", "awsSecret", "endpoint", "forcePathStyle"] {
            assert!(backup["properties"]["s3"]["properties"].get(field).is_some(), "s3.{field}");
        }
        for field in ["timeoutInSecond", "backupIntervalInSecond", "maxBackups"] {
            assert!(backup["properties"]["backupPolicy"]["properties"].get(field).is_some(), "{field}");
        }
        let restore = spec_of("etcdrestores.yaml");
        for field in ["backupStorageType", "s3", "abs", "gcs", "etcdCluster"] {
            assert!(restore["properties"].get(field).is_some(), "{field}");
        }
    }

    #[test]
    fn a_cluster_as_people_wrote_it_for_the_old_operator_is_read_with_its_defaults() {
        let spec: EtcdClusterSpec = serde_json::from_value(json!({
            "size": 3, "version": "3.5.35",
            "TLS": {"static": {"member": {"peerSecret": "p", "serverSecret": "s"}, "operatorSecret": "o"}},
            "pod": {"DNSTimeoutInSecond": 5, "etcdEnv": [{"name": "ETCD_DEBUG", "value": "1"}]},
        }))
        .unwrap();
        assert_eq!(spec.repository, names::REPOSITORY);
        let pod = spec.pod.unwrap();
        assert_eq!((pod.dns_timeout_in_second, pod.busybox_image.as_str()), (5, names::BUSYBOX));
        let secrets = spec.tls.unwrap().fixed.unwrap();
        assert_eq!(secrets.operator_secret.as_deref(), Some("o"));
        assert_eq!(secrets.member.unwrap().peer_secret.as_deref(), Some("p"));
    }

    #[test]
    fn fields_that_nobody_reads_are_refused_or_dropped_by_the_api_server() {
        for (file, text) in SHIPPED {
            assert!(
                !text.contains("preserve-unknown-fields") && !text.contains("preserveUnknownFields"),
                "{file}"
            );
        }
        for file in ["etcdclusters.yaml", "etcdbackups.yaml", "etcdrestores.yaml"] {
            assert!(spec_of(file)["properties"].is_object(), "{file}");
        }
    }

    #[test]
    fn backups_and_restores_of_the_old_operator_are_read() {
        let backup: EtcdBackupSpec = serde_json::from_value(json!({
            "etcdEndpoints": ["http://example-client:2379"], "storageType": "S3",
            "backupPolicy": {"backupIntervalInSecond": 125, "maxBackups": 4},
            "s3": {"path": "bucket/etcd/example", "awsSecret": "aws", "endpoint": "http://minio:9000", "forcePathStyle": true},
        }))
        .unwrap();
        assert_eq!(backup.key(), Some("etcd/example"));
        let policy = backup.backup_policy.unwrap();
        assert_eq!((policy.timeout_in_second, policy.max_backups), (60, 4));
        let restore: EtcdRestoreSpec = serde_json::from_value(json!({
            "etcdCluster": {"name": "example"}, "backupStorageType": "ABS",
            "abs": {"path": "container/key", "absSecret": "azure"},
        }))
        .unwrap();
        assert_eq!(
            (restore.backup_storage_type, restore.etcd_cluster.name.as_str()),
            (StorageType::Abs, "example")
        );
    }

    #[test]
    fn statuses_have_the_names_that_scripts_look_for() {
        let status =
            serde_json::to_value(ClusterStatus { phase: Phase::Running, ..ClusterStatus::default() })
                .unwrap();
        assert_eq!(status["phase"], "Running");
        for field in ["controlPaused", "size", "clientPort", "members"] {
            assert!(status.get(field).is_some(), "{field}");
        }
        let backup = BackupStatus { reason: "no such bucket".to_owned(), ..BackupStatus::default() };
        let backup = serde_json::to_value(backup).unwrap();
        assert_eq!((&backup["Reason"], &backup["succeeded"]), (&json!("no such bucket"), &json!(false)));
    }
}
