//! The resource `Release` (`helm.pilothouse.dev`): chart, values and settings stand in the object's own specification, under the
//! names that an entry of `watches.yaml` has for them.

use helm_release::LARGEST_SECRET;
use pilothouse_sdk::{Dynamic, Error};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    elsewhere::Elsewhere,
    options::Options,
    overrides::Overrides,
    settings::{ChartSetting, Settings},
};

/// What belongs to no other part of an entry.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Own {
    chart: Elsewhere,
    #[serde(default)]
    values: Option<Map<String, Value>>,
    release_name: Option<String>,
    max_history: Option<u32>,
    hook_timeout: Option<String>,
}

/// Their names; all else is what `release` of an entry holds.
const OWN: [&str; 6] = ["chart", "values", "releaseName", "maxHistory", "hookTimeout", SERVICE_ACCOUNT];
/// Which the host goes by.
const SERVICE_ACCOUNT: &str = "serviceAccountName";

/// Reads the settings of a `Release`, and its values.
///
/// # Errors
/// Permanent, with the field. The definition of the resource refuses most of it before.
pub(crate) fn read(object: &Dynamic, suppress_override_values: bool) -> Result<Settings, Error> {
    let wrong = |error: serde_json::Error| Error::permanent("InvalidConfiguration", format!("spec: {error}"));
    let spec = object.value().get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let (own, rest): (Map<_, _>, Map<_, _>) =
        spec.into_iter().partition(|(key, _)| OWN.contains(&key.as_str()));
    let own: Own = serde_json::from_value(Value::Object(own)).map_err(wrong)?;
    let release: Options = serde_json::from_value(Value::Object(rest)).map_err(wrong)?;
    if own.chart.secret_ref.as_ref().is_some_and(|secret| secret.namespace.is_some()) {
        let message =
            "spec.chart.secretRef: a Release reads Secrets of its own namespace; leave the namespace out";
        return Err(Error::permanent("InvalidConfiguration", message));
    }
    Ok(Settings {
        chart: ChartSetting::Elsewhere(own.chart),
        overrides: Overrides::default(),
        suppress_override_values,
        watch_dependent_resources: true,
        max_history: own.max_history.unwrap_or(10),
        hook_timeout: own.hook_timeout,
        largest_secret: LARGEST_SECRET,
        release,
        release_name: own.release_name.filter(|name| !name.is_empty()),
        values: Some(Value::Object(own.values.unwrap_or_default())),
    })
}

/// What can be read of a specification some of which cannot: enough to let a `Release` go.
pub(crate) fn readable(object: &Dynamic) -> Settings {
    let mut spec = object.value().get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let name = spec.get("releaseName").and_then(Value::as_str).filter(|name| !name.is_empty());
    let settings = Settings { release_name: name.map(str::to_owned), ..bare() };
    let settings = settings.with_readable_timeout(spec.get("hookTimeout"));
    spec.retain(|key, _| !OWN.contains(&key.as_str()));
    Settings { release: Options::readable(spec), ..settings }
}

/// Settings that nobody wrote.
pub(crate) fn bare() -> Settings {
    Settings {
        chart: ChartSetting::Elsewhere(Elsewhere::default()),
        overrides: Overrides::default(),
        suppress_override_values: false,
        watch_dependent_resources: true,
        max_history: 10,
        hook_timeout: None,
        largest_secret: LARGEST_SECRET,
        release: Options::default(),
        release_name: None,
        values: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_sdk::Resource as _;
    use serde_json::json;

    fn settings(spec: &Value) -> Result<Settings, Error> {
        let object = json!({"apiVersion": "helm.pilothouse.dev/v1alpha1", "kind": "Release", "metadata": {"name": "a"}, "spec": spec});
        read(&Dynamic::from_json(object.to_string()).unwrap(), false)
    }

    #[test]
    fn everything_that_an_entry_has_stands_in_the_spec() {
        let chart = json!({"repository": "oci://r.example/charts", "name": "web", "version": "^1"});
        let settings = settings(&json!({
            "chart": chart, "values": {"a": 1}, "maxHistory": 3, "wait": true, "driftDetection": {"mode": "warn"},
            "install": {"crds": "Skip"}, "releaseName": "shop",
        }))
        .unwrap();
        assert_eq!((settings.max_history, settings.release.wait), (3, true));
        assert_eq!(settings.values, Some(json!({"a": 1})));
        assert_eq!(settings.release_name.as_deref(), Some("shop"));
        assert!(matches!(settings.chart, ChartSetting::Elsewhere(chart) if chart.name == "web"));
    }

    /// The names in a message of serde's about what it does not know, but for that.
    fn expected(error: &serde_json::Error) -> Vec<String> {
        let text = error.to_string();
        let mut names: Vec<String> = text.split('`').skip(1).step_by(2).skip(1).map(str::to_owned).collect();
        names.sort();
        names
    }

    const OPERATIONS: [&str; 9] = [
        "install",
        "install.strategy",
        "install.remediation",
        "upgrade",
        "upgrade.strategy",
        "upgrade.remediation",
        "rollback",
        "uninstall",
        "test",
    ];

    #[test]
    fn the_definition_has_what_the_plugin_reads_and_nothing_else() {
        let text = include_bytes!("../../../../deploy/crds/helm.pilothouse.dev_releases.yaml");
        let definition = helm_yaml::yaml_to_json(text, helm_yaml::Duplicates::LastWins).unwrap();
        let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        let names = |schema: &Value| {
            let mut names: Vec<String> = schema.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        let mut known = expected(&serde_json::from_value::<Options>(json!({"-": 1})).unwrap_err());
        known.extend(OWN.map(str::to_owned));
        known.sort();
        assert_eq!(names(spec), known);
        let drift = &spec["driftDetection"]["properties"];
        let modes = serde_json::from_value::<Options>(json!({"driftDetection": {"mode": "-"}})).unwrap_err();
        let mut told: Vec<&str> =
            drift["mode"]["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        told.sort_unstable();
        assert_eq!(told, expected(&modes));
        for place in OPERATIONS {
            let mut probe = json!({"-": true});
            for name in place.rsplit('.') {
                probe = json!({ name: probe });
            }
            let mut known = expected(&serde_json::from_value::<Options>(probe).unwrap_err());
            known.sort();
            let schema = format!("/{}/properties", place.replace('.', "/properties/"));
            assert_eq!(names(spec.pointer(&schema).unwrap()), known, "{place}");
        }
        let mut chart = expected(&serde_json::from_value::<Elsewhere>(json!({"-": 1})).unwrap_err());
        chart.sort();
        assert_eq!(names(&spec["chart"]["properties"]), chart);
    }

    #[test]
    fn what_does_not_belong_there_is_named() {
        let chart = json!({"repository": "oci://r.example/charts", "name": "web"});
        for (spec, said) in [
            (json!({}), "missing field `chart`"),
            (json!({"chart": chart, "wiat": true}), "unknown field `wiat`"),
            (json!({"chart": {"repository": "x", "name": "y", "range": "z"}}), "unknown field `range`"),
            (
                json!({"chart": {"repository": "x", "name": "y", "secretRef": {"name": "a", "namespace": "b"}}}),
                "its own namespace",
            ),
        ] {
            let error = settings(&spec).unwrap_err();
            assert!(error.message().contains(said), "{error}");
        }
    }
}
