{{- define "lib.name" -}}
{{ .Values.lib.prefix }}-{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- define "lib.merge" -}}
{{- $top := first . -}}
{{- join "," (rest .) }}@{{ $top.Chart.Name }}
{{- end -}}
