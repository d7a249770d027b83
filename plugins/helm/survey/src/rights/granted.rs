//! What a chart's own roles grant. Who creates a role or a binding must hold what it grants, or be allowed to bind that role.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Rules, rule};
use crate::explore::{FILLING, RELEASE};
use crate::objects::{NAMESPACE, RoleObject};
use crate::{Found, Rule, Scope};

/// The group of roles.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Adds what roles grant and what bindings bind.
pub(super) fn grants(roles: &[RoleObject], rules: &mut Rules, notes: &mut Vec<String>) {
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    for role in roles {
        let kind = text(&role.json, "/kind");
        if !matches!(kind, "Role" | "ClusterRole") {
            continue;
        }
        known.insert((kind, text(&role.json, "/metadata/name")));
        let scope = if kind == "Role" { Scope::Namespace } else { Scope::Cluster };
        for granted in role.json.pointer("/rules").and_then(Value::as_array).into_iter().flatten() {
            if let Some(rule) = granted_rule(granted, scope, &role.template) {
                if rule.verbs.iter().chain(&rule.resources).any(|word| word == "*") {
                    let words = format!("{} grants {kind} rules with \"*\"", role.template);
                    notes.push(format!("{words}: the operator has to hold as much to create it"));
                }
                rules.add(rule);
            }
        }
    }
    for binding in roles {
        bind(binding, &known, rules, notes);
    }
}

fn granted_rule(granted: &Value, scope: Scope, template: &str) -> Option<Rule> {
    let list = |name: &str| -> Vec<String> {
        let items = granted.get(name).and_then(Value::as_array).into_iter().flatten();
        let mut words: Vec<String> = items.filter_map(Value::as_str).map(str::to_owned).collect();
        let mut seen = BTreeSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words
    };
    let (mut names, mut why) = (list("resourceNames"), vec![template.to_owned()]);
    if names.iter().any(|name| is_made_up(name)) {
        names.clear();
        why.push("of any name, because the chart's names go by those of custom resources".to_owned());
    }
    let rule = Rule {
        api_groups: list("apiGroups"),
        resources: list("resources"),
        resource_names: names,
        non_resource_urls: list("nonResourceURLs"),
        verbs: list("verbs"),
        why,
        found: Found::Granted,
        scope,
    };
    let about_resources = !rule.resources.is_empty() && !rule.api_groups.is_empty();
    let is_rule = !rule.verbs.is_empty() && (about_resources || !rule.non_resource_urls.is_empty());
    is_rule.then_some(rule)
}

/// Roles of somebody else may be bound by their names.
fn bind(binding: &RoleObject, known: &BTreeSet<(&str, &str)>, rules: &mut Rules, notes: &mut Vec<String>) {
    let scope = match text(&binding.json, "/kind") {
        "RoleBinding" => Scope::Namespace,
        "ClusterRoleBinding" => Scope::Cluster,
        _ => return,
    };
    let (kind, name) = (text(&binding.json, "/roleRef/kind"), text(&binding.json, "/roleRef/name"));
    let resource = match kind {
        "Role" => "roles",
        "ClusterRole" => "clusterroles",
        _ => return,
    };
    if name.is_empty() || known.contains(&(kind, name)) {
        return;
    }
    if is_made_up(name) {
        notes.push(format!(
            "{} binds a {kind} that the chart does not make, under a name that values give it: no rule",
            binding.template
        ));
        return;
    }
    let why = vec![format!("{} binds it", binding.template)];
    let bound = rule(GROUP, resource, &["bind"], Found::Granted, scope, why);
    rules.add(Rule { resource_names: vec![name.to_owned()], ..bound });
}

/// Whether a name came of the release's, or of what the search filled in.
fn is_made_up(name: &str) -> bool {
    [RELEASE, NAMESPACE, FILLING].iter().any(|made_up| name.contains(made_up))
}

fn text<'a>(json: &'a Value, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
