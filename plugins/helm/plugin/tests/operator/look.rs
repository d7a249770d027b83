//! Releases as a person looks at them: lists, histories, requests for ways back.

use pilothouse_sdk::{Invocation, Patch};
use serde_json::{Value, json};

use crate::by_hand::{helm_rollback, two_revisions};
use crate::scene::{NAME, NAMESPACE, Scene, chart};

/// What `releases` answers, and what it says beside.
fn releases(scene: &Scene, options: &Value) -> (Result<Vec<Value>, String>, Vec<String>) {
    let mut all = json!({"namespace": NAMESPACE, "selector": "", "kinds": null});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let invocation = Invocation { name: "releases".to_owned(), options: all.to_string() };
    let answer = helm_plugin::command::run(scene.cluster.host("helm"), invocation);
    let rows = match answer.failure {
        Some(failure) => Err(failure),
        None => Ok(serde_json::from_slice(&answer.output).unwrap()),
    };
    (rows, answer.messages)
}

fn only_row(scene: &Scene) -> Value {
    let (rows, messages) = releases(scene, &json!({}));
    assert_eq!(messages, [""; 0]);
    let mut rows = rows.unwrap();
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn history(scene: &Scene) -> Vec<Value> {
    let lines = scene.command("history", &json!({"max": 256})).unwrap();
    lines.as_array().unwrap().clone()
}

#[test]
fn releases_are_found_by_their_records_and_say_how_they_stand() {
    let mut scene = two_revisions();
    scene.come_up();
    let row = only_row(&scene);
    let told = |field: &str| row[field].clone();
    assert_eq!(
        (told("namespace"), told("name"), told("kind")),
        (json!(NAMESPACE), json!(NAME), json!("Web"))
    );
    assert_eq!(
        (told("revision"), told("status"), told("ready")),
        (json!(2), json!("deployed"), json!("True"))
    );
    assert_eq!((told("chart"), told("appVersion")), (json!("site-1.0.0"), json!("7")));
    assert_eq!((told("reason"), told("message"), told("remarks")), (json!(""), json!(""), json!([])));
    assert!(told("updated").as_str().unwrap().starts_with("2026-01-01T"), "{row}");
}

#[test]
fn a_release_that_is_not_ready_says_why_and_one_made_by_hand_says_so() {
    let mut scene = two_revisions();
    let row = only_row(&scene);
    assert_eq!((&row["ready"], &row["reason"]), (&json!("False"), &json!("WaitingForReadiness")));
    assert!(row["message"].as_str().unwrap().starts_with("Deployment web: "), "{row}");
    helm_rollback(&scene, 1, 1);
    let row = only_row(&scene);
    assert_eq!((&row["revision"], &row["chart"]), (&json!(3), &json!("site-1.0.0")), "out of the record");
    scene.settle();
    assert_eq!(only_row(&scene)["remarks"], json!(["made by hand"]));
    scene.ask("suspend", "true");
    scene.settle();
    assert_eq!(only_row(&scene)["remarks"], json!(["made by hand", "suspended"]));
}

#[test]
fn what_was_never_installed_is_a_row_of_a_kind_that_is_named() {
    let scene = Scene::new(&json!({}));
    assert_eq!(releases(&scene, &json!({})).0.unwrap(), Vec::<Value>::new(), "no record names the kind");
    let web = |version: &str, selector: &str| json!({"kinds": [{"group": "charts.example.com", "version": version, "kind": "Web", "selector": selector}]});
    let rows = releases(&scene, &web("v1alpha1", "")).0.unwrap();
    assert_eq!((&rows[0]["status"], &rows[0]["revision"]), (&json!("not installed"), &Value::Null));
    assert_eq!(rows[0]["message"], "no operator has looked at it yet");
    assert_eq!(releases(&scene, &web("v1", "")).0.unwrap().len(), 1, "a version that is not served any more");
    assert_eq!(releases(&scene, &web("v1alpha1", "team=a")).0.unwrap().len(), 0);
    let unknown = json!({"kinds": [{"group": "x.y", "version": "v1", "kind": "Foo", "selector": ""}]});
    let (rows, messages) = releases(&scene, &unknown);
    assert_eq!(rows.unwrap(), Vec::<Value>::new());
    assert_eq!(messages, ["the cluster does not serve x.y/v1 Foo: is its definition there?"]);
}

#[test]
fn who_may_not_read_records_is_told_what_to_do() {
    let scene = two_revisions();
    scene.cluster.forbid("list", "secrets");
    let (refused, _) = releases(&scene, &json!({}));
    let refused = refused.unwrap_err();
    assert!(refused.contains("--watches-file") && refused.contains("secrets"), "{refused}");
    let kinds = json!({"kinds": [{"group": "charts.example.com", "version": "v1alpha1", "kind": "Web", "selector": ""}]});
    let (rows, messages) = releases(&scene, &kinds);
    let rows = rows.unwrap();
    assert_eq!((&rows[0]["revision"], &rows[0]["status"]), (&json!(2), &json!("unknown")));
    assert_eq!(rows[0]["chart"], "site-1.0.0", "the object says it");
    assert!(messages[0].starts_with("what the records of releases say cannot be told: "), "{messages:?}");
}

#[test]
fn a_history_tells_what_helm_tells_and_who_made_what() {
    let mut scene = two_revisions();
    helm_rollback(&scene, 1, 1);
    scene.settle();
    scene.set(&json!({"replicas": 4}));
    scene.settle();
    let lines = history(&scene);
    let column = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("revision"), [1, 2, 3, 4]);
    assert_eq!(column("status"), ["superseded", "superseded", "superseded", "deployed"]);
    assert_eq!(
        column("description"),
        ["Install complete", "Upgrade complete", "Rollback to 1", "Upgrade complete"]
    );
    // Helm wrote 2 anew when it deployed 3; the labels that were there stay, our notes do not.
    assert_eq!(column("made_by"), ["operator", "unknown", "hand", "operator"]);
    assert_eq!(lines[2]["remarks"], json!(["made by hand", "back from 2 to 1"]));
    assert_eq!((&lines[2]["rollback_from"], &lines[2]["rollback_to"]), (&json!(2), &json!(1)));
    assert_eq!(column("chart"), vec![json!("site-1.0.0"); 4]);
    let newest = scene.command("history", &json!({"max": 2})).unwrap();
    assert_eq!(newest[0]["revision"], 3);
}

