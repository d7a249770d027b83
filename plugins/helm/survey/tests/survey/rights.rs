//! Rules for what charts make, whichever way their templates go.

use helm_survey::{Found, Rule, Scope, Survey};

use crate::survey;

fn rule<'s>(survey: &'s Survey, group: &str, resource: &str) -> Option<&'s Rule> {
    survey
        .rules
        .iter()
        .find(|rule| rule.api_groups == [group] && rule.resources == [resource] && rule.found != Found::Base)
}

/// Where the rule for jobs of a chart with this template comes from.
fn jobs(template: &str, values: &str) -> Option<Found> {
    let survey = survey(&[("templates/a.yaml", template), ("values.yaml", values)]);
    rule(&survey, "batch", "jobs").map(|rule| rule.found)
}

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n";

/// A template that has a job under a condition.
fn when(condition: &str) -> String {
    format!("{{{{ {condition} }}}}\n{JOB}{{{{ end }}}}")
}

#[test]
fn every_form_of_a_condition_is_turned() {
    for (condition, values) in [
        ("if .Values.job", "job: false"),
        ("if .Values.job", ""),
        ("if .Values.a.b.c", "a: {b: {}}"),
        ("if not .Values.job", "job: true"),
        ("if and .Values.a .Values.b", "a: false\nb: ''"),
        ("if or .Values.a .Values.b", "a: false\nb: false"),
        ("if and .Values.a (not .Values.b)", "a: false\nb: true"),
        ("if eq .Values.kind \"job\"", "kind: none"),
        ("if eq \"job\" (.Values.kind | lower)", "kind: none"),
        ("if ne .Values.kind \"none\"", "kind: none"),
        ("if has \"job\" .Values.kinds", "kinds: [none]"),
        ("if gt (int .Values.replicas) 1", "replicas: 1"),
        ("if .Values.jobs | default false", ""),
        ("if (ternary .Values.a .Values.b .Values.c)", "a: false\nb: false\nc: false"),
        ("if hasKey .Values \"job\"", ""),
        ("if index .Values \"a-b\" \"c\"", "a-b: {c: false}"),
        ("if empty .Values.job", "job: x"),
        ("with .Values.job", "job: {}"),
        ("range .Values.jobs", "jobs: []"),
        ("range $name, $job := .Values.jobs", "jobs: {}"),
        ("if .Release.IsUpgrade", ""),
        ("if .Capabilities.APIVersions.Has \"jobs.example.com/v1\"", ""),
        ("if not (.Capabilities.APIVersions.Has \"apps/v1\")", ""),
        ("if (lookup \"v1\" \"Secret\" .Release.Namespace \"a\")", ""),
        ("if contains \"job\" .Values.text", "text: none"),
        ("if .Values.a }}{{ fail \"no\" }}{{ end }}{{ if .Values.job", "job: false"),
        ("if required \"say it\" .Values.job", ""),
    ] {
        assert_eq!(jobs(&when(condition), values), Some(Found::Rendered), "{condition} with {values:?}");
    }
}

#[test]
fn a_rule_says_when_no_values_turn_its_condition() {
    let why = |condition: &str| {
        let survey = survey(&[("templates/a.yaml", &when(condition)), ("values.yaml", "a: x")]);
        rule(&survey, "batch", "jobs").unwrap().why.join(" ")
    };
    let forced = "a condition that no values turned";
    assert!(!why("if not (.Capabilities.APIVersions.Has \"apps/v1\")").contains(forced));
    assert!(!why("if .Capabilities.APIVersions.Has \"example.com/v1\"").contains(forced));
    assert!(why("if eq (sha256sum .Values.a) \"b\"").contains(forced));
}

#[test]
fn conditions_within_conditions_are_turned_one_after_the_other() {
    let template = format!(
        "{{{{ if .Values.a.on }}}}{{{{ with .Values.b }}}}{{{{ range .jobs }}}}{{{{ if eq .kind \"x\" }}}}{JOB}{{{{ end }}}}{{{{ end }}}}{{{{ end }}}}{{{{ end }}}}"
    );
    assert_eq!(jobs(&template, "a: {on: false}\nb: {}"), Some(Found::Rendered));
}

#[test]
fn the_other_branch_and_those_between_are_taken() {
    let template = "apiVersion: apps/v1\n{{ if eq .Values.kind \"a\" }}kind: Deployment{{ else if eq .Values.kind \"b\" }}kind: DaemonSet{{ else }}kind: StatefulSet{{ end }}\n";
    let survey = survey(&[("templates/a.yaml", template), ("values.yaml", "kind: a")]);
    for resource in ["deployments", "daemonsets", "statefulsets"] {
        assert_eq!(
            rule(&survey, "apps", resource).map(|rule| rule.found),
            Some(Found::Rendered),
            "{resource}"
        );
    }
}

