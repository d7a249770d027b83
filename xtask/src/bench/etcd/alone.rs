//! The pods of a cluster without their operator: the same containers and probes, told at once who all the members are.

use serde_json::{Value, json};

/// Three pods and the Services that they find each other by.
#[derive(Debug)]
pub(super) struct Pods {
    pods: Vec<Value>,
    services: Vec<Value>,
}

impl Pods {
    /// Copies of what an operator made.
    pub(super) fn of(pods: &[Value], services: &[Value]) -> Self {
        Self { pods: pods.iter().map(copy).collect(), services: services.iter().map(copy).collect() }
    }

    /// All of them, a new cluster of three.
    pub(super) fn at_once(&self) -> Vec<Value> {
        let members: Vec<String> = self.pods.iter().map(address).collect();
        let pods = self.pods.iter().map(|pod| told(pod, &members.join(",")));
        self.services.iter().cloned().chain(pods).collect()
    }

    /// One after the other, each a cluster of its own: what it takes to start three pods in turn.
    pub(super) fn in_turn(&self) -> Vec<Vec<Value>> {
        let mut steps: Vec<Vec<Value>> = self.pods.iter().map(|pod| vec![told(pod, &address(pod))]).collect();
        if let Some(first) = steps.first_mut() {
            first.extend(self.services.iter().cloned());
        }
        steps
    }
}

/// Nothing of what the API server and the scheduler added.
fn copy(object: &Value) -> Value {
    let field = |path: &str| object.pointer(path).cloned().unwrap_or_default();
    let mut spec = field("/spec");
    if let Some(spec) = spec.as_object_mut() {
        for field in ["nodeName", "clusterIPs"] {
            spec.remove(field);
        }
        if spec.get("clusterIP").is_some_and(|address| address != "None") {
            spec.remove("clusterIP");
        }
    }
    json!({
        "apiVersion": field("/apiVersion"), "kind": field("/kind"), "spec": spec,
        "metadata": {"name": field("/metadata/name"), "labels": field("/metadata/labels")},
    })
}

fn command(pod: &Value) -> Vec<String> {
    let command = pod.pointer("/spec/containers/0/command").and_then(Value::as_array);
    command.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// `name=address` of a member, as etcd wants to be told of its peers.
fn address(pod: &Value) -> String {
    let command = command(pod);
    let option = |name: &str| command.iter().find_map(|option| option.strip_prefix(name)).unwrap_or_default();
    format!("{}={}", option("--name="), option("--initial-advertise-peer-urls="))
}

/// A member of a new cluster of these.
fn told(pod: &Value, members: &str) -> Value {
    let mut pod = pod.clone();
    let kept = command(&pod).into_iter().filter(|option| !option.starts_with("--initial-cluster"));
    let mut command: Vec<String> = kept.collect();
    command.push(format!("--initial-cluster={members}"));
    command.push("--initial-cluster-state=new".to_owned());
    if let Some(place) = pod.pointer_mut("/spec/containers/0/command") {
        *place = json!(command);
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, more: &[&str]) -> Value {
        let mut command = vec![
            "etcd".to_owned(),
            format!("--name={name}"),
            format!("--initial-advertise-peer-urls=http://{name}:2380"),
        ];
        command.extend(more.iter().map(|option| (*option).to_owned()));
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": "u"}, "status": {},
            "spec": {"nodeName": "n", "containers": [{"command": command}]}})
    }

    #[test]
    fn copies_know_each_other_and_nothing_of_their_origin() {
        let made = [pod("a", &["--initial-cluster=a=x", "--initial-cluster-state=new"]), pod("b", &[])];
        let pods = Pods::of(&made, &[json!({"kind": "Service", "spec": {"clusterIP": "10.0.0.1"}})]);
        let all = pods.at_once();
        assert_eq!(all[0]["spec"], json!({}));
        for pod in &all[1..] {
            let told = command(pod).join(" ");
            assert!(told.contains("--initial-cluster=a=http://a:2380,b=http://b:2380 "), "{told}");
            assert!(!told.contains("a=x"), "{told}");
            assert!(pod["spec"].get("nodeName").is_none() && pod["metadata"].get("uid").is_none());
        }
        let turns = pods.in_turn();
        assert!(command(&turns[1][0]).contains(&"--initial-cluster=b=http://b:2380".to_owned()));
        assert_eq!(turns[0].len(), 2, "the Services come with the first");
    }
}
