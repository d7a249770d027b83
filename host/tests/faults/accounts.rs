//! Releases made with the rights of an account of their own.

use serde_json::json;

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::proxy::{Asked, Fault, Proxy};
use crate::release::small;

#[tokio::test(flavor = "multi_thread")]
async fn an_entrys_account_is_who_installs_and_what_it_may_not_is_told_until_it_may() {
    let Some(bench) = Bench::new("accounts").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let watches = std::fs::read_to_string(place.project("watches.yaml")).unwrap();
    let entry =
        watches.replace("  kind: Player-stats\n", "  kind: Player-stats\n  serviceAccountName: installer\n");
    assert_ne!(entry, watches);
    std::fs::write(place.project("watches.yaml"), entry).unwrap();

    let metadata = json!({"name": "installer", "namespace": bench.namespace});
    bench
        .create(
            &bench.path("serviceaccounts", ""),
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        )
        .await;
    let all = json!(["*"]);
    let rule =
        |group: &str, resources: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": all});
    let core = ["secrets", "serviceaccounts", "configmaps", "persistentvolumeclaims"];
    let role = |rules: serde_json::Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules});
    let without_services = role(json!([
        rule("", &core),
        rule("apps", &["deployments", "statefulsets"]),
        rule("batch", &["jobs"])
    ]));
    bench.create(&bench.path("roles", ""), &without_services).await;
    let subject = json!({"kind": "ServiceAccount", "name": "installer", "namespace": bench.namespace});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "installer"},
    });
    bench.create(&bench.path("rolebindings", ""), &binding).await;

    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    let words = ["services", "system:serviceaccount:accounts:installer"];
    bench.await_condition("player-stats", "game", ("ReleaseFailed", "True"), &words).await;
    let more = json!({"rules": [rule("", &core), rule("", &["services"]), rule("apps", &["deployments", "statefulsets"]), rule("batch", &["jobs"])]});
    bench.merge(&bench.path("roles", "installer"), &more).await;
    bench.await_condition("player-stats", "game", ("Deployed", "True"), &[]).await;
    let deployment = bench.object("deployments", "game-player-stats").await.unwrap();
    assert_eq!(deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");

    // What the account made goes with its rights as well.
    bench.delete(&bench.path("player-stats", "game")).await;
    bench.await_revisions("game", &[]).await;

    // Its rights outlive the account: what fails then passes, and nothing is left behind for it.
    bench.make("player-stats", "game", small(1)).await;
    bench.await_condition("player-stats", "game", ("Deployed", "True"), &[]).await;
    bench.delete(&bench.path("serviceaccounts", "installer")).await;
    let deletes = |asked: &Asked| asked.method == "DELETE" && asked.path.contains("/deployments/");
    proxy.forget();
    proxy.script(move |asked| deletes(asked).then_some(Fault::Answer(500, "InternalError")));
    bench.delete(&bench.path("player-stats", "game")).await;
    await_that("it was tried twice", async || {
        let tried = proxy.seen(deletes).len();
        if tried >= 2 { Ok(()) } else { Err(format!("{tried} times")) }
    })
    .await;
    bench.object("player-stats", "game").await.unwrap();
    proxy.heal();
    bench.await_revisions("game", &[]).await;
    await_that("the Deployment is gone", async || {
        match bench.object("deployments", "game-player-stats").await {
            Ok(_) => Err("it is there".to_owned()),
            Err(_) => Ok(()),
        }
    })
    .await;
    assert_eq!(bench.told("AccountGone").await, [""; 0]);
    bench
        .create(
            &bench.path("serviceaccounts", ""),
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        )
        .await;

    // With its namespace the account goes first, and holds nothing.
    bench.make("player-stats", "game", small(1)).await;
    bench.await_condition("player-stats", "game", ("Deployed", "True"), &[]).await;
    let namespace = format!("/api/v1/namespaces/{}", bench.namespace);
    bench.delete(&namespace).await;
    await_that("the namespace is gone", async || match bench.get(&namespace).await {
        Ok(namespace) => Err(namespace["status"].to_string()),
        Err(_) => Ok(()),
    })
    .await;
}