#[test]
fn conditions_in_helpers_and_variables_are_turned() {
    let helpers = "{{ define \"on\" }}{{ if .Values.x.job }}true{{ end }}{{ end }}{{ define \"name\" }}{{ .Values.kind }}{{ end }}";
    for condition in [
        "if eq (include \"on\" .) \"true\"",
        "if include \"on\" .",
        "$on := include \"on\" . }}{{ if $on",
        "$v := .Values.x }}{{ if $v.job",
        "$job := .Values.x.job }}{{ if and $job true",
        "if eq (include \"name\" .) \"job\"",
        "with dict \"x\" .Values.x }}{{ if .x.job }}{{ with 1",
    ] {
        let ends = if condition.starts_with("with dict") { "{{ end }}{{ end }}" } else { "" };
        let survey = survey(&[
            ("templates/_h.tpl", helpers),
            ("templates/a.yaml", &format!("{}{ends}", when(condition))),
            ("values.yaml", "x: {job: false}\nkind: none"),
        ]);
        assert_eq!(
            rule(&survey, "batch", "jobs").map(|rule| rule.found),
            Some(Found::Rendered),
            "{condition}"
        );
    }
}

#[test]
fn kinds_that_values_choose_are_all_found() {
    let template =
        "apiVersion: apps/v1\nkind: {{ ternary \"DaemonSet\" \"Deployment\" .Values.everywhere }}\n";
    let survey = survey(&[("templates/a.yaml", template), ("values.yaml", "everywhere: false")]);
    assert!(rule(&survey, "apps", "daemonsets").is_some() && rule(&survey, "apps", "deployments").is_some());
}

#[test]
fn dependencies_are_enabled_by_conditions_and_tags() {
    let survey = survey(&[
        (
            "Chart.yaml",
            "apiVersion: v2\nname: site\nversion: 1.0.0\ndependencies:\n- {name: db, version: 1.x.x, condition: db.enabled}\n- {name: cache, version: 1.x.x, tags: [fast]}\n",
        ),
        ("values.yaml", "db: {enabled: false}\ntags: {fast: false}"),
        ("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"),
        ("charts/db/values.yaml", "backup: false"),
        ("charts/db/templates/a.yaml", &when("if .Values.backup")),
        ("charts/cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 1.0.0\n"),
        ("charts/cache/templates/a.yaml", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: c}\n"),
    ]);
    let jobs = rule(&survey, "batch", "jobs").unwrap();
    assert_eq!(
        (jobs.found, jobs.why.as_slice()),
        (Found::Rendered, ["site/charts/db/templates/a.yaml".to_owned()].as_slice())
    );
    assert_eq!(rule(&survey, "apps", "daemonsets").map(|rule| rule.found), Some(Found::Rendered));
}

#[test]
fn what_no_rendering_reaches_is_read_and_marked() {
    let template = "{{ .Values.a.b.c.d.e }}{{ .Chart.Nothing.At.All }}\napiVersion: batch/v1\nkind: Job\n";
    assert_eq!(jobs(template, ""), Some(Found::Text));
    assert_eq!(jobs("{{ if .Values.a }\napiVersion: batch/v1\nkind: Job\n", ""), Some(Found::Text));
    let survey = survey(&[("templates/a.yaml", template)]);
    assert!(
        survey.notes.iter().any(|note| note.contains("site/templates/a.yaml could not be rendered")),
        "{:?}",
        survey.notes
    );
}

