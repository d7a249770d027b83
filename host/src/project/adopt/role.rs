//! The rights of the operator, completed by what its charts take.

use serde_json::Value;

use super::{Edited, Watched};
use crate::project::rbac;
use crate::project::survey::Rule;
use crate::project::yaml_edit::{Document, EditError, at_marker, documents, keys};
use crate::project::yaml_text;

/// Adds what is missing to the first role of a file.
pub(super) fn edit(text: &str, watched: &[Watched]) -> Result<Edited, EditError> {
    let mut edited = Edited::default();
    let mut done = false;
    for part in documents(text) {
        let document = Document::parse(&part)?;
        let kind = document.value().get("kind").and_then(Value::as_str).unwrap_or_default();
        if done || !["Role", "ClusterRole"].contains(&kind) {
            edited.text.push_str(&part);
            continue;
        }
        done = true;
        complete(document, watched, &mut edited)?;
    }
    Ok(edited)
}

/// The rights that a project takes, without those that no chart is known for.
fn wanted(watched: &[Watched]) -> Vec<Rule> {
    let mut rules = rbac::host_rules();
    for Watched { survey, .. } in watched {
        let Ok(survey) = survey else { continue };
        let names = &survey.names;
        rules.extend(rbac::untold_own_rules(&survey.rules, &names.qualified_group, &names.plural));
        for rule in &survey.rules {
            let mut rule = rule.clone();
            if !rule.is_base() {
                rule.why.insert(0, format!("chart {}", survey.chart.name));
            }
            rules.push(rule);
        }
    }
    rules
}

fn complete(mut document: Document, watched: &[Watched], edited: &mut Edited) -> Result<(), EditError> {
    let existing = document.value().get("rules").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut rules: Vec<Rule> = Vec::new();
    // One after the other: what a rule brings, the next does not have to bring again.
    for rule in wanted(watched) {
        let all: Vec<Value> = existing.iter().cloned().chain(rbac::values(&rules)).collect();
        rules.extend(rbac::missing(&all, &[rule]));
    }
    if document.value().get("kind").and_then(Value::as_str) == Some("Role") {
        let (cluster, own): (Vec<Rule>, Vec<Rule>) = rules.into_iter().partition(Rule::is_cluster_scoped);
        rules = own;
        for rule in cluster {
            edited.notes.push(format!(
                "{} of {} would take a ClusterRole, which this file is not: {}",
                rule.verbs.join(", "),
                [rule.resources.join(", "), rule.non_resource_urls.join(", ")].concat(),
                rule.why.join(", ")
            ));
        }
    }
    if rules.is_empty() {
        edited.text.push_str(document.text());
        return Ok(());
    }
    let head = "##\n## What was missing for the host and the charts (pilothouse adopt)\n##\n";
    let block = format!("{head}{}", rbac::text(&rules));
    let grown = at_marker(document.text(), "rules", &format!("{block}\n"));
    match grown.filter(|text| holds_all(text, existing.len() + rules.len())) {
        Some(text) => edited.text.push_str(&text),
        None => {
            let items = yaml_text::read(&block)?.as_array().cloned().unwrap_or_default();
            document.append(&keys(&["rules"]), items, Some(&block))?;
            edited.text.push_str(document.text());
        }
    }
    for rule in &rules {
        let what = [rule.resources.join(", "), rule.non_resource_urls.join(", ")].concat();
        edited.what.push(format!("the right to {} {what}", rule.verbs.join(", ")));
    }
    Ok(())
}

fn holds_all(text: &str, count: usize) -> bool {
    let read = yaml_text::read(text).ok();
    read.is_some_and(|role| role.get("rules").and_then(Value::as_array).map_or(0, Vec::len) == count)
}
