//! The SDK's own types: outcomes, errors, typed access, routing, logs.

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::{CustomResource, CustomResourceExt as _};
    use pilothouse_sdk::{
        ApiStatus, AssetError, Condition, Context, Denial, Dynamic, Error, ErrorClass, Event, Gvk, KubeError,
        Level, ObjectRef, Outcome, Ownership, Patch, Plugin, Reason, Reconciler, Request,
        harness::{Cluster, Runner},
        k8s_openapi::api::{
            apps::v1::Deployment,
            core::v1::{ConfigMap, Namespace},
        },
        k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta,
    };
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(CustomResource, Debug, Clone, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Shop", namespaced, status = "ShopStatus")]
    struct ShopSpec {
        size: u32,
    }

    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
    struct ShopStatus {
        seen: Option<u32>,
        conditions: Vec<meta::Condition>,
    }

    struct Shops;

    impl Reconciler for Shops {
        type Resource = Shop;

        fn reconcile(&self, ctx: &Context, shop: &Shop) -> Result<Outcome, Error> {
            let size = shop.spec.size;
            pilothouse_sdk::info!(ctx, size = size, "shop {} is {}", "small", size);
            pilothouse_sdk::warn!(ctx, "plain");
            ctx.count("seen", 1.0, &[("kind", "shop")]);
            ctx.count("seen", -1.0, &[("kind", "shop")]);
            ctx.gauge("size", f64::from(size), &[]);
            ctx.observe("took", Duration::from_millis(1500), &[]);
            ctx.publish(&Event::normal("Seen", "once"));
            Ok(Outcome::ready()
                .status(&ShopStatus { seen: Some(size), conditions: vec![] })
                .event(Event::normal("Seen", "twice")))
        }
    }

    struct Anything;

    impl Reconciler for Anything {
        type Resource = Dynamic;

        fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
            Ok(Outcome::ready().status(&json!({"any": format!("{} {}", ctx.kind(), object.name())})))
        }
    }

    fn shop(size: u32) -> Shop {
        let mut shop = Shop::new("s", ShopSpec { size });
        shop.metadata.namespace = Some("default".to_owned());
        shop
    }

    fn request(kind: Gvk, object: &str) -> Request {
        let deadline = Duration::from_secs(1);
        Request { kind, object: object.to_owned(), reasons: vec![Reason::Start], failures: 0, deadline }
    }

    #[test]
    fn a_typed_reconciler_sees_its_type_and_everything_it_tells_is_recorded() {
        let cluster = Cluster::new();
        cluster.define(&Shop::crd()).unwrap();
        cluster.create([shop(3)]).unwrap();
        let mut runner = Runner::new(&cluster, || Plugin::new().with(Shops));
        runner.settle().unwrap();
        let live: Shop = cluster.kubectl().get("default", "s").unwrap().unwrap();
        assert_eq!(live.status.unwrap().seen, Some(3));
        let logs = cluster.logs();
        assert_eq!((logs[0].level, logs[0].message.as_str()), (Level::Info, "shop small is 3"));
        assert_eq!(
            (&logs[0].fields, logs[1].message.as_str()),
            (&vec![("size".to_owned(), "3".to_owned())], "plain")
        );
        let events: Vec<_> = cluster.events().into_iter().map(|event| event.event.message).collect();
        assert_eq!(events, ["once", "twice"]);
        assert_eq!(cluster.metric("seen{kind=\"shop\"}"), Some(1.0));
        assert_eq!(
            (cluster.metric("size"), cluster.metric("took_sum"), cluster.metric("took_count")),
            (Some(3.0), Some(1.5), Some(1.0))
        );
    }

    #[test]
    fn an_object_that_is_not_of_the_type_is_a_permanent_error_with_the_place() {
        let cluster = Cluster::new();
        let plugin = Plugin::new().with(Shops);
        let text = r#"{"apiVersion":"example.com/v1","kind":"Shop","metadata":{"name":"s"},"spec":{"size":"three"}}"#;
        let error = plugin.reconcile(cluster.host("p"), request(Gvk::of::<Shop>(), text)).unwrap_err();
        assert_eq!((error.class(), error.reason()), (ErrorClass::Permanent, "InvalidObject"));
        assert!(error.message().contains("invalid type: string \"three\", expected u32"), "{error}");
    }

    #[test]
    fn calls_go_to_the_reconciler_of_the_kind_and_the_rest_to_the_dynamic_one() {
        let cluster = Cluster::new();
        let both = Plugin::new().with(Anything).with(Shops);
        assert_eq!(both.kinds(), [Gvk::of::<Shop>()]);
        let outcome = |plugin: &Plugin, kind: Gvk| {
            let object = json!({"metadata": {"name": "n"}, "spec": {"size": 1}});
            plugin
                .reconcile(cluster.host("p"), request(kind, &object.to_string()))
                .map(|outcome| format!("{outcome:?}"))
        };
        assert!(outcome(&both, Gvk::of::<Shop>()).unwrap().contains("seen"));
        assert!(outcome(&both, Gvk::new("x.io", "v1", "Y")).unwrap().contains("x.io/v1 Y n"));
        let error = outcome(&Plugin::new().with(Shops), Gvk::new("example.com", "v2", "Shop")).unwrap_err();
        assert_eq!(
            (error.class(), error.reason()),
            (ErrorClass::Permanent, "UnknownKind"),
            "another version is another kind"
        );
    }

    #[test]
    fn a_child_that_does_not_say_what_it_is_fails_the_call_as_a_whole() {
        struct Nameless;
        impl Reconciler for Nameless {
            type Resource = Dynamic;

            fn reconcile(&self, _: &Context, _: &Dynamic) -> Result<Outcome, Error> {
                let good = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
                Ok(Outcome::ready().child(&good).child(&ConfigMap::default()).child(&good))
            }
        }
        let cluster = Cluster::new();
        let plugin = Plugin::new().with(Nameless);
        let error = plugin.reconcile(cluster.host("p"), request(Gvk::new("", "v1", "X"), "{}")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "InvalidData: a child (kind \"ConfigMap\", name \"\") has no metadata.name"
        );
    }

    #[test]
    fn a_status_that_is_no_object_fails_the_call() {
        struct Scalar;
        impl Reconciler for Scalar {
            type Resource = Dynamic;

            fn reconcile(&self, _: &Context, _: &Dynamic) -> Result<Outcome, Error> {
                Ok(Outcome::ready().status(&3))
            }
        }
        let plugin = Plugin::new().with(Scalar);
        let error =
            plugin.reconcile(Cluster::new().host("p"), request(Gvk::new("", "v1", "X"), "{}")).unwrap_err();
        assert_eq!(error.message(), "the status is not a JSON object");
        assert!(Error::retry("X", "y").status(&3).message().contains("status was not written"));
    }

    #[test]
    fn refusals_of_the_cluster_are_retried_with_a_sentence_an_administrator_understands() {
        let denial = Denial {
            verb: "create".to_owned(),
            group: "networking.k8s.io".to_owned(),
            resource: "ingresses".to_owned(),
            namespace: Some("shop".to_owned()),
            name: Some("web".to_owned()),
            account: "system:serviceaccount:ops:hello".to_owned(),
            message: String::new(),
        };
        let error = Error::from(KubeError::Denied(Box::new(denial)));
        assert_eq!((error.class(), error.reason()), (ErrorClass::Retry, "Forbidden"));
        assert_eq!(
            error.message(),
            "system:serviceaccount:ops:hello may not create ingresses.networking.k8s.io \"web\" in namespace shop"
        );
        let throttled = Error::from(KubeError::Throttled(Duration::from_secs(3)));
        assert_eq!(throttled.class(), ErrorClass::RetryAfter(Duration::from_secs(3)));
        let status = |code| ApiStatus { code, reason: "Timeout".to_owned(), message: String::new() };
        assert_eq!(KubeError::Unavailable(status(504)).to_string(), "Timeout (504)");
        assert_eq!(Error::from(AssetError::Unknown).class(), ErrorClass::Permanent);
        assert_eq!(Error::from(AssetError::Unreadable("x".to_owned())).class(), ErrorClass::Retry);
        let json = serde_json::from_str::<u8>("x").unwrap_err();
        assert_eq!(Error::from(json).context("spec").message(), "spec: expected value at line 1 column 1");
    }

    #[test]
    fn settings_and_assets_reach_the_hook_and_wrong_ones_are_permanent() {
        #[derive(Deserialize)]
        struct Wanted {
            level: u8,
        }
        struct Reader;
        impl Reconciler for Reader {
            type Resource = Shop;

            fn reconcile(&self, ctx: &Context, _: &Shop) -> Result<Outcome, Error> {
                let (plugin, binding): (Wanted, Wanted) = (ctx.config()?, ctx.binding()?);
                let (tree, files) = (ctx.asset("chart")?, ctx.asset_files("chart")?);
                assert_eq!(ctx.asset("other").unwrap_err(), AssetError::Unknown);
                let found = format!(
                    "{} {} {} {} {}",
                    plugin.level,
                    binding.level,
                    tree.size,
                    files[0].path,
                    tree.digest.len()
                );
                Ok(Outcome::ready().condition(Condition::new("Read", true).message(found)))
            }
        }
        let cluster = Cluster::new();
        cluster.define(&Shop::crd()).unwrap();
        cluster.create([shop(1)]).unwrap();
        let object = ObjectRef::of::<Shop>("default", "s");
        let runner = Runner::new(&cluster, || Plugin::new().with(Reader))
            .config(&json!({"level": 1}))
            .asset("chart", [("b", "yy"), ("a", "x")]);
        let mut wrong = runner.binding(&json!({"level": "high"}));
        wrong.settle().unwrap();
        let stalled = cluster.condition(&object, "Stalled").unwrap();
        assert!(
            stalled.message.starts_with("the settings of the kind: invalid type: string \"high\""),
            "{stalled:?}"
        );
        let mut right = wrong.binding(&json!({"level": 2}));
        right.settle().unwrap();
        assert_eq!(cluster.condition(&object, "Read").unwrap().message, "1 2 3 a 64");
    }

    #[test]
    fn built_in_types_go_to_the_cluster_and_come_back() {
        let cluster = Cluster::new();
        let kubectl = cluster.kubectl();
        let mut deployment = Deployment::default();
        deployment.metadata.name = Some("web".to_owned());
        deployment.metadata.namespace = Some("default".to_owned());
        let created = kubectl.create(&deployment, Ownership::None).unwrap();
        assert_eq!(created.spec.replicas, Some(1), "the server's default");
        let patch = Patch::merge(&json!({"spec": {"replicas": 2}})).unwrap();
        kubectl.patch::<Deployment>("default", "web", &patch).unwrap();
        let edited = cluster.edit::<Deployment>("default", "web", |d| {
            d.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        });
        assert_eq!(edited.unwrap().spec.replicas, Some(2));
        assert_eq!(kubectl.list::<Deployment>("default").labels("a=b").all().unwrap().len(), 1);
        assert_eq!(kubectl.list::<Namespace>(None).all().unwrap().len(), 2);
        assert!(kubectl.delete::<Deployment>("default", "web", &Default::default()).unwrap());
        assert!(kubectl.get::<Deployment>("default", "web").unwrap().is_none());
        let error = kubectl.get_ref::<u8>(&ObjectRef::of::<Namespace>(None, "default")).unwrap_err();
        assert!(error.to_string().starts_with("v1 Namespace default cannot be read as u8: "), "{error}");
        assert!(
            kubectl
                .served_kinds()
                .unwrap()
                .iter()
                .any(|kind| kind.kind == Gvk::of::<Deployment>() && kind.namespaced)
        );
        assert_eq!(kubectl.version().unwrap().major, "1");
    }
}
