//! `watches.yaml` and charts with mistakes.

use serde_json::json;

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::release::small;

const KINDS: &str = "\
- group: charts.example.com
  version: v1alpha1
  kind: Player-stats
  chart: helm-charts/player-stats
";

/// A second kind with a chart of its own.
const SECOND: &str = "\
- group: charts.example.com
  version: v1
  kind: Second
  chart: helm-charts/second
";

fn place(bench: &Bench, watches: &str) -> Place {
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::with_project(&bench.namespace, &kubeconfig);
    std::fs::write(place.project("watches.yaml"), watches).unwrap();
    place
}

fn second_chart(place: &Place, template: &str) {
    std::fs::create_dir_all(place.project("helm-charts/second/templates")).unwrap();
    let chart = "apiVersion: v2\nname: second\nversion: 0.1.0\n";
    std::fs::write(place.project("helm-charts/second/Chart.yaml"), chart).unwrap();
    std::fs::write(place.project("helm-charts/second/templates/map.yaml"), template).unwrap();
}

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  text: {{ .Values.text | upper }}
";

#[tokio::test(flavor = "multi_thread")]
async fn wrong_entries_are_told_with_file_line_and_column_and_the_others_are_watched() {
    let Some(bench) = Bench::new("watches-entries").await else { return };
    let watches = format!(
        "# comment\n{KINDS}\
         - group: a.example.com\n  version: v1\n  kind: Unknown\n  chrat: x\n\
         {KINDS}\
         - group: b.example.com\n  version: v1\n  kind: NoChart\n  chart: helm-charts/none\n\
         - group: c.example.com\n  version: v1\n  kind: [broken\n\
         {SECOND}"
    );
    let place = place(&bench, &watches);
    second_chart(&place, MAP);
    let _host = place.start();
    let place_of = |line: u32| format!("watches.yaml:{line}:");
    place.await_log(&[&format!("{}3: ", place_of(9)), "chrat"]).await;
    place.await_log(&[&format!("{}1: ", place_of(10)), "duplicate kind", "watches.yaml:2"]).await;
    place.await_log(&[&format!("{}1: ", place_of(14)), "helm-charts/none", "Chart.yaml"]).await;
    place.await_log(&[&place_of(20)]).await;
    bench.make("player-stats", "first", small(1)).await;
    bench.make("seconds", "last", json!({"text": "x"})).await;
    bench.await_revisions("first", &[(1, "deployed")]).await;
    bench.await_revisions("last", &[(1, "deployed")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_one_usable_entry_ends_the_start_and_names_the_place() {
    let Some(bench) = Bench::new("watches-none").await else { return };
    for (watches, words) in [
        ("- group: a\n  version: v1\n  kind: A\n\tchart: x\n", "watches.yaml:3:9: "),
        (
            "- group: a\n  version: v1\n  kind: A\n  chart: none\n",
            "watches.yaml:1:1: chart \"none\" not found",
        ),
        ("group: a\nversion: v1\n", "watches.yaml:1:1: "),
        (
            "- group: a\n  version: v1\n  kind: A\n  chart: helm-charts/player-stats\n  reconcilePeriod: 5\n",
            "watches.yaml:",
        ),
    ] {
        let place = place(&bench, watches);
        let status = place.run().await;
        assert_eq!(status.code(), Some(1), "{watches:?}: {}", place.log());
        assert!(place.log().contains(words), "{watches:?}: {}", place.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_template_stands_on_its_objects_conditions_and_heals_when_it_is_saved_again() {
    let Some(bench) = Bench::new("watches-template").await else { return };
    let place = place(&bench, &format!("{KINDS}{SECOND}"));
    second_chart(&place, &MAP.replace("upper }}", "upper }"));
    let _host = place.start();
    bench.make("seconds", "broken", json!({"text": "a"})).await;
    bench.make("player-stats", "whole", small(1)).await;
    let told = bench.await_condition("seconds", "broken", ("ReleaseFailed", "True"), &["map.yaml:6"]).await;
    assert!(told.contains("parse error at (second/templates/map.yaml:6)"), "{told}");
    bench.await_revisions("whole", &[(1, "deployed")]).await;
    second_chart(&place, MAP);
    bench.await_revisions("broken", &[(1, "deployed")]).await;
    bench.await_condition("seconds", "broken", ("Deployed", "True"), &[]).await;

    // A release that works is not touched by a template that does not.
    second_chart(&place, &MAP.replace("upper", "uper"));
    bench
        .await_condition(
            "seconds",
            "broken",
            ("Irreconcilable", "True"),
            &["map.yaml:6", "\"uper\" not defined"],
        )
        .await;
    let map = bench.object("configmaps", "broken").await.unwrap();
    assert_eq!(map["data"]["text"], "A");
    assert_eq!(bench.revisions("broken").await, [(1, "deployed".to_owned())]);
    second_chart(&place, &MAP.replace("upper", "repeat 2"));
    bench.await_revisions("broken", &[(1, "superseded"), (2, "deployed")]).await;
    gone(&bench, "seconds", "broken", "Irreconcilable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_file_or_values_file_that_is_no_yaml_is_told_with_its_place() {
    let Some(bench) = Bench::new("watches-chart").await else { return };
    let place = place(&bench, &format!("{KINDS}{SECOND}"));
    second_chart(&place, MAP);
    std::fs::write(place.project("helm-charts/second/values.yaml"), "a: b\nc: [d\ne: f\n").unwrap();
    let _host = place.start();
    bench.make("seconds", "values", json!({"text": "a"})).await;
    let chart = place.project("helm-charts/second").display().to_string();
    let refused = bench.helm(&["template", "values", &chart]).await.unwrap_err();
    let words = refused.split_once("Error: ").unwrap().1.trim();
    // With the chart's path as the watches file has it.
    let line = ["failed to load chart helm-charts/second: ", "values.yaml", "line 2", words];
    bench.await_condition("seconds", "values", ("Irreconcilable", "True"), &line).await;
    std::fs::write(place.project("helm-charts/second/values.yaml"), "a: b\n").unwrap();
    bench.await_revisions("values", &[(1, "deployed")]).await;
    // The chart goes away as a whole and comes back.
    std::fs::remove_file(place.project("helm-charts/second/Chart.yaml")).unwrap();
    bench.await_condition("seconds", "values", ("Irreconcilable", "True"), &["Chart.yaml"]).await;
    second_chart(&place, MAP);
    gone(&bench, "seconds", "values", "Irreconcilable").await;
    assert_eq!(bench.revisions("values").await, [(1, "deployed".to_owned())]);
}

/// Waits until an object no longer has a condition.
pub(crate) async fn gone(bench: &Bench, resource: &str, name: &str, kind: &str) {
    await_that(format!("{resource}/{name} has no {kind}"), async || {
        let object = bench.object(resource, name).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let there = conditions.iter().any(|condition| condition["type"] == kind);
        if there { Err(format!("{conditions:?}")) } else { Ok(()) }
    })
    .await;
}
