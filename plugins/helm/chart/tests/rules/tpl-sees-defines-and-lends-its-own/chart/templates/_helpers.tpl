{{- define "helper" -}}helper{{- end }}
