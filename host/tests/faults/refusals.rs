//! What the API server refuses: missing rights of the account, and policies.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::release::small;
use crate::watches_file::gone;

/// Everything the tests' objects are made of, without Services.
const RESOURCES: [&str; 14] = [
    "configmaps",
    "secrets",
    "serviceaccounts",
    "persistentvolumeclaims",
    "events",
    "deployments",
    "jobs",
    "hellos",
    "hellos/status",
    "player-stats",
    "player-stats/status",
    "player-stats/finalizers",
    "hellos/finalizers",
    "pods",
];

impl Bench {
    fn account(&self) -> String {
        format!("system:serviceaccount:{}:host", self.namespace)
    }

    /// A kubeconfig of the namespace's ServiceAccount `host`, which may do everything with these resources.
    async fn restricted(&self, resources: &[&str]) -> String {
        let kubeconfig = self.cluster.kubeconfig_for(&self.account(), &["system:serviceaccounts"]).unwrap();
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "host"}});
        self.create(&self.path("serviceaccounts", ""), &account).await;
        let api = "rbac.authorization.k8s.io";
        let metadata = json!({"name": "host"});
        let role = json!({
            "apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": metadata, "rules": [rule(resources)],
        });
        self.create(&self.path("roles", ""), &role).await;
        let binding = json!({
            "apiVersion": format!("{api}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": "host"},
            "subjects": [{"apiGroup": api, "kind": "User", "name": self.account()}],
        });
        self.create(&self.path("rolebindings", ""), &binding).await;
        std::fs::read_to_string(kubeconfig).unwrap()
    }

    async fn allow(&self, resources: &[&str]) {
        self.merge(&self.path("roles", "host"), &json!({"rules": [rule(resources)]})).await;
    }

    /// A policy in the namespace; the answer is when the API server holds to it.
    async fn policy(&self, expression: &str, message: &str) {
        let api = "/apis/admissionregistration.k8s.io/v1";
        let rule = json!({
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
        });
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": self.namespace},
            "spec": {
                "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": expression, "message": message}],
            },
        });
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": self.namespace}});
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": self.namespace},
            "spec": {
                "policyName": self.namespace, "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": selector},
            },
        });
        self.create(&format!("{api}/validatingadmissionpolicies"), &policy).await;
        self.create(&format!("{api}/validatingadmissionpolicybindings"), &binding).await;
        let container = json!({"name": "c", "image": "i"});
        let probe = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"},
            "spec": {
                "replicas": 13, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}},
            },
        });
        await_that("the policy holds", async || {
            let path = format!("{}?dryRun=All", self.path("deployments", ""));
            match self.ask(http::Method::POST, &path, "application/json", &probe).await {
                Err(refusal) if refusal.contains(message) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    async fn end_policy(&self) {
        let api = "/apis/admissionregistration.k8s.io/v1";
        self.delete(&format!("{api}/validatingadmissionpolicybindings/{}", self.namespace)).await;
    }
}

fn rule(resources: &[&str]) -> Value {
    json!({"apiGroups": ["*"], "resources": resources, "verbs": ["*"]})
}

fn with_services() -> Vec<&'static str> {
    [RESOURCES.as_slice(), &["services"]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_the_account_may_not_make_is_named_and_made_when_the_role_allows_it() {
    let Some(bench) = Bench::new("rbac-children").await else { return };
    let kubeconfig = bench.restricted(&RESOURCES).await;
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    let words = ["Forbidden", "patch", "services", &bench.account()];
    bench.await_condition("hellos", "web", ("Ready", "False"), &words).await;
    bench.await_replicas("web", 1).await;
    bench.allow(&with_services()).await;
    await_that("the Service is made", async || bench.object("services", "web").await).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["PodsStarting"]).await;
    assert_eq!(host.ended(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_the_account_could_never_make_does_not_hold_up_its_owners_deletion() {
    let Some(bench) = Bench::new("rbac-never").await else { return };
    let kubeconfig = bench.restricted(&RESOURCES).await;
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let _host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["Forbidden", "services"]).await;
    bench.await_replicas("web", 1).await;
    bench.delete(&bench.path("hellos", "web")).await;
    for resource in ["hellos", "deployments"] {
        await_that(format!("{resource} web is gone"), async || match bench.object(resource, "web").await {
            Ok(object) => Err(object["status"].to_string()),
            Err(_) => Ok(()),
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_the_account_may_not_make_is_named_and_installed_when_the_role_allows_it() {
    let Some(bench) = Bench::new("rbac-install").await else { return };
    let kubeconfig = bench.restricted(&RESOURCES).await;
    let place = Place::with_project(&bench.namespace, &kubeconfig);
    let host = place.start();
    bench.make("player-stats", "web", small(1)).await;
    let words = ["InstallError", "services", &bench.account()];
    let told = bench.await_condition("player-stats", "web", ("ReleaseFailed", "True"), &words).await;
    assert!(["get", "patch", "create"].iter().any(|verb| told.contains(&format!("cannot {verb}"))), "{told}");
    bench.allow(&with_services()).await;
    bench.await_condition("player-stats", "web", ("Deployed", "True"), &[]).await;
    gone(&bench, "player-stats", "web", "ReleaseFailed").await;
    let history = bench.history("web").await;
    assert_eq!(history.last().map(|(_, status)| status.as_str()), Some("deployed"), "{history:?}");
    assert_eq!(history.iter().filter(|(_, status)| status == "deployed").count(), 1, "{history:?}");
    assert_eq!(host.ended(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_the_account_may_not_make_leaves_the_release_and_is_made_when_the_role_allows_it() {
    let Some(bench) = Bench::new("rbac-upgrade").await else { return };
    let kubeconfig = bench.restricted(&with_services()).await;
    let place = Place::with_project(&bench.namespace, &kubeconfig);
    let _host = place.start();
    bench.make("player-stats", "web", small(1)).await;
    bench.await_revisions("web", &[(1, "deployed")]).await;
    bench.allow(&RESOURCES).await;
    let mut wanted = small(2);
    wanted["service"] = json!({"port": 81});
    bench.respec("player-stats", "web", wanted).await;
    let words = ["services", &bench.account()];
    bench.await_condition("player-stats", "web", ("Ready", "False"), &words).await;
    assert_eq!(bench.history("web").await, [(1, "deployed".to_owned())]);
    bench.await_replicas("web-player-stats", 1).await;
    bench.allow(&with_services()).await;
    bench.await_revisions("web", &[(1, "superseded"), (2, "deployed")]).await;
    bench.await_replicas("web-player-stats", 2).await;
    bench.await_condition("player-stats", "web", ("Deployed", "True"), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_resource_the_account_may_not_read_is_waited_for_and_served_when_it_may() {
    let Some(bench) = Bench::new("rbac-primary").await else { return };
    let others: Vec<&str> = with_services().into_iter().filter(|name| !name.starts_with("hello")).collect();
    let kubeconfig = bench.restricted(&others).await;
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    let seen = await_that("the host says what it waits for", async || match host.ready().await {
        Err(page) if page.contains("Hello") => Ok(page),
        other => Err(format!("{other:?}")),
    });
    assert!(seen.await.0.contains("503"));
    place.await_log(&["hellos", &bench.account()]).await;
    bench.allow(&with_services()).await;
    bench.await_replicas("web", 1).await;
    host.await_ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_a_policy_refuses_is_told_in_its_words_and_made_when_it_is_lifted() {
    let Some(bench) = Bench::new("policy-children").await else { return };
    bench.policy("object.spec.replicas != 13", "thirteen brings bad luck").await;
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let _host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 12})).await;
    bench.await_replicas("web", 12).await;
    bench.respec("hellos", "web", json!({"replicas": 13})).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["thirteen brings bad luck", "web"]).await;
    bench.await_replicas("web", 12).await;
    bench.end_policy().await;
    bench.await_replicas("web", 13).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_a_policy_refuses_leaves_the_release_and_is_made_when_it_is_lifted() {
    let Some(bench) = Bench::new("policy-upgrade").await else { return };
    bench.policy("object.spec.replicas != 13", "thirteen brings bad luck").await;
    let place = Place::with_project(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap());
    let _host = place.start();
    bench.make("player-stats", "web", small(1)).await;
    bench.await_revisions("web", &[(1, "deployed")]).await;
    bench.respec("player-stats", "web", small(13)).await;
    let words = ["UpgradeError", "thirteen brings bad luck"];
    bench.await_condition("player-stats", "web", ("ReleaseFailed", "True"), &words).await;
    assert_eq!(bench.history("web").await, [(1, "deployed".to_owned())]);
    bench.await_condition("player-stats", "web", ("Deployed", "True"), &[]).await;
    bench.end_policy().await;
    bench.await_revisions("web", &[(1, "superseded"), (2, "deployed")]).await;
    gone(&bench, "player-stats", "web", "ReleaseFailed").await;
}
