use helm_chart::{File, load_directory};
use pilothouse_sdk::harness::Cluster;
use serde_json::{Value, json};

use super::*;

fn ask(name: &str, options: &Value) -> CommandAnswer {
    let invocation = pilothouse_sdk::Invocation { name: name.to_owned(), options: options.to_string() };
    super::super::run(Cluster::new().host("helm"), invocation)
}

#[test]
fn a_starter_is_the_files_of_a_chart_that_a_survey_can_be_made_of() {
    let answer = ask("starter", &json!({"name": "nginx"}));
    assert_eq!((answer.failure, answer.files.len()), (None, 12));
    let files = answer.files.into_iter().map(|file| File::new(file.path, file.content)).collect();
    let chart = load_directory(files, &mut Vec::new()).unwrap();
    let survey = Survey::of(&chart, &Wishes { domain: "example.com".into(), ..Wishes::default() }).unwrap();
    let told = serde_json::to_value(&survey).unwrap();
    // What a project generator reads.
    assert_eq!(told["names"]["qualifiedGroup"], "charts.example.com");
    assert_eq!(
        (&told["names"]["plural"], &told["names"]["listKind"]),
        (&json!("nginxes"), &json!("NginxList"))
    );
    assert_eq!(told["crd"]["metadata"]["name"], "nginxes.charts.example.com");
    assert_eq!(
        (&told["chart"]["type"], &told["chart"]["deprecated"]),
        (&json!("application"), &json!(false))
    );
    assert!(told["sampleSpec"].as_str().unwrap().contains("replicaCount: 1"));
    let own = json!({
        "apiGroups": ["charts.example.com"], "resources": ["nginxes/status"], "verbs": ["patch"],
        "why": ["its status"], "found": "base", "scope": "namespace",
    });
    assert!(told["rules"].as_array().unwrap().contains(&own));
}

#[test]
fn options_that_are_not_known_and_names_that_are_none_are_failures() {
    let failure = |name, options| ask(name, &options).failure.unwrap();
    assert!(failure("starter", json!({"name": "a/b"})).starts_with("chart name must be"));
    assert!(failure("starter", json!({})).contains("do not fit"));
    assert!(
        failure("survey", json!({"chart": {"name": "a", "asset": "a", "directory": true}, "x": 1}))
            .contains("do not fit")
    );
}

#[test]
fn wishes_that_are_missing_null_or_empty_are_made_up() {
    let options = json!({
        "chart": {"name": "a", "asset": "a", "directory": true},
        "domain": "example.com", "group": null, "kind": "", "version": "v1",
    });
    let options: SurveyOptions = super::super::options::parse(&options.to_string()).unwrap();
    let wishes = options.wishes();
    assert_eq!(
        (&*wishes.domain, &*wishes.group, &*wishes.kind, &*wishes.version),
        ("example.com", "", "", "v1")
    );
}
