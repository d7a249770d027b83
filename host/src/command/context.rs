//! The context of a command: with the rights of the person, and on behalf of no object or of one that is looked at.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;

use super::Subject;
use crate::action::execute::Manager;
use crate::asset::Asset;
use crate::binding::Binding;
use crate::cluster::Cluster;
use crate::cluster::kubeconfig::ClusterArgs;
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
/// Who a person's own changes are by.
const MANAGER: &str = "pilothouse";

/// The cluster behind a client, for all questions of a session: what it serves is asked once.
pub(crate) fn cluster(client: kube::Client) -> Arc<Cluster> {
    let discovery = Arc::new(Discovery::new(client.clone()));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    let (observer, _) = Observer::new(watches, &[]);
    let api = Api::new(client, ClientMetrics::default());
    Arc::new(Cluster::new(api, discovery, Arc::new(observer)))
}

/// The context of one command.
pub(crate) fn context(
    revision: &Revision,
    assets: Vec<Arc<Asset>>,
    cluster: &Arc<Cluster>,
    subject: Option<&Subject>,
) -> Arc<HookContext> {
    let nobody =
        || Owner { key: ObjectKey::new(Arc::new(Gvk::new("", "", "")), None, ""), uid: Arc::from("") };
    let charts = subject.and_then(|subject| subject.charts.clone());
    let (charts, places) = charts.map_or((None, Vec::new()), |(charts, places)| (Some(charts), places));
    let owner = subject.map_or_else(nobody, |subject| subject.owner.clone());
    // What is asked as the plugin would do it is asked in its name.
    let manager = match subject {
        Some(_) => revision.manifest.manager(),
        None => Manager { name: MANAGER.to_owned(), supersedes: Vec::new() },
    };
    Arc::new(HookContext {
        plugin: Arc::clone(&revision.identity),
        grants: Arc::clone(&revision.grants),
        binding: Arc::new(Binding {
            settings: subject.map_or_else(|| Arc::from("{}"), |subject| Arc::clone(&subject.settings)),
            assets,
            charts: places,
            ..Binding::new(
                &revision.identity.name,
                Arc::clone(&owner.key.gvk),
                Duration::MAX,
                "the command line",
            )
        }),
        owner,
        manager,
        throttle: Arc::new(Throttle::per_second(QPS)),
        cluster: Arc::clone(cluster),
        metrics: Arc::new(PluginMetrics::default()),
        charts,
        wishes: Arc::default(),
        egress: Arc::default(),
        transfers: None,
        commands: None,
        handovers: None,
        announcer: None,
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
