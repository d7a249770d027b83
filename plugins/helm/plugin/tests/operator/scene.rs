//! A cluster with one custom resource and a chart for it.

use std::time::Duration;

use helm_release::{Entry, Stored, chunks_of, secret_name};
use pilothouse_sdk::{
    Condition, Gvk, Invocation, ObjectRef, Plugin,
    harness::{Cluster, Runner},
};
use serde_json::{Value, json};

pub(crate) const NAMESPACE: &str = "shop";
pub(crate) const NAME: &str = "web";
const FINALIZER: &str = "helm.sdk.operatorframework.io/uninstall-release";

const CHART_YAML: &str = "apiVersion: v2\nname: site\nversion: 1.0.0\nappVersion: '7'\n";

const VALUES: &str = "replicas: 1\nimage: nginx\nextra: false\npassword: hunter2\nbroken: false\n\
                      hooks: {backup: false, migrate: false, restore: false, dump: false, bye: false, probe: false}\n";

pub(crate) const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: {{ .Values.image }}}
";

const EXTRA: &str = "{{ if .Values.extra }}apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-extra
data: {a: b}
{{ end }}";

const SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-password}
stringData: {password: {{ .Values.password }}}
";

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Name }}-reader}
rules: []
";

const BROKEN: &str = "{{ if .Values.broken }}{{ .Values.nothing.there.at.all }}{{ end }}";

/// Templates of the chart besides hooks.
const TEMPLATES: [(&str, &str); 6] = [
    ("templates/deployment.yaml", DEPLOYMENT),
    ("templates/extra.yaml", EXTRA),
    ("templates/secret.yaml", SECRET),
    ("templates/role.yaml", ROLE),
    ("templates/broken.yaml", BROKEN),
    ("templates/NOTES.txt", "Visit {{ .Release.Name }} with {{ .Values.replicas }} replicas."),
];

/// A hook that is there when its value says so.
fn hook(name: &str, event: &str, policies: &str) -> (String, String) {
    let text = format!(
        "{{{{ if .Values.hooks.{name} }}}}apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  annotations:\n    \
         helm.sh/hook: {event}\n    helm.sh/hook-delete-policy: {policies}\nspec:\n  template:\n    spec:\n      \
         restartPolicy: Never\n      containers: [{{name: a, image: b}}]\n{{{{ end }}}}"
    );
    (format!("templates/hooks/{name}.yaml"), text)
}

/// The chart's files, with some replaced or added.
pub(crate) fn chart(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut files =
        vec![("Chart.yaml".to_owned(), CHART_YAML.to_owned()), ("values.yaml".to_owned(), VALUES.to_owned())];
    files.extend(TEMPLATES.map(|(path, text)| (path.to_owned(), text.to_owned())));
    files.push(hook("backup", "pre-upgrade", "before-hook-creation,hook-succeeded"));
    files.push(hook("migrate", "post-upgrade", "before-hook-creation"));
    files.push(hook("restore", "pre-rollback", "before-hook-creation,hook-succeeded"));
    files.push(hook("dump", "pre-delete", "hook-succeeded"));
    files.push(hook("bye", "post-delete", "hook-succeeded,hook-failed"));
    files.push(hook("probe", "test", "before-hook-creation"));
    for (path, text) in changes {
        files.retain(|(known, _)| known != path);
        files.push(((*path).to_owned(), (*text).to_owned()));
    }
    files
}

pub(crate) fn kind() -> Gvk {
    Gvk::new("charts.example.com", "v1alpha1", "Web")
}

fn definition(gvk: &Gvk, plural: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{}", gvk.group)},
        "spec": {
            "group": gvk.group, "scope": "Namespaced",
            "names": {"kind": gvk.kind, "plural": plural, "singular": gvk.kind.to_lowercase()},
            "versions": [{
                "name": gvk.version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}},
            }],
        },
    })
}

/// A cluster, the plugin in it, and an object it has a chart for.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) runner: Runner,
}

impl Scene {
    /// With the object there, and nothing reconciled yet.
    pub(crate) fn new(spec: &Value) -> Self {
        Self::with(spec, &chart(&[]), &json!({}))
    }

    pub(crate) fn with(spec: &Value, files: &[(String, String)], settings: &Value) -> Self {
        Self::played_by(helm_plugin::plugin, spec, files, settings)
    }

