//! Flags that change what is printed.

use super::place;

#[test]
fn a_chart_is_rendered_as_another_generation_of_helm_did() {
    let Some(place) = place() else { return };
    place.write("web/values.yaml", "greeting: null\n");
    place.write(
        "web/templates/config.yaml",
        "a: {{ hasKey .Values \"greeting\" }}\n\n---\nb: {{ .Capabilities.HelmVersion.Version }}\n",
    );
    let source = "---\n# Source: web/templates/config.yaml\n";
    let three = place.printed(&["template", "./web", "--compat", "3"]);
    assert_eq!(three, format!("{source}a: true\n{source}b: v3.19.0\n"));
    let four = format!("{source}a: false\n\n\n{source}b: v4.3.1\n");
    assert_eq!(place.printed(&["template", "./web"]), four);
    assert_eq!(place.printed(&["template", "./web", "--compat=4"]), four);
    assert!(place.refused(&["template", "./web", "--compat=2"]).contains("'2'"));
}

#[test]
fn a_template_picks_values() {
    let Some(place) = place() else { return };
    place.write("web/values.yaml", "greeting: hello\nlist: [{k: a}, {k: b}]\n");
    let show = |template: &str| place.printed(&["show", "values", "./web", "--jsonpath", template]);
    assert_eq!(show("{.greeting}"), "hello");
    assert_eq!(show("{range .list[*]}{.k};{end}"), "a;b;");
    assert_eq!(show("{.missing}"), "");
    assert_eq!(
        place.refused(&["show", "values", "./web", "--jsonpath={.a"]),
        "Error: error parsing jsonpath {.a: unclosed action"
    );
    assert_eq!(
        place.refused(&["show", "chart", "./web", "--jsonpath={.a}"]),
        "Error: unknown flag: --jsonpath"
    );
}

#[test]
fn the_log_has_levels_and_debug_lines_for_who_asks() {
    let Some(place) = place() else { return };
    place.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, condition: db.enabled}]\n",
    );
    place.write("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n");
    place.write("web/values.yaml", "greeting: hello\ndb: {enabled: often}\n");
    let told = |flags: &[&str]| {
        let output = place.run(&[&["template", "./web"], flags].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let warning = "level=WARN msg=\"returned non-bool value\" path=db.enabled chart=db\n";
    assert_eq!(told(&[]), warning);
    let path = place.path().join("web").canonicalize().unwrap();
    let debug = format!(
        "level=DEBUG msg=\"Original chart version\" version=\"\"\n\
         level=DEBUG msg=\"setting version to >0.0.0-0\"\n\
         level=DEBUG msg=\"Chart path\" path={}\n{warning}\
         level=DEBUG msg=\"number of dependencies in the chart\" chart=web dependencies=1\n\
         level=DEBUG msg=\"number of dependencies in the chart\" chart=db dependencies=0\n",
        path.display()
    );
    assert_eq!(told(&["--debug", "--devel"]), debug);
}

#[test]
fn old_ways_to_say_dry_run_are_taken_with_a_warning_and_wrong_ones_refused() {
    let Some(place) = place() else { return };
    for (flag, said) in [
        ("--dry-run", "--dry-run is deprecated and should be replaced with '--dry-run=client'"),
        (
            "--dry-run=true",
            "boolean '--dry-run=true' flag is deprecated and must be replaced with '--dry-run=client'",
        ),
    ] {
        let output = place.run(&["template", "./web", flag]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("level=WARN msg=\"{said}\"\n"));
    }
    for (value, modes) in [
        ("none", "\"server\" or \"client\""),
        ("false", "\"server\" or \"client\""),
        ("x", "\"none\", \"server\", or \"client\""),
    ] {
        let refused = place.refused(&["template", "./web", &format!("--dry-run={value}")]);
        assert_eq!(refused, format!("Error: invalid dry-run value (\"{value}\"). Must be {modes}"));
    }
}
