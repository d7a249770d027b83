//! The Deployment of the operator.

use serde_json::{Value, json};

use super::{Inputs, Log, proxy};
use crate::project::yaml_edit::{Document, EditError, Path, below, item, keys};

/// Limits that scaffolds wrote; others are somebody's decision.
const CPU_LIMITS: [&str; 3] = ["100m", "200m", "500m"];
/// The same, and too little.
const SMALL_MEMORY: [&str; 2] = ["30Mi", "90Mi"];
/// What started the operator in images of before.
const OLD_COMMANDS: [&str; 4] =
    ["/manager", "helm-operator", "/usr/local/bin/helm-operator", "/usr/local/bin/entrypoint"];

/// Brings a Deployment up to date; other objects stay.
pub(super) fn edit(document: &mut Document, inputs: &Inputs<'_>) -> Result<Log, EditError> {
    let mut log = Log::default();
    let kind =
        |document: &Document| document.value().get("kind").and_then(Value::as_str) == Some("Deployment");
    if !kind(document) {
        return Ok(log);
    }
    proxy::remove_sidecar(document, &mut log)?;
    let pod = keys(&["spec", "template", "spec"]);
    let Some(container) = container(document) else {
        log.note("no container that is the operator: one named manager, or the only one");
        return Ok(log);
    };
    arguments(document, &container, inputs, &mut log)?;
    probes(document, &container, &mut log)?;
    environment(document, &container, &mut log)?;
    resources(document, &container, &mut log)?;
    security(document, &pod, &container, &mut log)?;
    let grace = below(&pod, &["terminationGracePeriodSeconds"]);
    if document.get(&grace).and_then(Value::as_u64) == Some(10) {
        document.set(&grace, json!(30))?;
        log.did("30 s to end instead of 10: calls under way may take 25 s");
    }
    Ok(log)
}

/// The container that is the operator.
pub(super) fn container(document: &Document) -> Option<Path> {
    let path = keys(&["spec", "template", "spec", "containers"]);
    let list = document.get(&path)?.as_array()?;
    let named = list.iter().position(|one| one.get("name").and_then(Value::as_str) == Some("manager"));
    let index = named.or_else(|| (list.len() == 1).then_some(0))?;
    Some(item(&path, index))
}

fn arguments(
    document: &mut Document,
    container: &Path,
    inputs: &Inputs<'_>,
    log: &mut Log,
) -> Result<(), EditError> {
    let command = below(container, &["command"]);
    if let Some(words) = document.get(&command).and_then(Value::as_array)
        && let [Value::String(only)] = words.as_slice()
        && OLD_COMMANDS.contains(&only.as_str())
    {
        let only = only.clone();
        document.remove(&command)?;
        log.did(format!("without command {only}: the image starts the host"));
    }
    let path = below(container, &["args"]);
    for index in 0..strings(document.get(&path)).len() {
        let Some(old) = strings(document.get(&path)).get(index).cloned() else { continue };
        let new = renamed(&old);
        if new != old {
            log.did(format!("{new} instead of {old}"));
            proxy::set_item(document, &path, index, &new)?;
        }
    }
    // References to variables are filled in by the kubelet.
    let args = strings(document.get(&path));
    if !args.iter().any(|arg| arg.contains("$("))
        && let Some(why) = (inputs.refusal)(&args)
    {
        log.note(format!("the host would not start with these arguments: {why}"));
    }
    Ok(())
}

fn renamed(argument: &str) -> String {
    for (old, new) in
        [("--enable-leader-election", "--leader-elect"), ("--metrics-addr", "--metrics-bind-address")]
    {
        if let Some(rest) = argument.strip_prefix(old)
            && (rest.is_empty() || rest.starts_with('='))
        {
            return format!("{new}{rest}");
        }
    }
    argument.to_owned()
}

pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned)).collect()
}

fn probes(document: &mut Document, container: &Path, log: &mut Log) -> Result<(), EditError> {
    let args = strings(document.get(&below(container, &["args"])));
    let address = args.iter().find_map(|arg| arg.strip_prefix("--health-probe-bind-address="));
    let port = address.map_or(Some(8081), |address| address.rsplit(':').next()?.parse::<u16>().ok());
    let Some(port) = port.filter(|port| *port != 0) else { return Ok(()) };
    for (key, url, delay, period) in
        [("livenessProbe", "/healthz", 15, 20), ("readinessProbe", "/readyz", 5, 10)]
    {
        let path = below(container, &[key]);
        if document.get(&path).is_none() {
            let probe = json!({
                "httpGet": {"path": url, "port": port},
                "initialDelaySeconds": delay,
                "periodSeconds": period,
            });
            document.set(&path, probe)?;
            log.did(format!("a {key}"));
        }
    }
    Ok(())
}

fn environment(document: &mut Document, container: &Path, log: &mut Log) -> Result<(), EditError> {
    let path = below(container, &["env"]);
    let has = |document: &Document, name: &str| {
        let list = document.get(&path).and_then(Value::as_array).into_iter().flatten();
        list.into_iter().any(|one| one.get("name").and_then(Value::as_str) == Some(name))
    };
    for (name, field) in [("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace")] {
        if !has(document, name) {
            let variable = json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}});
            document.append(&path, vec![variable], None)?;
            log.did(format!("{name}: what becomes of plugins is told as events about the pod"));
        }
    }
    Ok(())
}

fn resources(document: &mut Document, container: &Path, log: &mut Log) -> Result<(), EditError> {
    let text = |document: &Document, path: &Path| {
        document.get(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let cpu = below(container, &["resources", "limits", "cpu"]);
    let limit = text(document, &cpu);
    if CPU_LIMITS.contains(&limit.as_str()) {
        document.remove(&cpu)?;
        log.did(format!("no limit of {limit} for the processor: it draws out every rendering"));
    }
    let memory = below(container, &["resources", "limits", "memory"]);
    let limit = text(document, &memory);
    if SMALL_MEMORY.contains(&limit.as_str()) {
        document.set(&memory, json!("128Mi"))?;
        log.did(format!("128Mi of memory instead of {limit}"));
    }
    Ok(())
}

fn security(document: &mut Document, pod: &Path, container: &Path, log: &mut Log) -> Result<(), EditError> {
    let pod_context = below(pod, &["securityContext"]);
    let own = below(container, &["securityContext"]);
    let wanted = [
        (below(&pod_context, &["runAsNonRoot"]), json!(true)),
        (below(&pod_context, &["seccompProfile"]), json!({"type": "RuntimeDefault"})),
        (below(&own, &["allowPrivilegeEscalation"]), json!(false)),
        (below(&own, &["capabilities"]), json!({"drop": ["ALL"]})),
    ];
    let mut added = false;
    for (path, value) in wanted {
        if document.get(&path).is_none() {
            document.set(&path, value)?;
            added = true;
        }
    }
    if added {
        log.did("a securityContext that a namespace of the profile `restricted` admits");
    }
    Ok(())
}
