//! One chart in three sizes, for showing that time grows as output and values do.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// How much larger than the first each chart is.
pub(super) const SCALES: [usize; 3] = [1, 10, 100];
/// Objects of the smallest chart.
const OBJECTS: usize = 20;

const HELPERS: &str = r#"{{- define "grown.labels" -}}
app.kubernetes.io/name: {{ .item.name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end -}}
"#;

const TEMPLATE: &str = r#"{{- range $item := .Values.items }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $item.name }}
  labels:
    {{- include "grown.labels" (dict "root" $ "item" $item) | nindent 4 }}
  {{- with $item.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
data:
  {{- range $key, $value := $item.data }}
  {{ $key }}: {{ tpl $value $ | quote }}
  {{- end }}
{{- end }}
"#;

/// Writes the charts; their directories.
pub(super) fn charts(work: &Path) -> Result<Vec<PathBuf>> {
    SCALES.iter().map(|scale| chart(work, *scale)).collect()
}

fn chart(work: &Path, scale: usize) -> Result<PathBuf> {
    let directory = work.join(format!("grown-x{scale}"));
    fs::create_dir_all(directory.join("templates"))?;
    fs::write(directory.join("Chart.yaml"), "apiVersion: v2\nname: grown\nversion: 1.0.0\n")?;
    fs::write(directory.join("templates/_helpers.tpl"), HELPERS)?;
    fs::write(directory.join("templates/objects.yaml"), TEMPLATE)?;
    fs::write(directory.join("values.yaml"), values(OBJECTS * scale)?)?;
    Ok(directory)
}

fn values(objects: usize) -> Result<String> {
    let mut text = String::from("items:\n");
    for n in 0..objects {
        writeln!(text, "  - name: object-{n}\n    annotations:\n      example.com/number: \"{n}\"")?;
        writeln!(
            text,
            "    data:\n      host: \"{{{{ .Release.Name }}}}-{n}.example.com\"\n      port: \"80\""
        )?;
    }
    Ok(text)
}
