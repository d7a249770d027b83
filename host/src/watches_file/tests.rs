//! Entries as people write them.

use super::*;

fn with_chart(text: &str) -> (Vec<WatchEntry>, Vec<EntryError>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("helm-charts/a")).unwrap();
    std::fs::write(dir.path().join("helm-charts/a/Chart.yaml"), "name: a").unwrap();
    let read = all(dir.path(), text);
    (read.entries, read.errors)
}

fn all(dir: &Path, text: &str) -> Read {
    parse(&dir.join("watches.yaml"), text, &|name| (name == "REGISTRY").then(|| "r.example".to_owned()))
}

const GOOD: &str = "- group: g.io\n  version: v1\n  kind: A\n  chart: helm-charts/a\n";

#[test]
fn a_project_of_operator_sdk_is_read_with_its_marker() {
    let text = format!("# Use the 'create api' subcommand\n{GOOD}#+kubebuilder:scaffold:watch\n");
    let (entries, errors) = with_chart(&text);
    assert_eq!(errors, []);
    assert_eq!(entries[0].gvk, Gvk::new("g.io", "v1", "A"));
    assert!(entries[0].origin.ends_with("watches.yaml:2"), "{}", entries[0].origin);
    assert_eq!(entries[0].settings["watchDependentResources"], json!(true));
}

#[test]
fn an_unknown_key_is_named_with_line_and_column_and_the_other_entry_stays() {
    let text = format!("{GOOD}- group: g.io\n  version: v1\n  kind: B\n  chrat: x\n");
    let (entries, errors) = with_chart(&text);
    assert_eq!(entries.len(), 1);
    assert_eq!((errors[0].line, errors[0].column), (8, 3), "{}", errors[0]);
    assert_eq!(errors[0].message, "missing field `chart`; unknown: \"chrat\"");
}

#[test]
fn a_key_that_an_older_tool_passed_over_is_told_and_one_of_ours_misspelt_is_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("helm-charts/a")).unwrap();
    std::fs::write(dir.path().join("helm-charts/a/Chart.yaml"), "name: a").unwrap();
    let strange = "  selector:\n    matchLable: {a: b}\n";
    let text = format!(
        "- group: h.io\n  version: v1\n  kind: H\n  chart: helm-charts/a\n{GOOD}  team: shop\n{strange}"
    );
    let read = all(dir.path(), &text);
    assert_eq!((read.entries.len(), read.errors.len()), (2, 0), "{:?}", read.errors);
    let told: Vec<_> = read.ignored.iter().map(|key| (key.line, key.column, key.message.as_str())).collect();
    let wanted =
        [(9, 3, "unknown key \"team\", ignored"), (11, 5, "unknown key \"selector.matchLable\", ignored")];
    assert_eq!(told, wanted);
    assert_eq!(read.entries[1].selector, "");
    for (wrong, meant) in [
        ("serviceAcountName", "serviceAccountName"),
        ("serviceAccount", "serviceAccountName"),
        ("relaese", "release"),
        ("OverrideValues", "overrideValues"),
    ] {
        let read = all(dir.path(), &format!("{GOOD}  {wrong}: x\n"));
        assert!(read.entries.is_empty(), "{wrong}");
        let message = format!("unknown key {wrong:?}: is it {meant:?}?");
        assert_eq!((read.errors[0].line, &read.errors[0].message), (5, &message));
    }
}

#[test]
fn a_kind_may_have_a_bound_of_its_own() {
    let (entries, errors) = with_chart(&format!("{GOOD}  maxConcurrentReconciles: 2\n"));
    assert_eq!((entries[0].concurrency, errors), (Some(2), vec![]));
    let (_, errors) = with_chart(&format!("{GOOD}  maxConcurrentReconciles: 0\n"));
    assert!(errors[0].message.contains("at least 1"), "{}", errors[0]);
}

#[test]
fn a_duplicate_kind_and_a_missing_chart_are_errors_of_their_entries() {
    let missing = "- group: g.io\n  version: v1\n  kind: C\n  chart: helm-charts/nope\n";
    let (entries, errors) = with_chart(&format!("{GOOD}{GOOD}{missing}"));
    assert_eq!(entries.len(), 1);
    assert!(errors[0].message.contains("duplicate kind A.v1.g.io"), "{}", errors[0]);
    assert_eq!(errors[0].line, 5);
    assert!(
        errors[1].message.contains("helm-charts/nope") && errors[1].message.contains("Chart.yaml"),
        "{}",
        errors[1]
    );
}

