//! What the API server refuses by the shipped definitions: bounds, patterns and rules in CEL, each tried with what it is against.
//!
//! Left out are rules with functions that only the API server has (`split`); the core refuses the same.

#[cfg(test)]
mod tests {
    use etcd_api::definition::definitions;
    use helm_condition::Condition;
    use serde_json::{Value, json};

    fn schema(file: &str) -> Value {
        let definition = definitions().into_iter().find(|(name, _)| *name == file).unwrap().1;
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    /// Everything that is wrong with a value, as the API server says it.
    fn complaints(value: &Value, old: Option<&Value>, schema: &Value, at: &str, found: &mut Vec<String>) {
        bounds(value, schema, at, found);
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let text = rule["rule"].as_str().unwrap();
            if text.contains("split(") || text.contains("oldSelf") && old.is_none() {
                continue;
            }
            let condition = Condition::compile(text).unwrap_or_else(|error| panic!("{at}: {text}: {error}"));
            let null = Value::Null;
            let held = condition.holds(&[("self", value), ("oldSelf", old.unwrap_or(&null))]);
            if !held.unwrap_or_else(|error| panic!("{at}: {text}: {error}")) {
                found.push(format!("{at}: {}", rule["message"].as_str().unwrap_or(text)));
            }
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let known = &schema["properties"][name];
            let nested = if known.is_null() { &schema["additionalProperties"] } else { known };
            complaints(value, old.and_then(|old| old.get(name)), nested, &format!("{at}.{name}"), found);
        }
        for (index, value) in value.as_array().into_iter().flatten().enumerate() {
            complaints(value, None, &schema["items"], &format!("{at}[{index}]"), found);
        }
    }