#[test]
fn objects_of_the_cluster_and_of_other_namespaces_are_told_apart() {
    let survey = survey(&[
        ("templates/a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: kube-system}\n"),
        (
            "templates/b.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: {{ .Release.Namespace }}}\n",
        ),
        ("templates/c.yaml", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\n"),
    ]);
    let scope = |group, resource| rule(&survey, group, resource).map(|rule| rule.scope);
    assert_eq!(scope("", "services"), Some(Scope::Cluster));
    assert_eq!(scope("", "configmaps"), Some(Scope::Namespace));
    assert_eq!(scope("storage.k8s.io", "storageclasses"), Some(Scope::Cluster));
}

#[test]
fn what_roles_grant_is_held_by_the_operator() {
    let survey = survey(&[(
        "templates/a.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: {{ .Release.Name }}}\nrules:\n- apiGroups: ['']\n  resources: [nodes]\n  verbs: [list]\n\
         {{ if .Values.more }}- apiGroups: [apps]\n  resources: [replicasets]\n  resourceNames: ['{{ .Release.Name }}-x']\n  verbs: [patch]\n{{ end }}- nonResourceURLs: [/metrics]\n  verbs: [get]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: '{{ .Release.Name }}'}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: view}\n",
    )]);
    let nodes = rule(&survey, "", "nodes").unwrap();
    assert_eq!(
        (nodes.found, nodes.scope, nodes.verbs.as_slice()),
        (Found::Granted, Scope::Cluster, ["list".to_owned()].as_slice())
    );
    let sets = rule(&survey, "apps", "replicasets").unwrap();
    assert!(sets.resource_names.is_empty(), "the name goes by the release's");
    let bound: Vec<&Rule> = survey.rules.iter().filter(|rule| rule.verbs == ["bind"]).collect();
    assert_eq!(bound.len(), 1);
    assert_eq!(
        (bound[0].resource_names.as_slice(), bound[0].scope),
        (["view".to_owned()].as_slice(), Scope::Namespace)
    );
    assert!(
        survey.rules.iter().any(|rule| rule.non_resource_urls == ["/metrics"] && rule.api_groups.is_empty())
    );
}

#[test]
fn hooks_lookups_and_definitions_have_their_rules() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: indices.example.org}\nspec:\n  group: example.org\n  scope: Cluster\n  names: {kind: Index, plural: indexes}\n";
    let survey = survey(&[
        ("crds/a.yaml", crd),
        (
            "templates/a.yaml",
            "apiVersion: example.org/v1\nkind: Index\nmetadata: {name: a}\n---\napiVersion: example.org/v1\nkind: Radius\n",
        ),
        (
            "templates/b.yaml",
            "{{ $x := lookup \"v1\" \"Node\" \"\" \"\" }}apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: pre-install}}\n",
        ),
    ]);
    let index = rule(&survey, "example.org", "indexes").unwrap();
    assert_eq!(index.scope, Scope::Cluster);
    assert!(rule(&survey, "example.org", "radii").is_some());
    assert!(
        survey.notes.iter().any(|note| note.contains("Radius"))
            && !survey.notes.iter().any(|note| note.contains("Index"))
    );
    assert_eq!(rule(&survey, "", "nodes").unwrap().verbs, ["list"]);
    assert_eq!(rule(&survey, "", "pods/log").unwrap().verbs, ["get"]);
    let definitions = rule(&survey, "apiextensions.k8s.io", "customresourcedefinitions").unwrap();
    assert!(
        definitions.verbs.iter().any(|verb| verb == "create")
            && !definitions.verbs.iter().any(|verb| verb == "delete")
    );
}

#[test]
fn the_rules_of_an_operator_are_exact() {
    let survey =
        survey(&[("templates/a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")]);
    for rule in &survey.rules {
        assert!(
            !rule.verbs.iter().chain(&rule.resources).chain(&rule.api_groups).any(|word| word == "*"),
            "{rule:?}"
        );
        assert!(!rule.why.is_empty(), "{rule:?}");
    }
    assert_eq!(survey.rules.iter().filter(|rule| rule.found != Found::Base).count(), 1);
    let own: Vec<&str> = survey.rules[..3].iter().map(|rule| rule.resources[0].as_str()).collect();
    assert_eq!(own, ["sites", "sites/status", "sites/finalizers"]);
}

#[test]
fn apis_that_are_gone_get_no_rule_where_the_chart_can_do_without() {
    let template = "{{ if .Values.psp }}\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}\n{{ end }}";
    let found = survey(&[("templates/a.yaml", template), ("values.yaml", "psp: false")]);
    assert!(rule(&found, "policy", "podsecuritypolicies").is_none());
    assert!(found.notes.iter().any(|note| note.contains("PodSecurityPolicy")));
    let always = survey(&[(
        "templates/a.yaml",
        "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n",
    )]);
    assert!(rule(&always, "extensions", "deployments").is_some());
}

#[test]
fn a_chart_with_more_conditions_than_can_be_tried_ends() {
    let mut template = String::new();
    for number in 0..3000 {
        template.push_str(&format!(
            "{{{{ if and .Values.a{number} (eq .Values.b{number} \"x\") }}}}\n---\n{JOB}{{{{ end }}}}\n"
        ));
    }
    let survey = survey(&[("templates/a.yaml", &template)]);
    assert_eq!(rule(&survey, "batch", "jobs").map(|rule| rule.found), Some(Found::Rendered));
    assert!(
        survey.notes.iter().any(|note| note.contains("more conditions than were tried")),
        "{:?}",
        survey.notes
    );
}

#[test]
fn an_autoscaler_beside_the_release_may_be_seen_whatever_the_chart_makes() {
    let survey =
        survey(&[("templates/a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n")]);
    let rule = survey.rules.iter().find(|rule| rule.resources == ["horizontalpodautoscalers"]).unwrap();
    assert_eq!((rule.found, rule.api_groups[0].as_str()), (Found::Base, "autoscaling"));
    assert_eq!(rule.verbs, ["list", "watch"]);
}
