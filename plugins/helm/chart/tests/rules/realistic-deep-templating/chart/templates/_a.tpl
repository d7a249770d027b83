{{- define "app.name" -}}{{ tpl .Values.app.name . }}{{- end -}}
{{- define "app.container" -}}
{{- $root := index . 0 -}}{{- $name := index . 1 -}}{{- $c := mergeOverwrite (deepCopy $root.Values.defaults) (index . 2) -}}
- name: {{ $name }}
  image: {{ tpl $c.image $root }}
  {{- with $c.args }}
  args:
  {{- range . }}
  - {{ tpl . $root | quote }}
  {{- end }}
  {{- end }}
  {{- range $kind, $probe := $c.probes }}
  {{- if $probe }}
  {{ $kind }}Probe: {{- toYaml $probe | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}
{{- define "app.recursive" -}}
{{- range $k, $v := .map -}}
{{- if kindIs "map" $v }}
{{ include "app.recursive" (dict "map" $v "path" (printf "%s%s." $.path $k)) }}
{{- else if kindIs "slice" $v }}
{{ $.path }}{{ $k }}: {{ $v | toJson }}
{{- else }}
{{ $.path }}{{ $k }}: {{ $v }}
{{- end }}
{{- end -}}
{{- end -}}