    fn bounds(value: &Value, schema: &Value, at: &str, found: &mut Vec<String>) {
        let (number, length) = (value.as_f64(), value.as_str().map(|text| text.chars().count()));
        if number.zip(schema["minimum"].as_f64()).is_some_and(|(is, least)| is < least)
            || number.zip(schema["maximum"].as_f64()).is_some_and(|(is, most)| is > most)
        {
            found.push(format!("{at}: out of bounds"));
        }
        let least = schema["minLength"].as_u64().and_then(|least| usize::try_from(least).ok());
        let most = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok());
        if length
            .is_some_and(|is| least.is_some_and(|least| is < least) || most.is_some_and(|most| is > most))
        {
            found.push(format!("{at}: too short or too long"));
        }
        if let (Some(text), Some(pattern)) = (value.as_str(), schema["pattern"].as_str())
            && !regex::Regex::new(pattern).unwrap().is_match(text)
        {
            found.push(format!("{at}: does not match {pattern}"));
        }
        if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
            found.push(format!("{at}: not one of {allowed:?}"));
        }
    }

    fn refused(file: &str, name: &str, spec: &Value, old: Option<&Value>) -> Vec<String> {
        let object = |spec: &Value| json!({"metadata": {"name": name}, "spec": spec});
        let mut found = Vec::new();
        complaints(&object(spec), old.map(object).as_ref(), &schema(file), "", &mut found);
        found
    }

    /// Each of these is refused, and for this reason.
    fn each_is_refused(file: &str, base: &Value, wrong: &[(Value, &str)]) {
        assert_eq!(refused(file, "example", base, None), Vec::<String>::new());
        for (change, said) in wrong {
            let mut spec = base.clone();
            for (field, value) in change.as_object().unwrap() {
                spec[field] = value.clone();
            }
            let found = refused(file, "example", &spec, None);
            assert!(found.iter().any(|complaint| complaint.contains(said)), "{change}: {found:?}");
        }
    }

    #[test]
    fn a_cluster_that_cannot_be_is_refused_at_the_door() {
        // With the defaults that the API server fills in.
        let good =
            json!({"size": 3, "version": "3.6.16", "repository": "registry:5000/etcd", "paused": false});
        let pod = |field: &str, value: Value| json!({"pod": {"antiAffinity": true, field: value}});
        each_is_refused(
            "etcdclusters.yaml",
            &good,
            &[
                (json!({"size": 0}), ".spec.size: out of bounds"),
                (json!({"size": -3}), ".spec.size: out of bounds"),
                (json!({"size": 100}), ".spec.size: out of bounds"),
                (json!({"version": "latest"}), "released version"),
                (json!({"version": "3"}), "released version"),
                (json!({"version": "3.6"}), "released version"),
                (json!({"version": "3.6.16-rc.1"}), "released version"),
                (json!({"version": "3.8.0"}), "released version"),
                (json!({"version": "vv3.6.16"}), "released version"),
                (json!({"repository": ""}), ".spec.repository"),
                (pod("labels", json!({"app": "x"})), "reserved label"),
                (pod("labels", json!({"etcd_node": "x"})), "reserved label"),
                (pod("annotations", json!({"etcd.version": "1"})), ".spec.pod.annotations"),
                (pod("affinity", json!({})), ".spec.pod"),
                (json!({"TLS": {}}), ".spec.TLS"),
                (json!({"TLS": {"static": {"operatorSecret": "o"}}}), ".spec.TLS.static"),
                (json!({"options": {"autoCompactionMode": "periodic"}}), "need each other"),
                (json!({"options": {"electionTimeoutMs": 100}}), "five heartbeat intervals"),
            ],
        );
        for version in ["3.4.1", "v3.5.35", "3.6.16", "3.7.3"] {
            let spec = json!({"size": 7, "version": version});
            assert_eq!(refused("etcdclusters.yaml", "example", &spec, None), Vec::<String>::new());
        }
    }

    #[test]
    fn a_name_without_room_for_those_of_members_is_refused_at_the_door() {
        let spec = json!({"size": 1});
        assert_eq!(refused("etcdclusters.yaml", &"a".repeat(52), &spec, None), Vec::<String>::new());
        for name in [&"a".repeat(53), "1a", "a.b", "a-"] {
            assert!(!refused("etcdclusters.yaml", name, &spec, None).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_backup_that_cannot_be_is_refused_at_the_door() {
        let s3 = json!({"path": "bucket/key", "endpoint": "", "awsSecret": "aws", "forcePathStyle": false});
        let policy = |change: Value| {
            let mut policy = json!({"timeoutInSecond": 60, "backupIntervalInSecond": 0, "maxBackups": 0});
            policy.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({"backupPolicy": policy})
        };
        let good = json!({"etcdEndpoints": ["http://example-client:2379"], "storageType": "S3", "s3": s3});
        each_is_refused(
            "etcdbackups.yaml",
            &good,
            &[
                (json!({"storageType": "OSS"}), ".spec.storageType"),
                (json!({"storageType": "GCS"}), "that storageType names"),
                (json!({"gcs": {"path": "b/k"}}), "that storageType names"),
                (json!({"s3": {"path": "bucket"}}), ".spec.s3.path"),
                (json!({"etcdEndpoints": []}), "either etcdEndpoints or etcdCluster"),
                (json!({"etcdCluster": {"name": "example"}}), "either etcdEndpoints or etcdCluster"),
                (json!({"etcdEndpoints": ["example-client:2379"]}), ".spec.etcdEndpoints[0]"),
                (
                    json!({"etcdEndpoints": [], "etcdCluster": {"name": "example"}, "clientTLSSecret": "s"}),
                    "clientTLSSecret is for etcdEndpoints",
                ),
                (policy(json!({"timeoutInSecond": 0})), "out of bounds"),
                (policy(json!({"backupIntervalInSecond": -1})), "out of bounds"),
                (policy(json!({"backupIntervalInSecond": 60, "schedule": "* * * * *"})), "set either"),
                (policy(json!({"timeZone": "Europe/Berlin"})), "timeZone is for schedule"),
                (policy(json!({"maxBackups": 3})), "for backups that repeat"),
                (policy(json!({"verification": "Hope"})), "verification"),
            ],
        );
        let abs = json!({"path": "container/key", "absSecret": "azure", "storageAccount": "account7"});
        let azure = json!({"etcdEndpoints": ["http://a:2379"], "storageType": "ABS", "abs": abs});
        each_is_refused(
            "etcdbackups.yaml",
            &azure,
            &[
                (json!({"abs": {"path": "c/k", "storageAccount": "../x"}}), "storageAccount"),
                (json!({"abs": {"path": "c", "storageAccount": "account7"}}), ".spec.abs.path"),
            ],
        );
    }

    #[test]
    fn a_restore_that_cannot_be_is_refused_at_the_door() {
        let s3 = json!({"path": "bucket/key", "endpoint": "", "awsSecret": "aws", "forcePathStyle": false});
        let good = json!({"backupStorageType": "S3", "s3": s3, "etcdCluster": {"name": "example"}});
        each_is_refused(
            "etcdrestores.yaml",
            &good,
            &[
                (json!({"etcdCluster": {"name": "other"}}), "name"),
                (json!({"backupStorageType": "GCS"}), "that backupStorageType names"),
                (json!({"sha256": "abc"}), ".spec.sha256"),
                (json!({"revision": 0}), ".spec.revision: out of bounds"),
            ],
        );
        let mut other = good.clone();
        other["s3"]["path"] = json!("bucket/another");
        let found = refused("etcdrestores.yaml", "example", &other, Some(&good));
        assert!(found.iter().any(|complaint| complaint.contains("carried out once")), "{found:?}");
    }
}
