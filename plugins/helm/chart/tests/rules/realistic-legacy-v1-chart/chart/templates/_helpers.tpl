{{/* vim: set filetype=mustache: */}}
{{define "name"}}{{default .Chart.Name .Values.nameOverride | trunc 63 }}{{end}}
{{ define "fullname" }}
{{- $name := default "legacy" .Values.nameOverride -}}
{{ printf "%s-%s" .Release.Name $name | trunc 24 }}
{{ end }}
