//! Releases as a person looks at them, beside the real helm: lists, histories, differences, ways back.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Answered, Place};
use crate::proxy::{Asked, Proxy};

const WATCHES: &str = "\
- group: charts.example.com
  version: v1
  kind: Second
  chart: helm-charts/second
";

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: {{ .Values.text }}, other: same}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {password: {{ .Values.password | default \"hunter2\" }}}
{{ if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-extra}
{{ end }}
";

const HOOK: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: pre-upgrade}
";

/// A project with a chart that needs no pods.
fn place(bench: &Bench, kubeconfig: &str) -> Place {
    let place = Place::new(&bench.namespace, kubeconfig, &["helm.wasm"]);
    let write = |name: &str, text: &str| {
        let path = place.project(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("watches.yaml", WATCHES);
    write("helm-charts/second/Chart.yaml", "apiVersion: v2\nname: second\nversion: 0.1.0\nappVersion: '7'\n");
    write("helm-charts/second/templates/objects.yaml", OBJECTS);
    write("helm-charts/second/templates/hook.yaml", HOOK);
    place
}

fn printed(answered: &Answered) -> Value {
    assert_eq!(answered.code, Some(0), "{answered:?}");
    serde_json::from_str(&answered.output).unwrap()
}

/// The instant of a time, whatever its zone.
fn instant(time: &Value) -> jiff::Timestamp {
    time.as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_says_what_helm_says_and_a_way_back_is_gone_to_its_end() {
    let Some(bench) = Bench::new("look-history").await else { return };
    let place = place(&bench, &bench.cluster.kubeconfig_text().unwrap());
    let host = place.start();
    host.await_ready().await;
    bench.make("seconds", "game", json!({"text": "one"})).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    bench.respec("seconds", "game", json!({"text": "two"})).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    bench.helm(&["rollback", "game", "1"]).await.unwrap();
    bench.await_condition("seconds", "game", ("ManualRevision", "True"), &["revision 3"]).await;

    let ours = printed(&place.ask(&["history", "seconds/game", "-o", "json"]).await);
    let helms = bench.helm(&["history", "game", "--output", "json"]).await.unwrap();
    let helms: Value = serde_json::from_str(&helms).unwrap();
    let (ours, helms) = (ours.as_array().unwrap(), helms.as_array().unwrap());
    assert_eq!(ours.len(), 3);
    for (our, helm) in ours.iter().zip(helms) {
        for (field, value) in helm.as_object().unwrap() {
            match field.as_str() {
                "updated" => assert_eq!(instant(&our[field]), instant(value)),
                // Where helm tells it, it is what we call so.
                "rollback_revision" => assert_eq!(our["rollback_to"], *value),
                _ => assert_eq!(our[field], *value, "{field}: {our} {helm}"),
            }
        }
    }
    let made_by: Vec<_> = ours.iter().map(|line| line["made_by"].as_str().unwrap()).collect();
    assert_eq!(made_by, ["operator", "unknown", "hand"], "helm wrote 2 anew");
    assert_eq!(ours[2]["remarks"], json!(["made by hand, and kept", "back from 2 to 1"]));
    let table = place.ask(&["history", "second", "game", "--max", "1"]).await;
    let table: Vec<_> = table.output.lines().collect();
    assert!(table[0].starts_with("REVISION   UPDATED"), "{table:?}");
    assert!(table[1].contains("made by hand, and kept; back from 2 to 1"), "{table:?}");

    for arguments in
        [&["releases", "-o", "json"][..], &["releases", "--watches-file", "none.yaml", "-o", "json"]]
    {
        let answered = place.ask(arguments).await;
        if arguments.len() > 3 {
            assert!(answered.errors.contains("none.yaml: No such file"), "{answered:?}");
            continue;
        }
        let row = &printed(&answered)[0];
        assert_eq!(
            (&row["name"], &row["revision"], &row["ready"]),
            (&json!("game"), &json!(3), &json!("True"))
        );
        assert_eq!((&row["chart"], &row["remarks"]), (&json!("second-0.1.0"), &json!(["made by hand"])));
    }

    let back = place.ask(&["rollback", "seconds.charts.example.com/game", "2", "--timeout=2m"]).await;
    assert_eq!(back.code, Some(0), "{back:?}");
    assert!(back.output.starts_with("seconds/game: asked to go back from revision 3 to 2\n"), "{back:?}");
    assert!(
        back.output.ends_with("went back to revision 2, as revision 4; all objects are ready\n"),
        "{back:?}"
    );
    let map = bench.object("configmaps", "game").await.unwrap();
    assert_eq!(map["data"]["text"], "two");
    // To the one before, by its own choice.
    let back = place.ask(&["rollback", "second/game"]).await;
    assert!(back.output.contains("from revision 4 to 3"), "{back:?}");
    let refused = place.ask(&["rollback", "second/game", "9"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.errors.contains("there is no revision 9; there are 1, 2, 3, 4, 5"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_told_before_it_is_made_and_is_then_what_is_made() {
    let Some(bench) = Bench::new("look-diff").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = place(&bench, &proxy.kubeconfig());
    let diff = async || place.ask(&["diff", "second/game"]).await;
    bench.make("seconds", "game", json!({"text": "one", "extra": true})).await;
    let before = diff().await;
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(before.output.contains("would be installed as revision 1 (second-0.1.0)"), "{before:?}");
    assert!(before.output.contains("objects: 3 created"), "{before:?}");
    let host = place.start();
    bench.await_revisions("game", &[(1, "deployed")]).await;
    bench.await_condition("seconds", "game", ("Ready", "True"), &[]).await;
    let same = diff().await;
    assert_eq!((same.code, same.output.as_str()), (Some(0), ""), "{same:?}");
    host.kill();

    let spec = json!({"text": "two", "extra": false, "password": "swordfish"});
    bench.respec("seconds", "game", spec).await;
    let drift = json!({"data": {"other": "drifted", "theirs": "kept"}});
    bench.merge(&bench.path("configmaps", "game"), &drift).await;
    proxy.forget();
    let told = diff().await;
    assert_eq!(told.code, Some(1), "{told:?}");
    let wrote = proxy.seen(Asked::writes);
    assert!(wrote.is_empty(), "{wrote:?}");
    for line in [
        "Second \"game\" in namespace \"look-diff\": would be upgraded from revision 1 (second-0.1.0) to 2 (second-0.1.0)",
        "ConfigMap game (v1) in namespace look-diff would be changed",
        "changed by others since revision 1: .data.other",
        "-  other: drifted",
        "+  other: same",
        "-  text: one",
        "+  text: two",
        "   theirs: kept",
        "-  password: '*** (before)'",
        "+  password: '*** (after)'",
        "ConfigMap game-extra (v1) in namespace look-diff would be deleted",
        "  pre-upgrade ConfigMap game-hook (weight 0)",
        "objects: 2 changed, 1 deleted",
    ] {
        assert!(told.output.lines().any(|known| known == line), "no line {line:?} in\n{}", told.output);
    }
    for secret in ["hunter2", "swordfish", "c3dvcmRmaXNo"] {
        assert!(!told.output.contains(secret), "{}", told.output);
    }
    assert!(!told.output.contains("pilothouse.dev/"), "our marks stay as they are:\n{}", told.output);

    let _host = place.start();
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    await_that("nothing differs", async || {
        let now = diff().await;
        if now.code == Some(0) { Ok(()) } else { Err(now.output) }
    })
    .await;
    let map = bench.object("configmaps", "game").await.unwrap();
    assert_eq!(map["data"], json!({"text": "two", "other": "same", "theirs": "kept"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_older_tools_that_would_go_are_told_as_going() {
    let Some(bench) = Bench::new("look-takeover").await else { return };
    let place = place(&bench, &bench.cluster.kubeconfig_text().unwrap());
    let chart = place.project("helm-charts/second").display().to_string();
    // As Helm 3 and operator-sdk do it: no server-side apply.
    bench.helm(&["install", "game", &chart, "--server-side=false", "--set", "text=one"]).await.unwrap();
    let gone = OBJECTS.replace(", other: same", "");
    std::fs::write(place.project("helm-charts/second/templates/objects.yaml"), gone).unwrap();
    bench.make("seconds", "game", json!({"text": "one"})).await;
    let told = place.ask(&["diff", "second/game", "--color=always"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.output.contains("\u{1b}[31m-  other: same\u{1b}[0m"), "{}", told.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_told_is_told_with_what_to_do() {
    let Some(bench) = Bench::new("look-refused").await else { return };
    let place = place(&bench, &bench.cluster.kubeconfig_text().unwrap());
    let refused = async |arguments: &[&str], code: i32| {
        let answered = place.ask(arguments).await;
        assert_eq!(answered.code, Some(code), "{arguments:?}: {answered:?}");
        answered.errors
    };
    let kind = refused(&["history", "sekond/game"], 1).await;
    assert!(
        kind.contains("serves no kind \"sekond\"; the watches file has second.charts.example.com"),
        "{kind}"
    );
    let gone = refused(&["history", "second/game"], 1).await;
    assert!(gone.contains("there is no Second \"game\" in namespace \"look-refused\""), "{gone}");
    bench.make("seconds", "game", json!({"text": "one"})).await;
    let new = refused(&["history", "second/game"], 1).await;
    assert!(
        new.contains("is not installed, there is no release \"game\"; no operator has looked at it yet"),
        "{new}"
    );
    let entry = refused(&["diff", "configmap/game"], 2).await;
    assert!(
        entry.contains("no entry of watches.yaml reconciles ConfigMap.v1; its kinds are Second.v1"),
        "{entry}"
    );
    let gone = refused(&["diff", "second/none"], 2).await;
    assert!(gone.contains("there is no Second \"none\""), "{gone}");
    let scope = refused(&["rollback", "namespace/default"], 1).await;
    assert!(scope.contains("lives in no namespace"), "{scope}");
    std::fs::remove_file(place.project("watches.yaml")).unwrap();
    let watches = refused(&["diff", "second/game"], 2).await;
    assert!(watches.contains("name one with --watches-file"), "{watches}");
    let none = place.ask(&["releases"]).await;
    assert_eq!((none.code, none.output.as_str()), (Some(0), ""), "{none:?}");
    assert!(none.errors.contains("there are no releases in namespace look-refused"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_may_not_is_told_what_it_lacks() {
    let Some(bench) = Bench::new("look-rights").await else { return };
    let admin = place(&bench, &bench.cluster.kubeconfig_text().unwrap());
    let host = admin.start();
    host.await_ready().await;
    bench.make("seconds", "game", json!({"text": "one"})).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    bench.respec("seconds", "game", json!({"text": "two"})).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    // Reads everything here, changes nothing.
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}],
    });
    let reader = "look-reader";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": reader}],
    });
    bench.create(&bench.path("roles", ""), &role).await;
    bench.create(&bench.path("rolebindings", ""), &binding).await;
    let kubeconfig = std::fs::read(bench.cluster.kubeconfig_for(reader, &[]).unwrap()).unwrap();
    std::fs::write(admin.path("kubeconfig"), kubeconfig).unwrap();
    await_that("the reader may read", async || {
        let answered = admin.ask(&["history", "second/game"]).await;
        if answered.code == Some(0) { Ok(()) } else { Err(answered.errors) }
    })
    .await;
    let refused = admin.ask(&["rollback", "second/game"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.errors.contains("cannot be asked to go back, which takes an annotation"), "{refused:?}");
    bench.respec("seconds", "game", json!({"text": "two", "extra": true})).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "superseded"), (3, "deployed")]).await;
    host.kill();
    bench.respec("seconds", "game", json!({"text": "four"})).await;
    let told = admin.ask(&["diff", "second/game"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(
        told.output.contains("note: not asked of the API server, compared with the record: "),
        "{told:?}"
    );
    assert!(told.output.lines().any(|line| line == "+  text: four"), "{}", told.output);
    let everywhere = admin.ask(&["releases", "-A"]).await;
    assert_eq!(everywhere.code, Some(1), "{everywhere:?}");
    assert!(everywhere.errors.contains("cannot list resource"), "{everywhere:?}");
}