#[test]
fn a_failure_and_what_followed_are_told() {
    let mut scene = Scene::installed(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2, "hooks": {"migrate": true}}));
    scene.settle();
    scene.fail("migrate");
    let lines = history(&scene);
    assert!(
        lines[1]["description"].as_str().unwrap().starts_with("Upgrade \"web\" failed: "),
        "{}",
        lines[1]
    );
    assert_eq!(lines[1]["attempt"], 1);
    assert_eq!(lines[2]["remarks"], json!(["back from 2, which failed, to 1"]));
}

#[test]
fn an_object_without_a_release_is_told_with_what_it_says_of_itself() {
    let mut scene = Scene::with(&json!({"broken": true}), &chart(&[]), &json!({}));
    let refused = |scene: &Scene| scene.command("history", &json!({"max": 9})).unwrap_err();
    assert_eq!(
        refused(&scene),
        "Web \"web\" in namespace \"shop\" is not installed, there is no release \"web\"; no operator has looked at it yet; is \
         one running that watches its kind here?"
    );
    scene.settle();
    let said = refused(&scene);
    assert!(said.contains("it says of itself: Ready is False: "), "{said}");
    scene.delete();
    scene.settle();
    let gone = Scene::new(&json!({}));
    let host = gone.runner.command_host(&gone.object()).unwrap();
    gone.delete();
    let object = json!({"apiVersion": "charts.example.com/v1alpha1", "kind": "Web", "namespace": NAMESPACE, "name": "none"});
    let options = json!({"object": object, "max": 1}).to_string();
    let answer = helm_plugin::command::run(host, Invocation { name: "history".to_owned(), options });
    assert_eq!(answer.failure.as_deref(), Some("there is no Web \"none\" in namespace \"shop\""));
}

