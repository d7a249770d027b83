{{/*
Names of this chart.
*/}}
{{- define "db.v1.primary.fullname" -}}
{{- if eq .Values.architecture "replication" -}}
    {{- printf "%s-%s" (include "base.names.fullname" .) .Values.primary.name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
    {{- include "base.names.fullname" . -}}
{{- end -}}
{{- end -}}
{{- define "db.v1.image" -}}{{ include "base.images.image" (dict "imageRoot" .Values.image "global" .Values.global "chart" .Chart) }}{{- end -}}
{{- define "db.v1.database" -}}
{{- if ((((.Values.global).db).auth).database) -}}{{- .Values.global.db.auth.database -}}{{- else if .Values.auth.database -}}{{- .Values.auth.database -}}{{- end -}}
{{- end -}}
{{- define "db.v1.createConfigmap" -}}{{- if and (or .Values.primary.configuration .Values.primary.pgHbaConfiguration) (not .Values.primary.existingConfigmap) -}}{{- true -}}{{- else -}}{{- end -}}{{- end -}}
{{- define "db.v1.validateValues" -}}
{{- $messages := list -}}
{{- $messages = append $messages (include "db.v1.validateValues.ldap" .) -}}
{{- $messages = append $messages (include "db.v1.validateValues.arch" .) -}}
{{- $messages := without $messages "" -}}
{{- $message := join "\n" $messages -}}
{{- if $message -}}{{- printf "\nVALUES VALIDATION:\n%s" $message | fail -}}{{- end -}}
{{- end -}}
{{- define "db.v1.validateValues.ldap" -}}{{- if and (.Values.ldap).enabled (and (.Values.ldap).url (.Values.ldap).server) -}}
db: ldap.url, ldap.server
    You cannot set both
{{- end -}}{{- end -}}
{{- define "db.v1.validateValues.arch" -}}{{- if not (has .Values.architecture (list "standalone" "replication")) -}}
db: architecture
    "{{ .Values.architecture }}" is neither
{{- end -}}{{- end -}}
