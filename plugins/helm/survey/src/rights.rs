//! What an operator of a chart has to be allowed, and why.

mod granted;
mod kinds;

use std::collections::BTreeSet;

use helm_chart::Chart;

use self::kinds::Kinds;
use crate::explore::{Explored, explore};
use crate::names::Names;
use crate::objects::Way;
use crate::template::scan::{Spoken, scan, writers};
use crate::{Found, Rule, Scope, discovery};

/// What the plugin does with a release's objects: applying is a patch, and the first time a creation; replacing is a deletion
/// and a creation.
const OBJECT_VERBS: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
/// Release records are replaced as well.
const RECORD_VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// Definitions in `crds/` are created, and neither changed nor deleted unless that is asked for.
const DEFINITION_VERBS: [&str; 5] = ["get", "list", "watch", "create", "patch"];
/// More templates are not named.
const MOST_REASONS: usize = 8;

/// The rules, base first.
pub(crate) fn rules(chart: &Chart, names: &Names, notes: &mut Vec<String>) -> Vec<Rule> {
    let explored = explore(chart);
    let kinds = Kinds::new(chart, &explored, notes);
    let mut rules = Rules(base(names));
    rendered(&explored, &kinds, &mut rules, notes);
    definitions(chart, &mut rules);
    hooks(&explored, &mut rules);
    lookups(&explored, &kinds, &mut rules);
    spoken(scan(chart), &explored, &kinds, &mut rules, notes);
    granted::grants(&explored.objects.roles, &mut rules, notes);
    doubts(chart, &explored, notes);
    rules.0
}

/// Rules without those that others cover.
#[derive(Debug)]
struct Rules(Vec<Rule>);

impl Rules {
    /// Adds a rule. Where another one covers it, that gets its reasons.
    fn add(&mut self, rule: Rule) {
        match self.0.iter_mut().find(|known| covers(known, &rule)) {
            Some(known) => {
                let more = rule.why.into_iter().filter(|why| !known.why.contains(why)).collect::<Vec<_>>();
                known.why.extend(more);
            }
            None => self.0.push(rule),
        }
    }
}

fn covers(known: &Rule, rule: &Rule) -> bool {
    let all = |known: &[String], asked: &[String]| {
        asked.iter().all(|asked| known.iter().any(|known| known == asked || known == "*"))
    };
    known.scope >= rule.scope
        && all(&known.api_groups, &rule.api_groups)
        && all(&known.resources, &rule.resources)
        && all(&known.verbs, &rule.verbs)
        && all(&known.non_resource_urls, &rule.non_resource_urls)
        && (known.resource_names.is_empty()
            || (!rule.resource_names.is_empty() && all(&known.resource_names, &rule.resource_names)))
        && known.non_resource_urls.is_empty() == rule.non_resource_urls.is_empty()
}

/// A rule for one resource.
fn rule(group: &str, resource: &str, verbs: &[&str], found: Found, scope: Scope, why: Vec<String>) -> Rule {
    Rule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        resource_names: Vec::new(),
        non_resource_urls: Vec::new(),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        why,
        found,
        scope,
    }
}

/// What every operator of a Helm chart needs.
fn base(names: &Names) -> Vec<Rule> {
    let Names { qualified_group: group, plural, .. } = names;
    let base = |group: &str, resource: &str, verbs: &[&str], why: &str| {
        rule(group, resource, verbs, Found::Base, Scope::Namespace, vec![why.to_owned()])
    };
    let cluster = |group: &str, resource: &str| Rule {
        scope: Scope::Cluster,
        ..base(group, resource, &["list", "watch"], "kinds that come and go are seen at once")
    };
    let status = format!("{plural}/status");
    let finalizers = format!("{plural}/finalizers");
    vec![
        base(
            group,
            plural,
            &["get", "list", "watch", "patch"],
            "the custom resource itself; its finalizer is a patch of it",
        ),
        base(group, &status, &["patch"], "its status"),
        base(group, &finalizers, &["update"], "owner references to it, where a cluster guards them"),
        base("", "secrets", &RECORD_VERBS, "Helm's release records"),
        base(
            "",
            "events",
            &["create", "patch"],
            "events on the custom resource, counted up when they repeat",
        ),
        base(
            "autoscaling",
            "horizontalpodautoscalers",
            &["list", "watch"],
            "whether an autoscaler beside the release sets the replicas of its objects",
        ),
        base("", "namespaces", &["get"], "whether the namespace of a release is there, and stays"),
        cluster("apiextensions.k8s.io", "customresourcedefinitions"),
        cluster("apiregistration.k8s.io", "apiservices"),
    ]
}

