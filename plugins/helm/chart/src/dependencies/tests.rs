use super::*;
use crate::testing::{chart, shown, values};

fn child(name: &str, version: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: {version}\n")
}

/// A chart `top` with the dependency list and children `a` and `b` in version 1.2.3.
fn top(dependencies: &str, more: &[(&str, &str)]) -> Chart {
    let chart_yaml = format!("apiVersion: v2\nname: top\nversion: 1.0.0\n{dependencies}");
    let (a, b) = (child("a", "1.2.3"), child("b", "1.2.3"));
    let mut files =
        vec![("Chart.yaml", &*chart_yaml), ("charts/a/Chart.yaml", &*a), ("charts/b/Chart.yaml", &*b)];
    files.extend(more);
    chart("top", &files)
}

fn process(chart: &Chart, given: &str) -> Chart {
    process_dependencies(chart, &values(given), &mut Warnings::new()).unwrap()
}

fn names(chart: &Chart) -> Vec<&str> {
    chart.dependencies.iter().map(Chart::name).collect()
}

const BOTH: &str = "dependencies: [{name: a, version: 1.x.x, repository: '', condition: 'a.enabled,global.a', tags: [front]}, {name: b, version: ^1.0.0, repository: '', tags: [front, back]}]";

#[test]
fn tags_and_conditions_decide_and_conditions_win() {
    let chart = top(BOTH, &[]);
    for (given, want) in [
        ("{}", vec!["a", "b"]),
        ("a: {enabled: false}", vec!["b"]),
        ("global: {a: false}", vec!["b"]),
        ("a: {enabled: true}\nglobal: {a: false}", vec!["a", "b"]),
        ("tags: {front: false}", vec![]),
        ("tags: {front: false, back: true}", vec!["b"]),
        ("tags: {front: true, back: false}", vec!["a", "b"]),
        ("tags: {front: false}\na: {enabled: true}", vec!["a"]),
        ("tags: {front: 'false'}", vec!["a", "b"]),
        ("a: {enabled: 'no'}\nglobal: {a: false}", vec!["b"]),
    ] {
        let processed = process(&chart, given);
        assert_eq!(names(&processed), want, "{given}");
        let listed: Vec<_> = processed.metadata.dependencies().map(|d| &*d.name).collect();
        assert_eq!(listed, want, "{given}");
    }
}

#[test]
fn a_condition_that_is_no_truth_value_is_reported() {
    let mut warnings = Warnings::new();
    process_dependencies(&top(BOTH, &[]), &values("a: {enabled: 'no'}"), &mut warnings).unwrap();
    assert_eq!(warnings, ["returned non-bool value path=a.enabled chart=a"]);
}

#[test]
fn defaults_of_the_chart_can_disable_a_dependency() {
    let chart = top(BOTH, &[("values.yaml", "a: {enabled: false}")]);
    assert_eq!(names(&process(&chart, "{}")), ["b"]);
    assert_eq!(names(&process(&chart, "a: {enabled: true}")), ["a", "b"]);
}

#[test]
fn conditions_of_nested_charts_are_looked_up_below_their_parents() {
    let chart = top(
        BOTH,
        &[
            (
                "charts/a/Chart.yaml",
                "apiVersion: v2\nname: a\nversion: 1.2.3\ndependencies: [{name: deep, version: '*', condition: deep.enabled}]",
            ),
            ("charts/a/charts/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 0.1.0\n"),
        ],
    );
    let deep = |given: &str| process(&chart, given).dependencies[0].dependencies.len();
    assert_eq!(deep("{}"), 1);
    assert_eq!(deep("a: {deep: {enabled: false}}"), 0);
    assert_eq!(deep("deep: {enabled: false}"), 1);
}

#[test]
fn an_alias_renames_and_one_chart_can_be_there_twice() {
    let chart = top(
        "dependencies: [{name: a, version: '1', alias: one}, {name: a, version: '1', alias: two, condition: two.up}]",
        &[("charts/a/values.yaml", "k: default")],
    );
    let processed = process(&chart, "one: {k: given}");
    assert_eq!(names(&processed), ["b", "one", "two"]);
    assert_eq!(
        shown(processed.values.as_ref().unwrap()),
        "{b:{global:{}},one:{global:{},k:default},two:{global:{},k:default}}"
    );
    assert_eq!(names(&process(&chart, "two: {up: false}")), ["b", "one"]);
}