#[test]
fn versions_of_one_kind_are_told_apart_by_selectors_or_one_of_them_is_left_out() {
    let of = |version: &str, track: &str| {
        let text = GOOD.replace("version: v1", &format!("version: {version}"));
        let selector = format!("  selector: {{ matchLabels: {{ track: {track} }} }}\n");
        if track.is_empty() { text } else { text + &selector }
    };
    for (one, other) in [("", ""), ("a", ""), ("a", "a")] {
        let (entries, errors) = with_chart(&format!("{}{}", of("v1", one), of("v2", other)));
        assert_eq!(entries.len(), 1, "{one:?} {other:?}");
        assert!(errors[0].message.contains("has it in version v1"), "{}", errors[0]);
    }
    let (entries, errors) = with_chart(&format!("{}{}", of("v1", "a"), of("v2", "b")));
    assert_eq!((entries.len(), errors), (2, vec![]));
}

#[test]
fn templates_get_the_variables_that_they_name_and_no_others() {
    let text = format!(
        "{GOOD}  overrideValues:\n    image: '{{{{ env \"REGISTRY\" }}}}/{{{{ \"TAG\" | env }}}}'\n    plain: HOME\n"
    );
    let (entries, errors) = with_chart(&text);
    assert_eq!(errors, []);
    assert_eq!(entries[0].settings["environment"], json!({"REGISTRY": "r.example"}));
}

#[test]
fn override_values_see_the_environment_and_become_text() {
    let text = format!(
        "{GOOD}  overrideValues:\n    image: ${{REGISTRY}}/app:$TAG\n    replicas: 2\n    price: 5$\n"
    );
    let (entries, errors) = with_chart(&text);
    assert_eq!(errors, []);
    assert_eq!(
        entries[0].settings["overrideValues"],
        json!({"image": "r.example/app:", "price": "5$", "replicas": "2"})
    );
}

#[test]
fn selectors_and_periods_take_their_kubernetes_forms() {
    let text = format!(
        "{GOOD}  reconcilePeriod: 1m30s\n  selector:\n    matchLabels: {{a: b}}\n    matchExpressions:\n    \
         - {{key: env, operator: In, values: [x, y]}}\n    - {{key: gone, operator: DoesNotExist}}\n"
    );
    let (entries, errors) = with_chart(&text);
    assert_eq!(errors, []);
    assert_eq!(entries[0].selector, "a=b,env in (x,y),!gone");
    assert_eq!(entries[0].reconcile_period, Some(Duration::from_secs(90)));
}

#[test]
fn durations_are_gos() {
    assert_eq!(go_duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
    assert_eq!(go_duration("300ms"), Some(Duration::from_millis(300)));
    assert_eq!(go_duration("0"), Some(Duration::ZERO));
    assert_eq!(go_duration("5"), None);
    assert_eq!(go_duration("1x"), None);
    assert_eq!(go_duration(""), None);
}

#[test]
fn text_that_is_no_list_is_one_error_with_its_place() {
    let (entries, errors) = with_chart("group: x\nversion: v1\n");
    assert_eq!(entries, []);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].line, 1);
    assert_eq!(with_chart("# nothing yet\n"), (vec![], vec![]));
}

fn elsewhere(chart: &str) -> Result<(Place, Value), String> {
    let (mut entries, errors) =
        with_chart(&format!("- group: g.io\n  version: v1\n  kind: A\n  chart: {chart}\n"));
    if let Some(error) = errors.first() {
        return Err(error.to_string());
    }
    let entry = entries.remove(0);
    match entry.chart {
        ChartPlace::Elsewhere(place) => Ok((place, entry.settings["chart"].clone())),
        ChartPlace::Disk(path) => Err(format!("on disk: {}", path.display())),
    }
}

