{{- define "chartName" -}}{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}{{- end -}}
{{- define "image" -}}
{{- $defaultTag := index . 1 -}}
{{- with index . 0 -}}
{{- if .registry -}}{{ printf "%s/%s" .registry .repository }}{{- else -}}{{- .repository -}}{{- end -}}
{{- if .digest -}}{{ printf "@%s" .digest }}{{- else -}}{{ printf ":%s" (default $defaultTag .tag) }}{{- end -}}
{{- end }}
{{- end }}
{{- define "labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "chartName" . }}
{{- if .Values.global.commonLabels}}
{{ toYaml .Values.global.commonLabels }}
{{- end }}
{{- end -}}
{{- define "namespace" -}}{{ .Values.namespace | default .Release.Namespace }}{{- end -}}
{{- define "crd-check" -}}
  {{- if and (.Values.installCRDs) (not .Values.crds.enabled) -}}
  {{- else if (.Values.installCRDs) -}}
    {{- fail "ERROR: the deprecated .installCRDs option cannot be enabled at the same time as its replacement crds.enabled" }}
  {{- end -}}
{{- end -}}
