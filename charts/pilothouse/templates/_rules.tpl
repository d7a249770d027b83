{{/*
What the host itself asks of the API server, besides what every account may (discovery, its version, reviews of its own
rights). Whatever a plugin does comes on top: .Values.rbac.kinds and .rules.
*/}}
{{- define "pilothouse.definitionRules" -}}
# Kinds that come and go are seen at once; without it the host looks every 30 s.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
- apiGroups: [apiregistration.k8s.io]
  resources: [apiservices]
  verbs: [list, watch]
{{- end -}}

{{- define "pilothouse.leaseRules" -}}
# Creation cannot be bound to a name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "pilothouse.leaseName" . | quote }}]
  verbs: [get, patch]
{{- end -}}

{{- define "pilothouse.inventoryRule" -}}
# Which children an object has, in a ConfigMap beside it. Server-side apply is patch, and create the first time.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, patch, delete]
{{- end -}}

{{- define "pilothouse.workRules" -}}
# Events on custom resources, counted up when they repeat.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.rbac.inventories }}
{{ include "pilothouse.inventoryRule" . }}
{{- end }}
{{- if .Values.rbac.releaseRecords }}
# Helm's release records; deleting is how history is kept short.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end }}
{{- $hooks := false }}
{{- range .Values.grants.plugins }}
{{- if .hooks }}
{{- $hooks = true }}
{{- end }}
{{- end }}
{{- if or $hooks .Values.grantRequested }}
# How changes stand that plugins take part in.
- apiGroups: [lifecycle.pilothouse.dev]
  resources: [lifecycleruns]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [lifecycle.pilothouse.dev]
  resources: [lifecycleruns/status]
  verbs: [patch]
{{- end }}
{{- $kinds := .Values.rbac.kinds }}
{{- if .Values.releases }}
{{- $kinds = append $kinds (dict "group" "helm.pilothouse.dev" "resources" (list "releases")) }}
{{- end }}
{{- range $kinds }}
# Finalizers are a patch of the object. `finalizers` is for clusters that guard owner references.
- apiGroups: [{{ .group | quote }}]
  resources: {{ toJson .resources }}
  verbs: [get, list, watch, patch]
- apiGroups: [{{ .group | quote }}]
  resources: [{{ range $index, $resource := .resources }}{{ if $index }}, {{ end }}{{ printf "%s/status" $resource | quote }}{{ end }}]
  verbs: [patch]
- apiGroups: [{{ .group | quote }}]
  resources: [{{ range $index, $resource := .resources }}{{ if $index }}, {{ end }}{{ printf "%s/finalizers" $resource | quote }}{{ end }}]
  verbs: [update]
{{- end }}
{{- with .Values.rbac.rules }}
{{ toYaml . }}
{{- end }}
{{- end -}}