    /// With the plugin that this makes.
    pub(crate) fn played_by(
        plugin: impl Fn() -> Plugin + 'static,
        spec: &Value,
        files: &[(String, String)],
        settings: &Value,
    ) -> Self {
        let cluster = Cluster::new();
        cluster.define(&definition(&kind(), "webs")).unwrap();
        cluster
            .create([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})])
            .unwrap();
        cluster
            .create([json!({"apiVersion": "charts.example.com/v1alpha1", "kind": "Web",
                "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec})])
            .unwrap();
        let mut binding = json!({"chart": "charts/site"});
        binding.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let runner = Runner::new(&cluster, plugin)
            .manifest(include_str!("../../plugin.yaml"))
            .unwrap()
            .kind(kind(), FINALIZER)
            .binding(&binding)
            .asset("charts/site", files.iter().cloned());
        Self { cluster, runner }
    }

    /// Installed, with what led to it forgotten.
    pub(crate) fn installed(spec: &Value) -> Self {
        let mut scene = Self::new(spec);
        scene.settle();
        assert_eq!(scene.statuses(), ["deployed"]);
        scene.cluster.forget_calls();
        scene
    }

    pub(crate) fn settle(&mut self) {
        self.runner.settle().unwrap();
    }

    pub(crate) fn run_for(&mut self, seconds: u64) {
        self.runner.run_for(Duration::from_secs(seconds)).unwrap();
    }

    pub(crate) fn object(&self) -> ObjectRef {
        ObjectRef::new(kind(), NAMESPACE, NAME)
    }

    pub(crate) fn web(&self) -> Value {
        self.get(&self.object()).unwrap()
    }

    pub(crate) fn get(&self, object: &ObjectRef) -> Option<Value> {
        self.cluster.kubectl().get_ref(object).unwrap()
    }

    /// Sets fields of the spec.
    pub(crate) fn set(&self, values: &Value) {
        let patch = pilothouse_sdk::Patch::merge(&json!({ "spec": values })).unwrap();
        self.cluster.kubectl().patch_ref::<Value>(&self.object(), &patch).unwrap();
    }

    pub(crate) fn annotate(&self, name: &str, value: &str) {
        self.annotate_as(&format!("helm.sdk.operatorframework.io/{name}"), value);
    }

    /// Sets one of our own annotations.
    pub(crate) fn ask(&self, name: &str, value: &str) {
        self.annotate_as(&format!("helm.pilothouse.dev/{name}"), value);
    }

    fn annotate_as(&self, name: &str, value: &str) {
        let patch = json!({"metadata": {"annotations": {name: value}}});
        let patch = pilothouse_sdk::Patch::merge(&patch).unwrap();
        self.cluster.kubectl().patch_ref::<Value>(&self.object(), &patch).unwrap();
    }

    pub(crate) fn delete(&self) {
        self.cluster.kubectl().delete_ref(&self.object(), &Default::default()).unwrap();
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<Condition> {
        self.cluster.condition(&self.object(), kind)
    }

    /// Reason and message of a condition that is true.
    pub(crate) fn truth(&self, kind: &str) -> (String, String) {
        let condition =
            self.condition(kind).unwrap_or_else(|| panic!("no condition {kind}: {}", self.web()["status"]));
        assert_eq!(condition.status.as_str(), "True", "{condition:?}");
        (condition.reason, condition.message)
    }

    pub(crate) fn secret(&self, revision: u32) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, secret_name(NAME, revision))
    }

    pub(crate) fn stored(&self, revision: u32) -> Stored {
        let secret = self.get(&self.secret(revision)).unwrap();
        let names = chunks_of(&secret)
            .into_iter()
            .flat_map(|chunks| chunks.names(&secret_name(NAME, revision)).collect::<Vec<_>>());
        let chunk = |name| self.get(&ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, name)).unwrap();
        Stored::read_with(&secret, &names.map(chunk).collect::<Vec<_>>()).unwrap()
    }

    /// The names of all chunks, and of those that records have.
    pub(crate) fn chunks(&self) -> (Vec<String>, Vec<String>) {
        let secrets = self.cluster.kubectl().list_ref::<Value>(Gvk::new("", "v1", "Secret"), NAMESPACE);
        let secrets = secrets.labels("owner=pilothouse").all().unwrap();
        let there = secrets.iter().map(|secret| secret["metadata"]["name"].as_str().unwrap().to_owned());
        let named = self.history().into_iter().flat_map(|entry| {
            let record = secret_name(NAME, entry.revision);
            entry
                .chunks
                .into_iter()
                .flat_map(|chunks| chunks.names(&record).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        });
        let (mut there, mut named): (Vec<_>, Vec<_>) = (there.collect(), named.collect());
        there.sort();
        named.sort();
        (there, named)
    }

    pub(crate) fn history(&self) -> Vec<Entry> {
        let secrets = self.cluster.kubectl().list_ref::<Value>(Gvk::new("", "v1", "Secret"), NAMESPACE);
        let secrets = secrets.labels("owner=helm").all().unwrap();
        let mut entries: Vec<_> = secrets.iter().map(|secret| Entry::read(secret).unwrap()).collect();
        entries.sort_by_key(|entry| entry.revision);
        entries
    }

    /// The statuses of all revisions; label and record have to agree.
    pub(crate) fn statuses(&self) -> Vec<&'static str> {
        let entries = self.history();
        for entry in &entries {
            assert_eq!(
                self.stored(entry.revision).release.info.status,
                entry.status,
                "revision {}",
                entry.revision
            );
        }
        entries.iter().map(|entry| entry.status.as_str()).collect()
    }

    pub(crate) fn deployment(&self) -> ObjectRef {
        ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), NAMESPACE, NAME)
    }

    /// Lets the pods come up, after which the release is ready.
    pub(crate) fn come_up(&mut self) {
        self.cluster.set_ready(&self.deployment()).unwrap();
        self.settle();
        self.truth("Ready");
    }

    pub(crate) fn replicas(&self) -> Option<u64> {
        self.get(&self.deployment())?.pointer("/spec/replicas")?.as_u64()
    }

    pub(crate) fn extra(&self) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, "web-extra")
    }

    pub(crate) fn role(&self) -> ObjectRef {
        ObjectRef::new(Gvk::new("rbac.authorization.k8s.io", "v1", "ClusterRole"), None, "web-reader")
    }

    pub(crate) fn job(&self, name: &str) -> ObjectRef {
        ObjectRef::new(Gvk::new("batch", "v1", "Job"), NAMESPACE, name)
    }

    pub(crate) fn complete(&mut self, job: &str) {
        self.cluster.complete_job(NAMESPACE, job).unwrap();
        self.settle();
    }

    pub(crate) fn fail(&mut self, job: &str) {
        self.cluster.fail_job(NAMESPACE, job, "Job has reached the specified backoff limit").unwrap();
        self.settle();
    }

    /// What a command about the object answers, as a person at a command line asks it. It changes nothing unless it is
    /// asked to.
    pub(crate) fn command(&self, name: &str, options: &Value) -> Result<Value, String> {
        let reference = self.object();
        let mut all = json!({"object": {
            "apiVersion": reference.kind.api_version(), "kind": reference.kind.kind, "namespace": NAMESPACE, "name": NAME,
        }});
        all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let host = self.runner.command_host(&reference).unwrap();
        let invocation = Invocation { name: name.to_owned(), options: all.to_string() };
        let answer = helm_plugin::command::run(host, invocation);
        match answer.failure {
            Some(failure) => Err(failure),
            None => Ok(serde_json::from_slice(&answer.output).unwrap()),
        }
    }

    /// Everything of the release that is in the cluster, records and hooks left out.
    pub(crate) fn objects(&self) -> Vec<String> {
        let all = self.cluster.objects().into_iter().map(|object| object.to_string());
        all.filter(|text| {
            text.contains("web")
                && !text.contains("sh.helm.release")
                && !text.contains("Web shop/web")
                && !text.contains("webs.")
        })
        .collect()
    }

    pub(crate) fn events(&self) -> Vec<(String, String)> {
        self.cluster.events().into_iter().map(|event| (event.event.reason, event.event.message)).collect()
    }

    /// Writes of the release's objects and records since they were forgotten, status and finalizer left out.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.cluster.writes().into_iter().filter(|write| !write.contains("Web shop/web")).collect()
    }
}