#[test]
fn a_chart_outside_of_the_range_is_kept_as_one_nobody_asked_for() {
    let chart = top("dependencies: [{name: a, version: ^2.0.0, condition: a.up}]", &[]);
    assert_eq!(names(&process(&chart, "{}")), ["a", "b"]);
    // It goes by the same name, so the condition still removes it.
    assert_eq!(names(&process(&chart, "a: {up: false}")), ["b"]);
}

#[test]
fn without_a_list_nothing_is_processed() {
    let chart = top("", &[]);
    let processed = process(&chart, "a: {enabled: false}\ntags: {a: false}");
    assert_eq!(names(&processed), ["a", "b"]);
    assert!(processed.values.is_none());
}

#[test]
fn both_forms_of_import_values_bring_values_below_the_parents_own() {
    let dependencies = "
dependencies:
- name: a
  version: '1'
  import-values:
  - data
  - {child: deep.table, parent: taken.here}
  - {child: missing, parent: x}
";
    let chart = top(
        dependencies,
        &[
            ("values.yaml", "port: 80\ntaken: {here: {own: 1}}"),
            (
                "charts/a/values.yaml",
                "exports: {data: {port: 8080, host: h}}\ndeep: {table: {own: 2, other: 3}}",
            ),
        ],
    );
    let mut warnings = Warnings::new();
    let processed = process_dependencies(&chart, &Map::new(), &mut warnings).unwrap();
    let values = processed.values.as_ref().unwrap();
    assert_eq!(path_value(values, "port"), Some(80.0.into()));
    assert_eq!(path_value(values, "host"), Some("h".into()));
    assert_eq!(shown(&table(values, "taken").unwrap()), "{here:{other:3,own:1}}");
    assert_eq!(warnings, ["ImportValues missing table from chart chart=a error=\"missing\" is not a table"]);
    let imports = &processed.metadata.dependencies().next().unwrap().import_values;
    let shown: Vec<_> = imports.iter().map(|value| shown(value.as_map().unwrap())).collect();
    assert_eq!(
        shown,
        ["{child:exports.data,parent:.}", "{child:deep.table,parent:taken.here}", "{child:missing,parent:x}"]
    );
    assert_eq!(imports[0].type_name(), "map[string]string");
}

#[test]
fn imports_pass_through_several_levels() {
    let chart = top(
        "dependencies: [{name: a, version: '1', import-values: [up]}]",
        &[
            (
                "charts/a/Chart.yaml",
                "apiVersion: v2\nname: a\nversion: 1.2.3\ndependencies: [{name: deep, version: '*', import-values: [{child: leaf, parent: exports.up}]}]",
            ),
            ("charts/a/charts/deep/Chart.yaml", "apiVersion: v2\nname: deep\nversion: 0.1.0\n"),
            ("charts/a/charts/deep/values.yaml", "leaf: {from: deep}"),
        ],
    );
    let processed = process(&chart, "{}");
    assert_eq!(path_value(processed.values.as_ref().unwrap(), "from"), Some("deep".into()));
}

#[test]
fn the_original_chart_is_left_as_it_is() {
    let chart = top(BOTH, &[("values.yaml", "x: 1")]);
    process(&chart, "a: {enabled: false}");
    assert_eq!(names(&chart), ["a", "b"]);
    assert_eq!(shown(chart.values.as_ref().unwrap()), "{x:1}");
    assert!(chart.metadata.dependencies().all(|d| !d.enabled));
}

#[test]
fn dependencies_that_are_not_in_the_chart_are_named() {
    let chart = top(
        "dependencies: [{name: a, version: '1'}, {name: redis, version: '1'}, {name: kafka, version: '1'}]",
        &[],
    );
    assert_eq!(missing_dependencies(&chart), ["redis", "kafka"]);
}
