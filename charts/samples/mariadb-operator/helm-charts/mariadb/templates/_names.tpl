{{- define "mariadb.labels" -}}
app.kubernetes.io/name: mariadb
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "mariadb.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "mariadb.password" -}}
valueFrom:
  secretKeyRef:
    name: {{ required "rootPasswordSecret.name: name the Secret with the password of root" .Values.rootPasswordSecret.name }}
    key: {{ .Values.rootPasswordSecret.key }}
{{- end }}

{{- define "mariadb.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: ["ALL"] }
{{- end }}

{{- define "mariadb.podSecurity" -}}
runAsNonRoot: true
runAsUser: 999
runAsGroup: 999
fsGroup: 999
seccompProfile: { type: RuntimeDefault }
{{- end }}