/// What the renderings wrote.
fn rendered(explored: &Explored, kinds: &Kinds, rules: &mut Rules, notes: &mut Vec<String>) {
    for ((group, kind), seen) in &explored.objects.kinds {
        let gone = discovery::is_built_in(group) && !discovery::is_served(group, kind);
        if gone {
            let always = seen.way == Way::Default;
            let when = if always {
                "which the chart makes"
            } else {
                "which the chart makes with some values: no rule"
            };
            notes.push(format!("no Kubernetes from 1.31 on serves {kind} of {group}, {when}"));
            if !always {
                continue;
            }
        }
        let resource = kinds.resource(group, kind);
        if resource.is_guessed && !gone {
            notes.push(guess(group, kind, &resource.plural));
        }
        let scope = if resource.is_namespaced && seen.elsewhere.is_empty() {
            Scope::Namespace
        } else {
            Scope::Cluster
        };
        let mut why = reasons(&seen.templates);
        if resource.is_namespaced && !seen.elsewhere.is_empty() {
            let namespaces: Vec<&str> = seen.elsewhere.iter().map(String::as_str).collect();
            why.push(format!("in other namespaces: {}", namespaces.join(", ")));
        }
        if seen.way == Way::Forced {
            why.push("only where a condition that no values turned was taken for what it is not".to_owned());
        }
        rules.add(rule(group, &resource.plural, &OBJECT_VERBS, Found::Rendered, scope, why));
    }
}

fn guess(group: &str, kind: &str, plural: &str) -> String {
    format!("the resource of {kind} of {group} is not known: {plural:?} in namespaces is a guess")
}

/// The first of many templates.
fn reasons(templates: &BTreeSet<String>) -> Vec<String> {
    let more = templates.len().saturating_sub(MOST_REASONS);
    let told = templates.iter().take(MOST_REASONS).cloned();
    told.chain((more > 0).then(|| format!("and {more} more templates"))).collect()
}

fn definitions(chart: &Chart, rules: &mut Rules) {
    let crds: BTreeSet<String> = chart.crds().into_iter().map(|crd| crd.path).collect();
    if !crds.is_empty() {
        let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
        rules.add(rule(group, resource, &DEFINITION_VERBS, Found::Rendered, Scope::Cluster, reasons(&crds)));
    }
}

/// The last lines of a hook that failed are told.
fn hooks(explored: &Explored, rules: &mut Rules) {
    let runs = explored.objects.kinds.iter().filter(|((group, kind), seen)| {
        seen.is_hook && matches!((group.as_str(), kind.as_str()), ("batch", "Job") | ("", "Pod"))
    });
    let templates: BTreeSet<String> = runs.flat_map(|(_, seen)| seen.templates.iter().cloned()).collect();
    if templates.is_empty() {
        return;
    }
    let why = |what: &str| [vec![what.to_owned()], reasons(&templates)].concat();
    let scope = Scope::Namespace;
    let pods = why("finds the pod of a hook that failed");
    rules.add(rule("", "pods", &["get", "list", "watch"], Found::Rendered, scope, pods));
    let logs = why("tells the last lines of a hook that failed");
    rules.add(rule("", "pods/log", &["get"], Found::Rendered, scope, logs));
}

fn lookups(explored: &Explored, kinds: &Kinds, rules: &mut Rules) {
    for (api_version, kind, lists) in &explored.lookups {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let resource = kinds.resource(group, kind);
        let verb = if *lists { "list" } else { "get" };
        let scope = if resource.is_namespaced { Scope::Namespace } else { Scope::Cluster };
        let why = vec!["templates look it up".to_owned()];
        rules.add(rule(group, &resource.plural, &[verb], Found::Rendered, scope, why));
    }
}

/// What templates speak of and no rendering had.
fn spoken(
    spoken: Vec<Spoken>,
    explored: &Explored,
    kinds: &Kinds,
    rules: &mut Rules,
    notes: &mut Vec<String>,
) {
    let rendered = |group: &Option<String>, kind: &str| {
        explored.objects.kinds.iter().any(|((known_group, known), seen)| {
            known == kind
                && group.as_ref().is_none_or(|group| known_group == group)
                && !seen.templates.is_empty()
        })
    };
    for Spoken { group, kind, template } in spoken {
        if rendered(&group, &kind) || kind == "List" {
            continue;
        }
        let Some(group) = group else {
            notes.push(format!(
                "{template} speaks of {kind}, whose group cannot be told: no rule is made for it"
            ));
            continue;
        };
        if discovery::is_built_in(&group) && !discovery::is_served(&group, &kind) {
            notes.push(format!(
                "{template} speaks of {kind} of {group}, which no Kubernetes from 1.31 on serves: no rule"
            ));
            continue;
        }
        let resource = kinds.resource(&group, &kind);
        if resource.is_guessed {
            notes.push(guess(&group, &kind, &resource.plural));
        }
        let scope = if resource.is_namespaced { Scope::Namespace } else { Scope::Cluster };
        rules.add(rule(&group, &resource.plural, &OBJECT_VERBS, Found::Text, scope, vec![template]));
    }
}

/// What could not be looked at.
fn doubts(chart: &Chart, explored: &Explored, notes: &mut Vec<String>) {
    for missing in helm_chart::dependencies::missing_dependencies(chart) {
        notes.push(format!("the dependency {missing} is not in charts/: what it makes is not known"));
    }
    if let Some(error) = &explored.broken {
        notes.push(format!("the chart cannot be rendered, so its templates were only read: {error}"));
    }
    for (template, error) in &explored.failed {
        let error = error.lines().next().unwrap_or_default();
        notes.push(format!("{template} could not be rendered with any values that were tried: {error}"));
    }
    for template in writers(chart) {
        notes.push(format!(
            "{template} writes what values hold: rights for objects in there have to be added by hand"
        ));
    }
    if explored.is_cut {
        notes.push(
            "the chart has more conditions than were tried: what was not reached was only read".to_owned(),
        );
    }
    notes.sort();
    notes.dedup();
}
