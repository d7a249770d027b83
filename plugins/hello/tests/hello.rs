//! The plugin as the host runs it, on an in-memory cluster.

#[cfg(test)]
mod tests {
    use hello::{Hello, plugin};
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    };
    use kube::CustomResourceExt as _;
    use pilothouse_sdk::{
        DeleteOptions, KubeError, ObjectRef,
        harness::{Cluster, Fault, Runner, Verb, every_crash},
    };
    use serde_json::Value;

    const SAMPLE: &str = include_str!("../sample.yaml");
    const CRD: &str = include_str!("../crd.yaml");

    /// A cluster with the definition of the repository and the sample, and the host with the manifest.
    fn start() -> (Cluster, Runner) {
        let cluster = Cluster::new();
        cluster.define(&serde_saphyr::from_str::<Value>(CRD).unwrap()).unwrap();
        let mut sample: Value = serde_saphyr::from_str(SAMPLE).unwrap();
        sample["metadata"]["namespace"] = "default".into();
        cluster.create([sample]).unwrap();
        let runner = Runner::new(&cluster, plugin).manifest(include_str!("../plugin.yaml")).unwrap();
        (cluster, runner)
    }

    fn world() -> ObjectRef {
        ObjectRef::of::<Hello>("default", "world")
    }

    fn deployment() -> ObjectRef {
        ObjectRef::of::<Deployment>("default", "world")
    }

    fn get(cluster: &Cluster) -> Hello {
        cluster.kubectl().get("default", "world").unwrap().unwrap()
    }

    #[test]
    fn the_definition_is_the_one_the_types_give() {
        let generated = serde_saphyr::to_string(&Hello::crd()).unwrap();
        assert_eq!(generated, CRD, "run `cargo run -p hello --example crd > plugins/hello/crd.yaml`");
    }

    #[test]
    fn a_hello_becomes_a_page_its_server_and_a_service() {
        let (cluster, mut runner) = start();
        runner.settle().unwrap();
        assert_eq!(
            cluster.writes(),
            [
                "apply v1 ConfigMap default/world",
                "apply apps/v1 Deployment default/world",
                "apply v1 Service default/world",
                "patch hello.pilothouse.dev/v1alpha1 Hello default/world/status",
            ]
        );
        let page: ConfigMap = cluster.kubectl().get("default", "world").unwrap().unwrap();
        assert_eq!(page.data.unwrap()["index.html"], "Hello, world");
        let server: Deployment = cluster.kubectl().get("default", "world").unwrap().unwrap();
        assert_eq!(server.spec.replicas, Some(2));
        assert_eq!(server.metadata.owner_references.unwrap()[0].kind, "Hello");
        assert_eq!(get(&cluster).status.unwrap().url, "http://world.default.svc/");
        assert!(cluster.kubectl().get::<Service>("default", "world").unwrap().is_some());
    }

    #[test]
    fn it_is_ready_when_its_pods_are() {
        let (cluster, mut runner) = start();
        runner.settle().unwrap();
        cluster.set_ready_replicas(&deployment(), 1).unwrap();
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&world(), "Ready").unwrap().message, "1 of 2 pods are ready");
        cluster.set_ready(&deployment()).unwrap();
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&world(), "Ready").unwrap().status.as_str(), "True");
        assert_eq!(get(&cluster).status.unwrap().ready_replicas, 2);
        assert_eq!(runner.settle().unwrap().calls, 0);
    }

    #[test]
    fn a_new_greeting_changes_the_page_alone() {
        let (cluster, mut runner) = start();
        cluster.run_workloads();
        runner.settle().unwrap();
        cluster.forget_calls();
        cluster.edit::<Hello>("default", "world", |hello| hello.spec.greeting = "Bye".to_owned()).unwrap();
        runner.settle().unwrap();
        assert_eq!(
            cluster.writes(),
            [
                "apply v1 ConfigMap default/world",
                "patch hello.pilothouse.dev/v1alpha1 Hello default/world/status"
            ]
        );
    }

    #[test]
    fn what_somebody_scales_or_deletes_is_put_right() {
        let (cluster, mut runner) = start();
        runner.settle().unwrap();
        cluster.edit::<Deployment>("default", "world", |server| server.spec.replicas = Some(5)).unwrap();
        cluster.kubectl().delete::<Service>("default", "world", &DeleteOptions::default()).unwrap();
        runner.settle().unwrap();
        let server: Deployment = cluster.kubectl().get("default", "world").unwrap().unwrap();
        assert_eq!(server.spec.replicas, Some(2));
        assert!(cluster.kubectl().get::<Service>("default", "world").unwrap().is_some());
    }

    #[test]
    fn everything_goes_with_it() {
        let (cluster, mut runner) = start();
        runner.settle().unwrap();
        cluster.kubectl().delete::<Hello>("default", "world", &DeleteOptions::default()).unwrap();
        runner.settle().unwrap();
        assert!(!cluster.objects().iter().any(|object| object.name == "world"), "{:?}", cluster.objects());
    }

    #[test]
    fn an_empty_greeting_is_refused_by_the_definition() {
        let (cluster, _) = start();
        let edit = cluster.edit::<Hello>("default", "world", |hello| hello.spec.greeting.clear());
        assert!(
            matches!(&edit, Err(KubeError::Invalid(status)) if status.message.contains("spec.greeting")),
            "{edit:?}"
        );
    }

    #[test]
    fn an_unreachable_server_is_told_and_tried_again() {
        let (cluster, mut runner) = start();
        cluster.fail(Fault::unavailable().verb(Verb::Get).times(3));
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&world(), "Ready").unwrap().reason, "ServiceUnavailable");
        runner.run_for(std::time::Duration::from_secs(1)).unwrap();
        assert_eq!(cluster.condition(&world(), "Ready").unwrap().reason, "PodsStarting");
    }

    #[test]
    fn a_crash_after_any_write_loses_nothing() {
        let crashes = every_crash(|nth| {
            let (cluster, mut runner) = start();
            cluster.run_workloads();
            cluster.crash_after_write(nth);
            runner.settle().unwrap();
            assert_eq!(cluster.condition(&world(), "Ready").unwrap().status.as_str(), "True", "crash {nth}");
            assert_eq!(runner.children(&world()).len(), 3, "crash {nth}");
            cluster
        });
        assert!(crashes >= 5, "inventory, three children, status: {crashes}");
    }
}
