{{- define "gk.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}{{- .Release.Name | trunc 63 | trimSuffix "-" -}}{{- else -}}{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}{{- end -}}
{{- end -}}
{{- define "gk.image" -}}
{{- if .chroot -}}{{- printf "%s-chroot" .image -}}{{- else -}}{{- printf "%s" .image -}}{{- end }}
{{- end -}}
{{- define "gk.imageDigest" -}}
{{- if .chroot -}}{{- if .digestChroot -}}{{- printf "@%s" .digestChroot -}}{{- end }}{{- else -}}{{ if .digest -}}{{- printf "@%s" .digest -}}{{- end -}}{{- end -}}
{{- end -}}
{{- define "gk.controller.containerSecurityContext" -}}
{{- if .Values.controller.containerSecurityContext -}}
{{- toYaml .Values.controller.containerSecurityContext -}}
{{- else -}}
runAsNonRoot: {{ .Values.controller.image.runAsNonRoot }}
runAsUser: {{ .Values.controller.image.runAsUser }}
allowPrivilegeEscalation: {{ or .Values.controller.image.allowPrivilegeEscalation .Values.controller.image.chroot }}
{{- if .Values.controller.image.seccompProfile }}
seccompProfile: {{ toYaml .Values.controller.image.seccompProfile | nindent 2 }}
{{- end }}
capabilities:
  drop:
  - ALL
  add:
  - NET_BIND_SERVICE
  {{- if .Values.controller.image.chroot }}
  {{- if .Values.controller.image.seccompProfile }}
  - SYS_ADMIN
  {{- end }}
  - SYS_CHROOT
  {{- end }}
readOnlyRootFilesystem: {{ .Values.controller.image.readOnlyRootFilesystem }}
{{- end -}}
{{- end -}}
{{- define "gk.params" -}}
- /controller
{{- if .Values.defaultBackend.enabled }}
- --default-backend-service=$(POD_NAMESPACE)/x
{{- end }}
{{- if and .Values.controller.publishService.enabled .Values.controller.service.enabled }}
- --publish-service={{ printf "%s/%s" "$(POD_NAMESPACE)" (include "gk.fullname" .) | default .Values.controller.publishService.pathOverride }}
{{- end }}
- --election-id={{ (.Values.controller.electionID | default "") | empty | ternary (printf "%s-leader" (include "gk.fullname" .)) .Values.controller.electionID }}
{{- range $key, $value := .Values.controller.extraArgs }}
{{- /* Accept keys without values or with false as value */}}
{{- if eq ($value | quote | len) 2 }}
- --{{ $key }}
{{- else }}
- --{{ $key }}={{ $value }}
{{- end }}
{{- end }}
{{- end -}}
{{- define "extraModules" -}}
- name: {{ .name }}
  {{- with .image }}
  image: {{ if .repository }}{{ .repository }}{{ else }}{{ .registry }}/{{ .image }}{{ end }}:{{ .tag }}{{ if .digest }}@{{ .digest }}{{ end }}
  command:
  {{- if .distroless }}
    - /init_module
  {{- else }}
    - sh
    - -c
    - /usr/local/bin/init_module.sh
  {{- end }}
  {{- end }}
  securityContext: {{ .containerSecurityContext | toYaml | nindent 4 }}
{{- end -}}
