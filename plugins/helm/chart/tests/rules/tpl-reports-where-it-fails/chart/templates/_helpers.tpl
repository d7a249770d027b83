{{- define "deep" }}
{{- tpl .Values.bad . }}
{{- end }}
