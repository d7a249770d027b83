//! A chart as release records hold it (the JSON of Helm's `pkg/chart/v2`). Dependencies are not part of it.

use base64::{Engine, engine::general_purpose::STANDARD};
use helm_chart::{
    Chart, File,
    metadata::{Dependency, Lock, Maintainer, Metadata},
};
use helm_template::{List, Map, Value as HelmValue};
use pilothouse_sdk::Error;
use serde_json::{Map as JsonMap, Value, json, value::RawValue};

/// The chart's JSON text.
///
/// # Errors
/// Permanent: default values that JSON cannot say.
pub(crate) fn chart_json(chart: &Chart) -> Result<Box<RawValue>, Error> {
    let record = json!({
        "metadata": metadata(&chart.metadata)?,
        "lock": chart.lock.as_deref().map(lock).transpose()?,
        "templates": files(&chart.templates),
        "values": chart.values.as_ref().map(values).transpose()?,
        "schema": chart.schema.as_ref().map(|schema| STANDARD.encode(schema)),
        "schemamodtime": "0001-01-01T00:00:00Z",
        "files": files(&chart.files),
    });
    Ok(serde_json::value::to_raw_value(&record)?)
}

/// Values as JSON text.
///
/// # Errors
/// Permanent: values that JSON cannot say.
pub(crate) fn config_json(config: &Map) -> Result<Box<RawValue>, Error> {
    Ok(RawValue::from_string(crate::values::to_json(config)?)?)
}

fn values(map: &Map) -> Result<Value, Error> {
    Ok(serde_json::from_str(&crate::values::to_json(map)?)?)
}

fn files(files: &[File]) -> Value {
    files.iter().map(|file| json!({"name": file.name, "data": STANDARD.encode(&file.data)})).collect()
}

/// `Chart.yaml` as Go writes its struct.
pub(crate) fn metadata(metadata: &Metadata) -> Result<Value, Error> {
    let mut fields = JsonMap::new();
    texts(
        &mut fields,
        &[
            ("name", &metadata.name),
            ("home", &metadata.home),
            ("version", &metadata.version),
            ("description", &metadata.description),
            ("icon", &metadata.icon),
            ("apiVersion", &metadata.api_version),
            ("condition", &metadata.condition),
            ("tags", &metadata.tags),
            ("appVersion", &metadata.app_version),
            ("kubeVersion", &metadata.kube_version),
            ("type", &metadata.chart_type),
        ],
    );
    list(&mut fields, "sources", metadata.sources.iter().map(|source| json!(source)));
    list(&mut fields, "keywords", metadata.keywords.iter().map(|keyword| json!(keyword)));
    list(&mut fields, "maintainers", metadata.maintainers.iter().flatten().map(maintainer));
    if metadata.deprecated {
        fields.insert("deprecated".into(), true.into());
    }
    if let Some(annotations) = metadata.annotations.as_ref().filter(|annotations| !annotations.is_empty()) {
        fields.insert("annotations".into(), json!(annotations));
    }
    let dependencies: Vec<Value> = metadata.dependencies().map(dependency).collect::<Result<_, _>>()?;
    list(&mut fields, "dependencies", dependencies.into_iter());
    Ok(Value::Object(fields))
}

fn maintainer(maintainer: &Maintainer) -> Value {
    let mut fields = JsonMap::new();
    texts(&mut fields, &[("name", &maintainer.name), ("email", &maintainer.email), ("url", &maintainer.url)]);
    Value::Object(fields)
}

fn dependency(dependency: &Dependency) -> Result<Value, Error> {
    let mut fields = JsonMap::new();
    fields.insert("name".into(), json!(dependency.name));
    texts(&mut fields, &[("version", &dependency.version)]);
    fields.insert("repository".into(), json!(dependency.repository));
    texts(&mut fields, &[("condition", &dependency.condition), ("alias", &dependency.alias)]);
    list(&mut fields, "tags", dependency.tags.iter().map(|tag| json!(tag)));
    if dependency.enabled {
        fields.insert("enabled".into(), true.into());
    }
    if !dependency.import_values.is_empty() {
        let map = Map::new();
        map.insert("import-values", HelmValue::List(List::new(dependency.import_values.clone())));
        if let Value::Object(imported) = values(&map)? {
            fields.extend(imported);
        }
    }
    Ok(Value::Object(fields))
}

/// `Chart.lock` as Go writes its struct.
pub(crate) fn lock(lock: &Lock) -> Result<Value, Error> {
    let dependencies: Vec<Value> = lock.dependencies.iter().map(dependency).collect::<Result<_, _>>()?;
    // A time that Go cannot read would make the whole record unreadable for Helm.
    let generated =
        lock.generated.parse::<jiff::Timestamp>().map_or("0001-01-01T00:00:00Z", |_| lock.generated.as_str());
    Ok(json!({"generated": generated, "digest": lock.digest, "dependencies": dependencies}))
}

/// Go's `omitempty`.
fn texts(fields: &mut JsonMap<String, Value>, texts: &[(&str, &String)]) {
    for (name, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        fields.insert((*name).to_owned(), json!(text));
    }
}

fn list(fields: &mut JsonMap<String, Value>, name: &str, items: impl Iterator<Item = Value>) {
    let items: Vec<Value> = items.collect();
    if !items.is_empty() {
        fields.insert(name.to_owned(), Value::Array(items));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helm_chart::load_directory;

    #[test]
    fn a_chart_is_written_as_helm_writes_it() {
        let chart_yaml = "apiVersion: v2\nname: web\nversion: 1.2.3\ndescription: d\nmaintainers: [{name: m}]\n\
                          dependencies: [{name: db, version: 1.x, repository: 'https://r', condition: db.enabled}]\n";
        let lock = "dependencies:\n- name: db\n  repository: https://r\n  version: 1.0.0\ndigest: sha256:1\n\
                    generated: \"2021-06-01T10:00:00.5+08:00\"\n";
        let files = [
            ("Chart.yaml", chart_yaml),
            ("Chart.lock", lock),
            ("values.yaml", "a: 1\n"),
            ("templates/x.yaml", "x"),
            ("README.md", "r"),
        ];
        let files = files.map(|(name, text)| File::new(name, text)).to_vec();
        let chart = load_directory(files, &mut Vec::new()).unwrap();
        let record: Value = serde_json::from_str(chart_json(&chart).unwrap().get()).unwrap();
        assert_eq!(
            record["metadata"],
            json!({"name": "web", "version": "1.2.3", "description": "d", "apiVersion": "v2", "maintainers": [{"name": "m"}],
                   "dependencies": [{"name": "db", "version": "1.x", "repository": "https://r", "condition": "db.enabled"}]})
        );
        assert_eq!(record["lock"]["generated"], "2021-06-01T10:00:00.5+08:00");
        assert_eq!(record["templates"], json!([{"name": "templates/x.yaml", "data": "eA=="}]));
        assert_eq!(record["values"], json!({"a": 1}));
        assert_eq!(record["schema"], Value::Null);
        assert_eq!(record["files"], json!([{"name": "README.md", "data": "cg=="}]));
    }
}
