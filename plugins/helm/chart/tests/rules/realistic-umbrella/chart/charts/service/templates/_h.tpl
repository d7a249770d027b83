{{- define "service.name" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 }}{{- end -}}
{{- define "service.env" -}}
{{- range $k := keys .Values.env | sortAlpha }}
- name: {{ $k }}
  value: {{ get $.Values.env $k | quote }}
{{- end }}
{{- end -}}
