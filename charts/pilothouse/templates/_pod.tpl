{{- define "pilothouse.args" -}}
- run
- --plugin-dir={{ include "pilothouse.pluginDirectories" . }}
{{- if include "pilothouse.projectMounted" . }}
- --watches-file={{ .Values.project.path }}/watches.yaml
{{- end }}
- --watches-plugin={{ .Values.project.plugin }}
{{- if .Values.grants.plugins }}
- --grants=/etc/pilothouse/grants.yaml
{{- end }}
{{- if .Values.grantRequested }}
- --grant-requested
{{- end }}
{{- with .Values.releases }}
- {{ printf "--releases=%s" (join "," .) | quote }}
{{- with $.Values.releasesAccount }}
- --releases-account={{ . }}
{{- end }}
{{- end }}
- --leader-elect={{ .Values.leaderElection.enabled }}
{{- if .Values.leaderElection.enabled }}
- --leader-election-id={{ include "pilothouse.leaseName" . }}
{{- end }}
- --reconcile-period={{ .Values.reconcilePeriod }}
- --max-concurrent-reconciles={{ .Values.maxConcurrentReconciles }}
- --grace-period={{ .Values.gracePeriodSeconds }}s
- --health-probe-bind-address={{ .Values.bindHost }}:{{ .Values.probes.port }}
- --metrics-bind-address={{ if .Values.metrics.enabled }}{{ .Values.bindHost }}:{{ .Values.metrics.port }}{{ else }}0{{ end }}
{{- if .Values.handover.enabled }}
- --handover-bind-address={{ .Values.bindHost }}:{{ .Values.handover.port }}
{{- with .Values.handover.url }}
- --handover-url={{ . }}
{{- end }}
{{- end }}
- --log={{ .Values.log.level }}
- --log-format={{ .Values.log.format }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pilothouse.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- if .Values.handover.enabled }}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- end }}
# The same variable as in operator-sdk's projects. Empty: all namespaces.
- name: WATCH_NAMESPACE
  value: {{ join "," .Values.namespaces | quote }}
# Threads of the compiler; without it, as many as the node has processors.
- name: RAYON_NUM_THREADS
  value: {{ .Values.compileThreads | quote }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pilothouse.volumeMounts" -}}
# The directory above the cache: the host makes its own in it, which nobody else may enter.
- name: cache
  mountPath: /var/cache
{{- if .Values.grants.plugins }}
- name: grants
  mountPath: /etc/pilothouse
  readOnly: true
{{- end }}
{{- if include "pilothouse.projectMounted" . }}
- name: project
  mountPath: {{ .Values.project.path }}
  readOnly: true
{{- end }}
{{- range .Values.plugins.configMaps }}
- name: plugin-{{ . | sha256sum | trunc 8 }}
  mountPath: /var/lib/pilothouse/plugins/{{ . }}
  readOnly: true
{{- end }}
{{- range .Values.plugins.volumes }}
- name: plugins-{{ .name }}
  mountPath: /var/lib/pilothouse/plugins/{{ .name }}
  readOnly: true
  {{- with .subPath }}
  subPath: {{ . }}
  {{- end }}
{{- end }}
{{- range .Values.claims }}
- name: claim-{{ .name }}
  mountPath: /var/claims/{{ .name }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pilothouse.volumes" -}}
- name: cache
  emptyDir:
    sizeLimit: {{ .Values.cache.sizeLimit }}
    {{- with .Values.cache.medium }}
    medium: {{ . }}
    {{- end }}
{{- if .Values.grants.plugins }}
- name: grants
  configMap:
    name: {{ include "pilothouse.fullname" . }}-grants
{{- end }}
{{- with .Values.project.configMap }}
{{- if .name }}
- name: project
  configMap:
    name: {{ .name }}
    {{- with .items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- end }}
{{- with .Values.project.volume }}
- name: project
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range .Values.plugins.configMaps }}
- name: plugin-{{ . | sha256sum | trunc 8 }}
  configMap:
    name: {{ . }}
{{- end }}
{{- range .Values.plugins.volumes }}
- name: plugins-{{ .name }}
  {{- toYaml .source | nindent 2 }}
{{- end }}
{{- range .Values.claims }}
- name: claim-{{ .name }}
  persistentVolumeClaim:
    claimName: {{ .claimName }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
