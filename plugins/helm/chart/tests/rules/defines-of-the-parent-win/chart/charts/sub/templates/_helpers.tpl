{{- define "shared" }}sub{{ end }}
{{- define "sub.only" }}only {{ .Chart.Name }} {{ include "shared" . }}{{ end }}
