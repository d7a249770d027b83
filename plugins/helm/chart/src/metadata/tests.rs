use super::*;
use crate::yaml;

fn decoded(yaml: &str) -> Metadata {
    Metadata::decode(yaml::typed(yaml.as_bytes()).unwrap()).unwrap()
}

fn refusal(yaml: &str) -> String {
    decoded(yaml).validate().unwrap_err().to_string()
}

#[test]
fn a_complete_chart_yaml_is_read() {
    let metadata = decoded(
        "
apiVersion: v2
name: demo
version: 1.2.3
appVersion: 1.10
kubeVersion: '>=1.20'
type: library
deprecated: true
keywords: [a, 1]
sources: [https://x]
maintainers: [{name: n, email: e, url: u}]
annotations: {number: 5, truth: yes, none: null}
dependencies:
- {name: d, version: 1, repository: r, condition: c, tags: [t], alias: al, import-values: [x, {child: a, parent: b}]}
",
    );
    assert_eq!((&*metadata.name, &*metadata.app_version, metadata.deprecated), ("demo", "1.1", true));
    assert_eq!(metadata.keywords, ["a", "1"]);
    let annotations = metadata.annotations.as_ref().unwrap();
    assert_eq!((&*annotations["number"], &*annotations["truth"], &*annotations["none"]), ("5", "true", ""));
    assert!(metadata.is_library());
    let dependency = metadata.dependencies().next().unwrap();
    assert_eq!((&*dependency.version, dependency.key(), dependency.import_values.len()), ("1", "al", 2));
}

#[test]
fn what_helm_refuses_is_refused_in_its_words() {
    const GOOD: &str = "apiVersion: v2\nname: a\nversion: 1.0.0\n";
    for (yaml, want) in [
        ("name: a", "chart.metadata.apiVersion is required"),
        ("apiVersion: v2", "chart.metadata.name is required"),
        ("apiVersion: v2\nname: ..", "chart.metadata.name \"..\" is not allowed"),
        ("apiVersion: v2\nname: a/b", "chart.metadata.name \"a/b\" is invalid"),
        ("apiVersion: v2\nname: a", "chart.metadata.version is required"),
        ("apiVersion: v2\nname: a\nversion: x", "chart.metadata.version \"x\" is invalid"),
        (&format!("{GOOD}type: other"), "chart.metadata.type must be application or library"),
        (&format!("{GOOD}maintainers: [null]"), "maintainers must not contain empty or null nodes"),
        (&format!("{GOOD}dependencies: [null]"), "dependencies must not contain empty or null nodes"),
        (
            &format!("{GOOD}dependencies: [{{name: d, alias: a.b}}]"),
            "dependency \"d\" has disallowed characters in the alias",
        ),
        (
            &format!("{GOOD}dependencies: [{{name: d}}, {{name: x, alias: d}}]"),
            "more than one dependency with name or alias \"d\"",
        ),
    ] {
        assert_eq!(refusal(yaml), format!("validation: {want}"), "{yaml}");
    }
}

#[test]
fn texts_lose_what_cannot_be_printed() {
    let mut metadata =
        decoded("apiVersion: v2\nname: a\nversion: 1.0.0\ndescription: \"a\\tb\\nc\\u200bd é\"\n");
    metadata.validate().unwrap();
    assert_eq!(metadata.description, "a b cd é");
}

#[test]
fn templates_see_gos_field_names() {
    let map = decoded("apiVersion: v2\nname: a\nversion: 1.0.0\nmaintainers: [{name: n}]\n").to_value(true);
    assert_eq!(map.get("APIVersion"), Some("v2".into()));
    assert_eq!(map.get("IsRoot"), Some(true.into()));
    assert!(map.get("Annotations").unwrap().is_nil());
    let maintainers = map.get("Maintainers").unwrap();
    assert_eq!(
        maintainers.as_list().unwrap().get(0).unwrap().as_map().unwrap().get("Email"),
        Some("".into())
    );
    assert_eq!(map.len(), 18);
}

#[test]
fn a_lock_is_read() {
    let yaml = "generated: 2020-01-01T00:00:00Z\ndigest: sha256:x\ndependencies: [{name: d, version: 1.0.0}]";
    let lock = Lock::decode(yaml::typed(yaml.as_bytes()).unwrap()).unwrap();
    assert_eq!(
        (&*lock.generated, &*lock.digest, &*lock.dependencies[0].name),
        ("2020-01-01T00:00:00Z", "sha256:x", "d")
    );
}

#[test]
fn a_lock_is_written_at_a_time() {
    let wrong = |yaml: &str| Lock::decode(yaml::typed(yaml.as_bytes()).unwrap()).unwrap_err().json();
    for (yaml, want) in [
        ("generated: 5", "json: cannot unmarshal number into Go struct field .generated of type time.Time"),
        ("generated: {}", "json: cannot unmarshal object into Go struct field .generated of type time.Time"),
        (
            "generated: tomorrow",
            r#"parsing time "tomorrow" as "2006-01-02T15:04:05Z07:00": cannot parse "tomorrow" as "2006""#,
        ),
        (
            "generated: 2020-01-01",
            r#"parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
        ),
        ("generated: 2020-02-30T00:00:00Z", r#"parsing time "2020-02-30T00:00:00Z": day out of range"#),
        // The keys are read in their order.
        (
            "generated: 5\ndependencies: {}",
            "json: cannot unmarshal object into Go struct field .dependencies of type []*v2.Dependency",
        ),
    ] {
        assert_eq!(wrong(yaml), want, "{yaml}");
    }
    let lock = Lock::decode(yaml::typed(b"generated: \"2020-01-01T0:00:00,5Z\"").unwrap()).unwrap();
    assert_eq!(lock.generated, "2020-01-01T0:00:00,5Z");
}
