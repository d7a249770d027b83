//! The project that both operators run, unchanged, and its resources.

use std::fs;
use std::path::Path;

use anyhow::Result;

const WATCHES: &str = "\
- group: bench.example.com
  version: v1
  kind: Site
  chart: helm-charts/site
";

/// What strict mode takes; helm-operator passes over keys that it does not know.
const STRICT: &str = "  release:\n    driftDetection:\n      mode: strict\n";

const CHART: &str = "apiVersion: v2\nname: site\nversion: 1.0.0\nappVersion: \"1\"\n";

const VALUES: &str = "replicas: 0\ngreeting: hello\nnamespaced: false\n";

/// Most charts leave `metadata.namespace` out; helm-operator repairs those that write it much sooner.
const OBJECTS: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  {{- if .Values.namespaced }}
  namespace: {{ .Release.Namespace }}
  {{- end }}
  labels: { app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/managed-by: {{ .Release.Service }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: {{ .Release.Name }} } }
  template:
    metadata: { labels: { app: {{ .Release.Name }} } }
    spec:
      containers:
        - name: site
          image: registry.example/site:1
          ports: [{ name: http, containerPort: 8080 }]
          envFrom: [{ configMapRef: { name: {{ .Release.Name }} } }]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: { app: {{ .Release.Name }} }
  ports: [{ name: http, port: 80, targetPort: http }]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
"#;

/// The definition of the project's kind.
pub(super) const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sites.bench.example.com }
spec:
  group: bench.example.com
  scope: Namespaced
  names: { kind: Site, listKind: SiteList, plural: sites, singular: site }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          x-kubernetes-preserve-unknown-fields: true
";

/// Writes the project, for strict mode if that is to be measured.
pub(super) fn write(directory: &Path, strict: bool) -> Result<()> {
    let chart = directory.join("helm-charts/site");
    fs::create_dir_all(chart.join("templates"))?;
    let more = if strict { STRICT } else { "" };
    fs::write(directory.join("watches.yaml"), format!("{WATCHES}{more}"))?;
    fs::write(chart.join("Chart.yaml"), CHART)?;
    fs::write(chart.join("values.yaml"), VALUES)?;
    Ok(fs::write(chart.join("templates/objects.yaml"), OBJECTS)?)
}

/// Resources `PREFIX-0000` and so on.
pub(super) fn sites(prefix: &str, count: usize) -> String {
    (0..count).fold(String::new(), |mut text, index| {
        text.push_str(&site(&format!("{prefix}-{index:04}"), false));
        text.push_str("---\n");
        text
    })
}

/// One resource.
pub(super) fn site(name: &str, namespaced: bool) -> String {
    format!(
        "apiVersion: bench.example.com/v1\nkind: Site\nmetadata: {{ name: {name} }}\nspec: {{ namespaced: {namespaced} }}\n"
    )
}
