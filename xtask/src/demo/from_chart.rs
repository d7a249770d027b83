//! Scene S2: from a chart to a deployed operator, with what a user types.

use std::fs;

use anyhow::{Result, bail};

use super::look::Look;
use super::made::{Made, NAMESPACE};
use crate::steps::say;

const SAMPLE: &str = "config/samples/charts_v1alpha1_hello.yaml";
const RELEASE: &str = "hello-sample";

/// Plays it. The project has been made and its image is where pods find it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, made: &mut Made<'_>, node: bool) -> Result<()> {
    explain(made)?;
    made.deploy(node)?;
    sample(look, made, node)?;
    hidden_branches(look, node)?;
    let resource = format!("hellos.charts.example.com/{RELEASE}");
    look.kubectl(&["delete", &resource, "--timeout=60s"])?;
    look.seen("the resource is deleted: nothing of the release is left", || {
        look.kubectl(&["get", "deployments,services,configmaps,ingresses,jobs", "--output=name"])
            .is_ok_and(|left| left.lines().all(|name| name.contains("kube-root-ca.crt")))
    })?;
    made.stop()?;
    made.make("undeploy")?;
    look.seen("undeployed: namespace and definition are gone", || {
        look.access.kubectl(&["get", "namespace", NAMESPACE]).is_err()
            && look.access.kubectl(&["get", "crd", "hellos.charts.example.com"]).is_err()
    })
}

/// What operator-sdk's scaffold does not have.
fn explain(made: &Made<'_>) -> Result<()> {
    let role = fs::read_to_string(made.file("config/rbac/role.yaml"))?;
    for hidden in ["ingresses", "jobs"] {
        if !role.contains(hidden) {
            bail!(
                "config/rbac/role.yaml has no rights for {hidden}, which a branch of the chart makes:\n{role}"
            );
        }
    }
    let crd = fs::read_to_string(made.file("config/crd/bases/charts.example.com_hellos.yaml"))?;
    if !crd.contains("maximum: 65535") {
        bail!("the definition does not know what values.schema.json says:\n{crd}");
    }
    say(
        "rights for Ingress and Job are there although the defaults make neither; the definition has the values' schema",
    );
    Ok(())
}

fn sample(look: Look<'_>, made: &Made<'_>, node: bool) -> Result<()> {
    look.kubectl(&["apply", "--filename", &made.file(SAMPLE).display().to_string()])?;
    look.seen("config/samples: its release is installed", || {
        look.helm(&["list", "--deployed", "--short"]).is_ok_and(|list| list.contains(RELEASE))
    })?;
    if node {
        let wait = ["wait", "--for=condition=Available", "deployments", "--all", "--timeout=90s"];
        look.kubectl(&wait)?;
        say("its pods run");
    }
    println!("{}", look.kubectl(&["get", "hellos,deployments,services"])?);
    let resource = format!("hellos.charts.example.com/{RELEASE}");
    let refused = look.patch(&resource, r#"{"spec":{"service":{"port":70000}}}"#);
    match refused {
        Ok(()) => bail!("service.port 70000 was accepted, although the schema has a maximum"),
        Err(error) => say(&format!("service.port 70000 is refused by the definition: {}", last_line(&error))),
    }
    Ok(())
}

/// The Ingress and the Job that the chart's defaults do not make.
fn hidden_branches(look: Look<'_>, node: bool) -> Result<()> {
    let resource = format!("hellos.charts.example.com/{RELEASE}");
    look.patch(&resource, r#"{"spec":{"ingress":{"enabled":true},"backup":{"enabled":true}}}"#)?;
    let ingress = format!("ingress/{RELEASE}");
    look.seen("Ingress and backup switched on: the Job ran first, the Ingress is there", || {
        if !node {
            end_jobs(look);
        }
        !look.value(&ingress, "{.metadata.uid}").is_empty()
    })?;
    println!("{}", look.helm(&["history", RELEASE])?);
    Ok(())
}

/// What a node would do with the pods of Jobs.
fn end_jobs(look: Look<'_>) {
    let pods = look.kubectl(&["get", "pods", "--selector=job-name", "--output=name"]).unwrap_or_default();
    for pod in pods.lines() {
        let status = r#"{"status":{"phase":"Succeeded"}}"#;
        let patch = ["patch", pod, "--subresource=status", "--type=merge", "--patch", status];
        let _ = look.kubectl(&patch);
    }
}

fn last_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    text.trim().lines().last().unwrap_or_default().to_owned()
}
