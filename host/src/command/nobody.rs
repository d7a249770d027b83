//! The context of a command: on behalf of no object, with the rights of the person.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;

use crate::action::execute::Manager;
use crate::asset::Asset;
use crate::binding::Binding;
use crate::cli::ClusterArgs;
use crate::cluster::Cluster;
use crate::cluster::request::Api;
use crate::controller::discovery::Discovery;
use crate::controller::observe::Observer;
use crate::controller::throttle::Throttle;
use crate::controller::watch::Watches;
use crate::object::{Gvk, ObjectKey, Owner};
use crate::plugin::context::HookContext;
use crate::plugin::revision::Revision;
use crate::telemetry::ClientMetrics;
use crate::telemetry::series::PluginMetrics;

/// As many requests as a person's own tools may send.
const QPS: u32 = 100;

/// The context of one command.
pub(crate) fn context(
    revision: &Revision,
    assets: Vec<Arc<Asset>>,
    client: kube::Client,
) -> Arc<HookContext> {
    let gvk = Arc::new(Gvk::new("", "", ""));
    let discovery = Arc::new(Discovery::new(client.clone()));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    let (observer, _) = Observer::new(watches, &[]);
    let api = Api::new(client, ClientMetrics::default());
    Arc::new(HookContext {
        plugin: Arc::clone(&revision.identity),
        grants: Arc::clone(&revision.grants),
        owner: Owner { key: ObjectKey::new(Arc::clone(&gvk), None, ""), uid: Arc::from("") },
        binding: Arc::new(Binding {
            plugin: Arc::clone(&revision.identity.name),
            gvk,
            selector: String::new(),
            settings: Arc::from("{}"),
            assets,
            charts: Vec::new(),
            finalizer: None,
            legacy_finalizers: Vec::new(),
            resync: Duration::MAX,
            account: None,
            names_account: false,
            origin: "the command line".to_owned(),
        }),
        manager: Manager::default(),
        throttle: Arc::new(Throttle::per_second(QPS)),
        cluster: Arc::new(Cluster::new(api, discovery, Arc::new(observer))),
        metrics: Arc::new(PluginMetrics::default()),
        charts: None,
        wishes: Arc::default(),
    })
}

/// A client that reaches nothing. No grant lets a request come so far.
pub(crate) fn client_of_no_cluster() -> kube::Client {
    let refuse = |_: Request<Body>| async {
        Err::<Response<Body>, _>(std::io::Error::other("this command uses no cluster"))
    };
    kube::Client::new(tower::service_fn(refuse), "default")
}

/// The person's cluster.
pub(crate) async fn client_of(cluster: &ClusterArgs) -> Result<kube::Client, String> {
    cluster.connect().await
}
