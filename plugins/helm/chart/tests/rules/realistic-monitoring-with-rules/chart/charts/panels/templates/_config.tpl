{{- define "panels.configData" -}}
{{- $files := .Files }}
{{- $root := . -}}
grafana.ini: |
{{- range $elem, $elemVal := index .Values "grafana.ini" }}
  {{- if not (kindIs "map" $elemVal) }}
  {{- if kindIs "invalid" $elemVal }}
  {{ $elem }} =
  {{- else if kindIs "slice" $elemVal }}
  {{ $elem }} = {{ toJson $elemVal }}
  {{- else if kindIs "string" $elemVal }}
  {{ $elem }} = {{ tpl $elemVal $root }}
  {{- else }}
  {{ $elem }} = {{ $elemVal }}
  {{- end }}
  {{- end }}
{{- end }}
{{- range $key, $value := index .Values "grafana.ini" }}
  {{- if kindIs "map" $value }}
  [{{ $key }}]
  {{- range $elem, $elemVal := $value }}
  {{- if kindIs "invalid" $elemVal }}
  {{ $elem }} =
  {{- else if kindIs "string" $elemVal }}
  {{ $elem }} = {{ tpl $elemVal $root }}
  {{- else }}
  {{ $elem }} = {{ $elemVal }}
  {{- end }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end -}}
