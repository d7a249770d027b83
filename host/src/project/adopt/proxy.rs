//! The sidecar kube-rbac-proxy, which stood before /metrics: its image is no longer served, and the host does its work.

use serde_json::{Value, json};

use super::Log;
use super::manager::{container, strings};
use crate::project::yaml_edit::{Document, EditError, Path, below, item, keys};

const NAME: &str = "kube-rbac-proxy";
const ADDRESSES: [&str; 2] = ["--metrics-bind-address", "--metrics-addr"];

/// Edits a patch of the Deployment.
pub(super) fn edit(document: &mut Document) -> Result<Log, EditError> {
    let mut log = Log::default();
    remove_sidecar(document, &mut log)?;
    Ok(log)
}

/// Takes the sidecar away, and lets the host serve what it served: port 8443, TLS, and only to those who may.
pub(super) fn remove_sidecar(document: &mut Document, log: &mut Log) -> Result<(), EditError> {
    let path = keys(&["spec", "template", "spec", "containers"]);
    let list = document.get(&path).and_then(Value::as_array).cloned().unwrap_or_default();
    let is_proxy = |one: &Value| one.get("name").and_then(Value::as_str) == Some(NAME);
    let Some(index) = list.iter().position(is_proxy) else { return Ok(()) };
    let Some(proxy) = list.get(index) else { return Ok(()) };
    let others = list.iter().filter(|one| !is_proxy(one)).count();
    if others == 0 {
        log.note(format!(
            "{NAME} is the only container of this file; take it out where the Deployment is put together"
        ));
        return Ok(());
    }
    let listens = strings(proxy.get("args"));
    let listens = listens.iter().find_map(|arg| arg.strip_prefix("--secure-listen-address="));
    let port = listens.and_then(|address| address.rsplit(':').next()?.parse::<u16>().ok()).unwrap_or(8443);
    document.remove(&item(&path, index))?;
    let Some(manager) = container(document) else {
        log.note(format!("{NAME} is gone; no container manager that could serve /metrics in its place"));
        return Ok(());
    };
    serve(document, &below(&manager, &["args"]), port)?;
    let ports = below(&manager, &["ports"]);
    document.append(
        &ports,
        vec![json!({"containerPort": port, "protocol": "TCP", "name": "https"})],
        None,
    )?;
    log.did(format!(
        "without the sidecar {NAME}: the host serves /metrics itself, with TLS, to accounts that may get it"
    ));
    Ok(())
}

fn serve(document: &mut Document, path: &Path, port: u16) -> Result<(), EditError> {
    let args = strings(document.get(path));
    let address = format!("--metrics-bind-address=:{port}");
    let is_address = |arg: &&String| {
        ADDRESSES.iter().any(|flag| arg.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    };
    match args.iter().position(|arg| is_address(&arg)) {
        Some(index) => set_item(document, path, index, &address)?,
        None => document.append(path, vec![json!(address)], None)?,
    }
    for flag in ["--metrics-secure", "--metrics-require-rbac"] {
        if !args.iter().any(|arg| arg == flag) {
            document.append(path, vec![json!(flag)], None)?;
        }
    }
    Ok(())
}

/// Puts a text in the place of an item of a list.
pub(super) fn set_item(
    document: &mut Document,
    path: &Path,
    index: usize,
    text: &str,
) -> Result<(), EditError> {
    document.set_item(path, index, json!(text))
}
