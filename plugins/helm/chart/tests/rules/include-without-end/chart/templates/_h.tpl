{{ define "again" }}{{ include "again" . }}{{ end }}
