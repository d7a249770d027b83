{{- define "mesh-tag" -}}
  {{- if or (hasSuffix .Values.variant .Values.tag) (eq "" (toString .Values.variant)) }}{{- .Values.tag | default .Values.global.tag }}{{- else }}{{- printf "%v-%s" (.Values.tag | default .Values.global.tag) .Values.variant }}{{- end }}
{{- end }}
{{- define "istiod.metadata" -}}
name: istiod{{- if not (eq .Values.revision "") }}-{{ .Values.revision }}{{- end }}
{{- end }}
{{ define "core" }}
- name: enhance.rev
{{- range $key, $val := .Values.sidecarInjectorWebhook.neverInjectSelector }}
  key-{{ $key }}: {{ $val | toJson }}
{{- end }}
{{- end }}
