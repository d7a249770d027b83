{{- define "pilothouse.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Room is left for the longest suffix. */}}
{{- define "pilothouse.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pilothouse.selectorLabels" -}}
app.kubernetes.io/name: {{ include "pilothouse.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pilothouse.labels" -}}
{{ include "pilothouse.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pilothouse.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "pilothouse.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "pilothouse.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "pilothouse.leaseName" -}}
{{- default (include "pilothouse.fullname" .) .Values.leaderElection.id -}}
{{- end -}}

{{- define "pilothouse.subject" -}}
- kind: ServiceAccount
  name: {{ include "pilothouse.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Not empty when the project is mounted. */}}
{{- define "pilothouse.projectMounted" -}}
{{- if or .Values.project.configMap.name .Values.project.volume -}}true{{- end -}}
{{- end -}}

{{- define "pilothouse.pluginDirectories" -}}
{{- $directories := list -}}
{{- with .Values.plugins.imageDirectory -}}{{- $directories = append $directories . -}}{{- end -}}
{{- range .Values.plugins.configMaps -}}{{- $directories = append $directories (printf "/var/lib/pilothouse/plugins/%s" .) -}}{{- end -}}
{{- range .Values.plugins.volumes -}}{{- $directories = append $directories (printf "/var/lib/pilothouse/plugins/%s" .name) -}}{{- end -}}
{{- join "," $directories -}}
{{- end -}}

{{/* Combinations that a schema cannot tell, or tells badly. */}}
{{- define "pilothouse.check" -}}
{{- if and (not .Values.leaderElection.enabled) (gt (int .Values.replicas) 1) -}}
{{- fail "replicas > 1 needs leaderElection.enabled: without it every replica would work on every object" -}}
{{- end -}}
{{- if and (not .Values.leaderElection.enabled) .Values.strategy (ne (.Values.strategy.type | default "") "Recreate") -}}
{{- fail "without leaderElection.enabled the strategy must be Recreate: else two hosts work at once during an update" -}}
{{- end -}}
{{- if not (include "pilothouse.pluginDirectories" .) -}}
{{- fail "no plugins: set plugins.imageDirectory, plugins.configMaps or plugins.volumes" -}}
{{- end -}}
{{- if and .Values.project.configMap.name .Values.project.volume -}}
{{- fail "project.configMap.name and project.volume: only one of them can be mounted at project.path" -}}
{{- end -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- if and $budget.enabled (kindIs "invalid" $budget.maxUnavailable) (kindIs "invalid" $budget.minAvailable) -}}
{{- fail "podDisruptionBudget.enabled needs maxUnavailable or minAvailable" -}}
{{- end -}}
{{- if and .Values.metrics.enabled (eq (int .Values.metrics.port) (int .Values.probes.port)) -}}
{{- fail "metrics.port and probes.port must differ" -}}
{{- end -}}
{{- if and .Values.handover.enabled (eq (int .Values.handover.port) (int .Values.probes.port)) -}}
{{- fail "handover.port and probes.port must differ" -}}
{{- end -}}
{{- if and .Values.handover.enabled .Values.metrics.enabled (eq (int .Values.handover.port) (int .Values.metrics.port)) -}}
{{- fail "handover.port and metrics.port must differ" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled" -}}
{{- end -}}
{{- end -}}
