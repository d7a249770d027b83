{{- define "ws.name" -}}{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}{{- end }}
{{- define "ws.fullname" -}}
{{- if .Values.fullnameOverride -}}{{- .Values.fullnameOverride | trunc 26 | trimSuffix "-" -}}
{{- else -}}{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}{{- .Release.Name | trunc 26 | trimSuffix "-" -}}{{- else -}}{{- printf "%s-%s" .Release.Name $name | trunc 26 | trimSuffix "-" -}}{{- end -}}{{- end -}}
{{- end -}}
{{- define "ws.labels" }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/version: "{{ replace "+" "_" .Chart.Version }}"
app.kubernetes.io/part-of: {{ template "ws.name" . }}
chart: {{ printf "%s-%s" $.Chart.Name ($.Chart.Version | replace "+" "_") }}
release: {{ $.Release.Name | quote }}
heritage: {{ $.Release.Service | quote }}
{{- if .Values.commonLabels}}
{{ toYaml .Values.commonLabels }}
{{- end }}
{{- end }}
{{- define "ws.kubeVersion" -}}{{- default .Capabilities.KubeVersion.Version .Values.kubeVersionOverride -}}{{- end -}}
{{- define "ws.storage" -}}
{{- if .volumeClaimTemplate }}
volumeClaimTemplate:
  spec:
{{ toYaml .volumeClaimTemplate.spec | indent 4 }}
{{- else if .emptyDir }}
emptyDir: {{- .emptyDir | toYaml | nindent 2 }}
{{- end -}}
{{- end -}}
