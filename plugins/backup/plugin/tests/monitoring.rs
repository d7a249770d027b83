//! Alerts and the dashboard go by series that the plugin tells.

use std::collections::BTreeSet;

const PREFIX: &str = "pilothouse_plugin_";

/// Series that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    text.split(PREFIX).skip(1).map(|rest| rest.split(|letter| !is_part(letter)).next().unwrap()).collect()
}

#[test]
fn what_is_looked_at_is_told() {
    let source = include_str!("../src/policy.rs");
    let told: BTreeSet<&str> =
        source.split('"').filter(|word| word.starts_with("backup_") && !word.contains(' ')).collect();
    assert!(told.len() >= 4, "{told:?}");
    let rules = include_str!("../../../../deploy/monitoring/backup-rules.yaml");
    let dashboard = include_str!("../../../../deploy/monitoring/backup-dashboard.json");
    assert_eq!(named(dashboard), told);
    assert!(named(rules).is_subset(&told) && named(rules).len() >= 3, "{:?}", named(rules));
}

#[test]
fn every_alert_says_what_to_look_at() {
    let rules: serde_json::Value =
        serde_saphyr::from_str(include_str!("../../../../deploy/monitoring/backup-rules.yaml")).unwrap();
    let alerts = rules["spec"]["groups"][0]["rules"].as_array().unwrap();
    for alert in alerts {
        let text =
            |pointer: &str| alert.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
        assert!(text("/annotations/summary").contains("$labels.policy"), "{alert}");
        assert!(
            !text("/annotations/description").is_empty() && !text("/labels/severity").is_empty(),
            "{alert}"
        );
    }
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../../deploy/monitoring/backup-dashboard.json")).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(!panel["title"].as_str().unwrap().is_empty() && !panel["targets"][0]["expr"].is_null());
    }
}