#[test]
fn a_way_back_is_asked_for_and_followed_to_its_end() {
    let mut scene = two_revisions();
    scene.come_up();
    let asked = scene.command("rollback", &json!({"step": {"ask": {"revision": null}}})).unwrap();
    assert_eq!((&asked["from"], &asked["to"], &asked["waits_for"]), (&json!(2), &json!(1), &Value::Null));
    let words = asked["words"].as_str().unwrap();
    assert!(words.starts_with("1@2026-01-01T"), "{words}");
    let look =
        |scene: &Scene| scene.command("rollback", &json!({"step": {"look": {"words": words}}})).unwrap();
    assert_eq!(look(&scene)["state"], "asked");
    scene.settle();
    let now = look(&scene);
    assert_eq!((&now["state"], &now["revision"]), (&json!("done"), &json!(3)));
    scene.come_up();
    assert_eq!(look(&scene)["ready"], true);
    assert_eq!(scene.replicas(), Some(1));
    // The same again is another request.
    scene.set(&json!({"replicas": 5}));
    scene.settle();
    scene.cluster.advance(std::time::Duration::from_millis(5));
    let again = scene.command("rollback", &json!({"step": {"ask": {"revision": 1}}})).unwrap();
    assert_ne!(again["words"], words);
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
}

#[test]
fn a_way_back_that_waits_for_hooks_or_fails_is_told() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"restore": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let asked = scene.command("rollback", &json!({"step": {"ask": {"revision": 1}}})).unwrap();
    let look = |scene: &Scene| {
        scene.command("rollback", &json!({"step": {"look": {"words": asked["words"]}}})).unwrap()
    };
    scene.settle();
    let now = look(&scene);
    assert_eq!((&now["state"], &now["revision"]), (&json!("under-way"), &json!(3)));
    assert!(now["message"].as_str().unwrap().contains("pre-rollback hook Job restore"), "{now}");
    scene.fail("restore");
    let now = look(&scene);
    assert_eq!(now["state"], "failed");
    assert!(now["message"].as_str().unwrap().starts_with("Rollback \"web\" failed: "), "{now}");
}

#[test]
fn a_way_back_that_nobody_would_go_is_not_asked_for() {
    let mut scene = two_revisions();
    let before = scene.web();
    let refused = |scene: &Scene, revision: u32| {
        scene.command("rollback", &json!({"step": {"ask": {"revision": revision}}})).unwrap_err()
    };
    assert_eq!(
        refused(&scene, 7),
        "Web \"web\" in namespace \"shop\": there is no revision 7; there are 1, 2"
    );
    assert!(refused(&scene, 2).ends_with("revision 2 is the deployed one"));
    assert_eq!(scene.web(), before, "nothing was asked");
    scene.cluster.forbid("patch", "webs");
    let forbidden = refused(&scene, 1);
    assert!(forbidden.contains("cannot be asked to go back, which takes an annotation"), "{forbidden}");
    scene.cluster.permit("patch", "webs");
    scene.ask("suspend", "true");
    scene.settle();
    assert!(refused(&scene, 1).contains("is suspended"), "{}", refused(&scene, 1));
}

#[test]
fn a_release_of_another_object_is_not_shown_as_this_ones() {
    let scene = two_revisions();
    for revision in [1, 2] {
        let owner = json!({"apiVersion": "charts.example.com/v1", "kind": "Other", "name": "web", "uid": "u", "controller": true});
        let patch = Patch::merge(&json!({"metadata": {"ownerReferences": [owner]}})).unwrap();
        scene.cluster.kubectl().patch_ref::<Value>(&scene.secret(revision), &patch).unwrap();
    }
    let refused = scene.command("history", &json!({"max": 9})).unwrap_err();
    assert!(refused.ends_with("it belongs to Other \"web\""), "{refused}");
    let kinds = json!({"kinds": [{"group": "charts.example.com", "version": "v1alpha1", "kind": "Web", "selector": ""}]});
    let row = releases(&scene, &kinds).0.unwrap().remove(0);
    assert_eq!(row["deployedRevision"], Value::Null, "{row}");
}
