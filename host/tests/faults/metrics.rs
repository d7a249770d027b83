//! The metrics as a Deployment of a current operator-sdk asks for them: with TLS, for those who may.

use http::Request;
use kube::Client;

use crate::bench::Bench;
use crate::host::{Host, Place};

/// What the host answers to whoever has this token, however its certificate came about.
async fn scrape(host: &Host, token: &str) -> Result<String, String> {
    let mut config = kube::Config::new(format!("https://{}", host.metrics()).parse().unwrap());
    config.accept_invalid_certs = true;
    config.auth_info.token = Some(token.to_owned().into());
    let client = Client::try_from(config).unwrap();
    let request = Request::get("/metrics").body(Vec::new()).unwrap();
    client.request_text(request).await.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_accounts_that_the_api_server_knows_and_that_may_get_them() {
    let Some(bench) = Bench::new("metrics-guarded").await else { return };
    let in_namespace = format!("--namespace={}", bench.namespace);
    for account in ["prometheus", "stranger"] {
        bench.kubectl(&["create", "serviceaccount", account, &in_namespace]).await.unwrap();
    }
    let role = ["create", "clusterrole", "metrics-reader", "--verb=get", "--non-resource-url=/metrics"];
    bench.kubectl(&role).await.unwrap();
    let account = format!("--serviceaccount={}:prometheus", bench.namespace);
    let binding =
        ["create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader", &account];
    bench.kubectl(&binding).await.unwrap();
    let place = Place::new(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap(), &["hello.wasm"])
        .with("--metrics-secure")
        .with("--metrics-require-rbac");
    let host = place.start();
    host.await_ready().await;
    let token =
        async |account: &str| bench.kubectl(&["create", "token", account, &in_namespace]).await.unwrap();

    let page = scrape(&host, token("prometheus").await.trim()).await.unwrap();
    assert!(page.contains("pilothouse_plugin_loaded"), "{page}");
    let refused = scrape(&host, token("stranger").await.trim()).await.unwrap_err();
    assert!(refused.contains("stranger may not get /metrics"), "{refused}");
    let refused = scrape(&host, "made.up.token").await.unwrap_err();
    assert!(refused.contains("the token is nobody's"), "{refused}");
}
