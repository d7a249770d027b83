{{- define "hub.boolean" -}}
{{- $local := pluck "enabled" (default (dict) .local) | first -}}
{{- $global := pluck "enabled" (default (dict) .global) | first -}}
{{- if kindIs "invalid" $local -}}{{ default "false" ($global | toString) }}{{- else -}}{{ $local }}{{- end -}}
{{- end -}}
{{- define "hub.fullname" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "hub.labels" -}}
app: {{ template "name" . }}
chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
release: {{ .Release.Name }}
{{ if .Values.global.application -}}
{{- if .Values.global.application.create -}}
app.kubernetes.io/name: {{ .Release.Name }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- define "name" -}}{{- $name := default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}{{- printf "%s" $name -}}{{- end -}}
{{- define "hub.podLabels" -}}
{{- range $key, $value := mergeOverwrite (deepCopy .Values.global.common.labels) (deepCopy ((.Values.common).labels | default dict)) }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end -}}
{{- define "hub.assembleHost" -}}
{{- $name := .name -}}
{{- $context := .context -}}
{{- $result := dict -}}
{{- if $context.Values.global.hosts.domain -}}
{{-   $_ := set $result "domainHost" (printf ".%s" $context.Values.global.hosts.domain) -}}
{{-   if $context.Values.global.hosts.hostSuffix -}}
{{-     $_ := set $result "domainHost" (printf "-%s%s" $context.Values.global.hosts.hostSuffix $result.domainHost) -}}
{{-   end -}}
{{-   $_ := set $result "domainHost" (printf "%s%s" $name $result.domainHost) -}}
{{- end -}}
{{- $result.domainHost -}}
{{- end -}}
{{- define "hub.checkConfig" -}}
{{- $messages := list }}
{{- range $check := list "a" "b" "c" }}{{ $messages = append $messages (include (printf "check.%s" $check) $) }}{{ end }}
{{- $messages := without $messages "" }}
{{- $message := join "\n" $messages }}
{{- if $message -}}{{- printf "\nCONFIGURATION CHECKS:\n%s" $message | fail -}}{{- end -}}
{{- end -}}
{{- define "check.a" }}{{ if (and .Values.global.bad (gt (.Values.global.bad | int) 3)) }}
a:
    bad is {{ .Values.global.bad }}
{{- end }}{{ end }}
{{- define "check.b" }}{{ with .Values.global.image.tag }}{{ if not (regexMatch "^v?\\d+\\.\\d+" .) }}b: tag {{ . | quote }}{{ end }}{{ end }}{{ end }}
{{ define "check.c" }}{{ end }}