#[test]
fn a_chart_elsewhere_is_named_as_in_a_charts_dependencies_or_by_one_address() {
    let (place, setting) = elsewhere(
        "{repository: 'https://c.example/stable/', name: web, version: '>=1 <2', interval: 5m, secretRef: {name: login}}",
    )
    .unwrap();
    assert_eq!(place.to_string(), "https://c.example/stable/web");
    assert_eq!(
        setting,
        json!({"repository": "https://c.example/stable/", "name": "web", "version": ">=1 <2", "interval": "5m", "secretRef": {"name": "login"}})
    );
    let of = |chart: &str| elsewhere(chart).unwrap().1;
    assert_eq!(
        of("oci://r.example/charts/web"),
        json!({"repository": "oci://r.example/charts", "name": "web"})
    );
    assert_eq!(
        of("oci://r.example:5000/charts/web:1.2.3_b"),
        json!({"repository": "oci://r.example:5000/charts", "name": "web", "version": "1.2.3+b"})
    );
    let digest = format!("sha256:{}", "0".repeat(64));
    assert_eq!(
        of(&format!("oci://r.example/charts/web@{digest}")),
        json!({"repository": "oci://r.example/charts", "name": "web", "digest": digest})
    );
}

#[test]
fn what_is_no_chart_elsewhere_is_told_with_its_place_and_what_there_is() {
    for (chart, said) in [
        ("{repository: 'https://c.example', nmae: web}", ["watches.yaml:4:", "nmae"]),
        ("{repository: 'https://c.example'}", ["watches.yaml:4:", "missing field `name`"]),
        ("{repository: c.example, name: web}", ["is no address such as", "oci://registry.example"]),
        ("{repository: 'https://c.example', name: web, interval: 5}", ["watches.yaml:", "interval"]),
        ("https://c.example/web-1.0.0.tgz", ["is an address", "{repository: …, name: …"]),
        ("oci://r.example", ["watches.yaml:4:", "oci://host/path/name:version"]),
        ("oci://me:hidden@r.example/charts/web", ["watches.yaml:", "login"]),
        ("[a]", ["watches.yaml:4:", "a map with repository and name"]),
    ] {
        let error = elsewhere(chart).unwrap_err();
        assert!(
            said.iter().all(|said| error.contains(said)) && !error.contains("hidden"),
            "{chart}: {error}"
        );
    }
}

#[test]
fn what_only_looks_like_a_variable_is_what_go_makes_of_it() {
    let env = |name: &str| (name == "A").then(|| "x".to_owned());
    for (text, expanded) in [
        ("$A-${A}", "x-x"),
        ("a$$b", "ab"),
        ("$1A", "A"),
        ("$*", ""),
        ("${}b", "b"),
        ("${A", "A"),
        ("5$", "5$"),
        ("$ A", "$ A"),
        ("$ä", "$ä"),
        ("${*}", ""),
    ] {
        assert_eq!(expand(text, &env), expanded, "{text}");
    }
}

#[test]
fn an_entry_may_use_what_another_one_anchored() {
    let first =
        "- group: g.io\n  version: v1\n  kind: A\n  chart: helm-charts/a\n  overrideValues: &all {a: b}\n";
    let text = format!(
        "{first}- group: g.io\n  version: v1\n  kind: B\n  chart: helm-charts/a\n  overrideValues: *all\n"
    );
    let (entries, errors) = with_chart(&text);
    assert_eq!(errors, []);
    assert_eq!(entries[1].settings["overrideValues"], json!({"a": "b"}));
    assert!(entries[1].origin.ends_with("watches.yaml:6"), "{}", entries[1].origin);
    let (entries, errors) =
        with_chart(&format!("{text}- group: g.io\n  version: v1\n  kind: C\n  chrat: x\n"));
    assert_eq!((entries.len(), errors.len()), (1, 2), "then each entry is on its own: {errors:?}");
}

#[test]
fn an_entry_may_name_the_account_that_acts_for_it() {
    let (entries, errors) = with_chart(&format!("{GOOD}  serviceAccountName: ops/web\n"));
    assert_eq!(errors, []);
    assert_eq!(entries[0].account, Some("ops/web".parse().unwrap()));
    let (entries, errors) = with_chart(&format!("{GOOD}  serviceAccountName: 'system:masters'\n"));
    assert_eq!(entries, []);
    assert!(
        errors[0].message.starts_with("serviceAccountName: \"system:masters\" names no"),
        "{}",
        errors[0]
    );
}
