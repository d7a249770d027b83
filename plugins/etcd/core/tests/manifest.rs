//! Objects have the shapes that scripts written for the old operator look for.

#[cfg(test)]
mod tests {
    use etcd_api::{EtcdClusterSpec, MemberRecord};
    use etcd_core::{
        manifest::{PodRequest, Start, children, pod},
        naming::{Place, member_name},
        observed::Cluster,
        spec::Plan,
    };
    use serde_json::{Value, json};

    fn cluster(namespace: &str, uid: &str, spec: Value) -> Cluster {
        let spec: EtcdClusterSpec = serde_json::from_value(spec).unwrap();
        let (name, namespace, uid) = ("example".to_owned(), namespace.to_owned(), uid.to_owned());
        Cluster { name, namespace, uid, generation: 1, deleting: false, spec }
    }

    fn made(cluster: &Cluster, start: Start<'_>) -> Value {
        let plan = Plan::of(cluster).unwrap();
        let name = member_name(&cluster.name, &cluster.uid, 0);
        let claim = plan.pod.persistent_volume_claim_spec.is_some();
        let member = MemberRecord { name, claim, ..MemberRecord::default() };
        pod(&PodRequest { cluster, plan: &plan, member: &member, version: plan.version, start, trust: "" })
    }

    fn command(pod: &Value) -> Vec<String> {
        serde_json::from_value(pod["spec"]["containers"][0]["command"].clone()).unwrap()
    }

    #[test]
    fn a_pod_has_the_old_operators_names_labels_and_ports() {
        let cluster = cluster("default", "u", json!({"size": 1, "version": "3.5.35"}));
        let pod = made(&cluster, Start::Seed { token: "u", snapshot: None });
        let name = pod["metadata"]["name"].as_str().unwrap();
        assert_eq!(pod["metadata"]["labels"]["app"], "etcd");
        assert_eq!(pod["metadata"]["labels"]["etcd_cluster"], "example");
        assert_eq!(pod["metadata"]["labels"]["etcd_node"], name);
        assert_eq!(pod["metadata"]["annotations"]["etcd.version"], "3.5.35");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["controller"], true);
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!(name), &json!("example")));
        assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
        assert_eq!(pod["spec"]["containers"][0]["image"], "quay.io/coreos/etcd:v3.5.35");
        let line = command(&pod);
        for option in
            ["--initial-cluster-state=new", "--initial-cluster-token=u", "--data-dir=/var/etcd/data"]
        {
            assert!(line.iter().any(|word| word == option), "{option} is not in {line:?}");
        }
    }

    #[test]
    fn a_member_that_joins_has_no_token_and_knows_its_peers() {
        let cluster = cluster("default", "u", json!({"size": 3}));
        let members = ["example-a".to_owned(), "example-b".to_owned()];
        let line = command(&made(&cluster, Start::Existing { members: &members }));
        assert!(line.contains(&"--initial-cluster-state=existing".to_owned()));
        assert!(!line.iter().any(|word| word.starts_with("--initial-cluster-token")));
        let peers = line.iter().find(|word| word.starts_with("--initial-cluster=")).unwrap();
        assert_eq!(
            peers,
            "--initial-cluster=example-a=http://example-a.example.default.svc:2380,example-b=http://example-b.example.default.svc:2380"
        );
    }

    #[test]
    fn tls_is_for_peers_and_clients_with_certificates_from_secrets() {
        let tls =
            json!({"static": {"member": {"peerSecret": "p", "serverSecret": "s"}, "operatorSecret": "o"}});
        let cluster = cluster("default", "u", json!({"size": 1, "TLS": tls}));
        let pod = made(&cluster, Start::Seed { token: "u", snapshot: None });
        let line = command(&pod);
        for option in [
            "--peer-client-cert-auth=true",
            "--peer-trusted-ca-file=/etc/etcdtls/member/peer-tls/peer-ca.crt",
            "--peer-cert-file=/etc/etcdtls/member/peer-tls/peer.crt",
            "--peer-key-file=/etc/etcdtls/member/peer-tls/peer.key",
            "--client-cert-auth=true",
            "--trusted-ca-file=/etc/etcdtls/member/server-tls/server-ca.crt",
            "--cert-file=/etc/etcdtls/member/server-tls/server.crt",
            "--key-file=/etc/etcdtls/member/server-tls/server.key",
            "--listen-client-urls=https://0.0.0.0:2379",
            "--listen-peer-urls=https://0.0.0.0:2380",
        ] {
            assert!(line.iter().any(|word| word == option), "{option} is not in {line:?}");
        }
        let volumes = pod["spec"]["volumes"].as_array().unwrap();
        for (volume, secret) in
            [("member-peer-tls", "p"), ("member-server-tls", "s"), ("etcd-client-tls", "o")]
        {
            let found = volumes.iter().find(|found| found["name"] == volume).unwrap();
            assert_eq!(found["secret"]["secretName"], secret);
        }
    }

    #[test]
    fn services_and_the_disruption_budget_are_those_of_the_voters() {
        let cluster = cluster("default", "u", json!({"size": 3}));
        let budget = |voters| {
            let all = children(&cluster, None, voters);
            all.iter().find(|child| child["kind"] == "PodDisruptionBudget").cloned()
        };
        assert_eq!(budget(0), None);
        for (voters, least) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)] {
            assert_eq!(budget(voters).unwrap()["spec"]["minAvailable"], least, "{voters} voters");
        }
        let all = children(&cluster, None, 3);
        let service = |name: &str| all.iter().find(|child| child["metadata"]["name"] == name).unwrap();
        assert_eq!(service("example")["spec"]["clusterIP"], "None");
        let tolerate = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
        for name in ["example", "example-client"] {
            assert_eq!(service(name)["metadata"]["annotations"][tolerate], "true");
        }
        let client = service("example-client");
        assert_eq!(client["spec"]["ports"][0]["port"], 2379);
        assert_eq!(client["spec"]["selector"], json!({"app": "etcd", "etcd_cluster": "example"}));
    }

    #[test]
    fn clusters_of_one_name_in_two_namespaces_have_nothing_in_common() {
        let one = cluster("one", "u-1", json!({"size": 1}));
        let two = cluster("two", "u-2", json!({"size": 1}));
        let pod_of = |cluster: &Cluster| made(cluster, Start::Seed { token: &cluster.uid, snapshot: None });
        let (first, second) = (pod_of(&one), pod_of(&two));
        assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
        let (line, other) = (command(&first), command(&second));
        for option in ["--initial-cluster-token=", "--initial-advertise-peer-urls=", "--name="] {
            let value = |line: &[String]| line.iter().find(|word| word.starts_with(option)).cloned();
            assert_ne!(value(&line), value(&other), "{option}");
        }
        let url = Place { cluster: "example", namespace: "two" }.peer_url("example-a", false);
        assert_eq!(Place { cluster: "example", namespace: "one" }.member_at(&url), None);
        for child in children(&one, None, 1) {
            assert_eq!(child["metadata"]["namespace"], "one");
        }
    }
}
