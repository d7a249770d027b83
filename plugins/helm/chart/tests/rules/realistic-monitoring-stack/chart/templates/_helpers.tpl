{{- define "mon.fullname" -}}{{ .Values.fullnameOverride | default .Release.Name }}{{- end }}
{{- define "mon.labels" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
release: {{ $.Release.Name | quote }}
{{- end }}
