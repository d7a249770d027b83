//! Scene S3: a right is missing, is told, and its coming heals; what is deleted or scaled comes back.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::look::Look;
use super::made::{Made, ROLE, USER};
use crate::steps::say;

const RESOURCE: &str = "hellos.charts.example.com/example";
const EXAMPLE: &str = "apiVersion: charts.example.com/v1alpha1
kind: Hello
metadata: { name: example }
spec: { greeting: Hello }
";
const LABEL: &str = "--selector=app.kubernetes.io/instance=example";

/// Plays it. The project has been made and its image is where pods find it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, made: &mut Made<'_>, node: bool) -> Result<()> {
    made.deploy(node)?;
    install(look, made, node)?;
    missing_right(look, made)?;
    deleted_by_label(look)?;
    scaled(look)?;
    look.kubectl(&["delete", RESOURCE, "--timeout=60s"])?;
    made.stop()
}

fn install(look: Look<'_>, made: &Made<'_>, node: bool) -> Result<()> {
    let file = made.file("example.yaml");
    std::fs::write(&file, EXAMPLE)?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()])?;
    look.seen("example: both Deployments are there", || count(look, "deployments") == 2)?;
    if node {
        let wait = ["wait", "--for=condition=Available", "deployments", LABEL, "--timeout=90s"];
        look.kubectl(&wait)?;
        say("and run");
    }
    Ok(())
}

fn missing_right(look: Look<'_>, made: &Made<'_>) -> Result<()> {
    let role: Value = serde_json::from_str(&look.access.kubectl(&["get", ROLE, "--output=json"])?)?;
    let rules = role.get("rules").and_then(Value::as_array).context("the role has no rules")?;
    let speaks_of_ingresses = |rule: &Value| {
        rule.get("resources").is_some_and(|resources| resources.to_string().contains("ingresses"))
    };
    let fewer: Vec<&Value> = rules.iter().filter(|rule| !speaks_of_ingresses(rule)).collect();
    if fewer.len() == rules.len() {
        bail!("the role has no rule for ingresses");
    }
    let fewer = serde_json::json!({ "rules": fewer }).to_string();
    look.access.kubectl(&["patch", ROLE, "--type=merge", "--patch", &fewer])?;
    say("the rule for ingresses is taken out of the operator's role");
    look.patch(RESOURCE, r#"{"spec":{"ingress":{"enabled":true}}}"#)?;
    let message = || look.value(RESOURCE, r#"{.status.conditions[?(@.type=="ReleaseFailed")].message}"#);
    let says_all = |text: &str| ["ingresses.networking.k8s.io", USER].iter().all(|word| text.contains(word));
    look.seen("the Ingress is switched on: the refusal is a condition of the resource", || {
        says_all(&message())
    })?;
    println!("  {}", message());
    look.seen("and an event", || {
        let events = look.kubectl(&["events", "--for", RESOURCE, "--output=json"]).unwrap_or_default();
        says_all(&events)
    })?;
    made.make("deploy")?;
    look.seen("the role is whole again: the Ingress is there, without a restart", || {
        count(look, "ingresses") == 1
    })?;
    look.seen("and the condition is gone", || message().is_empty())
}

fn deleted_by_label(look: Look<'_>) -> Result<()> {
    let uids = || {
        let names = "{range .items[*]}{.metadata.uid} {end}";
        let path = format!("--output=jsonpath={names}");
        look.kubectl(&["get", "deployments,ingresses", LABEL, &path]).unwrap_or_default()
    };
    let before = uids();
    look.kubectl(&["delete", "deployments,ingresses", LABEL, "--wait=false"])?;
    look.seen("Deployments and Ingress deleted by label: all three are back", || {
        let now = uids();
        let fresh = now.split_whitespace().filter(|uid| !before.contains(uid)).count();
        fresh == 3 && now.split_whitespace().count() == 3
    })
}

fn scaled(look: Look<'_>) -> Result<()> {
    look.kubectl(&["scale", "deployment/example-web", "--replicas=5"])?;
    look.seen("kubectl scale --replicas=5: it is 1 again", || {
        look.value("deployment/example-web", "{.spec.replicas}") == "1"
    })
}

fn count(look: Look<'_>, kind: &str) -> usize {
    look.kubectl(&["get", kind, LABEL, "--output=name"]).unwrap_or_default().lines().count()
}
