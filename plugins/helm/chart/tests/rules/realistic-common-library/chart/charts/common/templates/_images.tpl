{{- define "common.images.image" -}}
{{- $registryName := default .imageRoot.registry ((.global).imageRegistry) -}}
{{- $repositoryName := .imageRoot.repository -}}
{{- $separator := ":" -}}
{{- $termination := .imageRoot.tag | toString -}}
{{- if not .imageRoot.tag }}{{- if .chart }}{{- $termination = .chart.AppVersion | toString -}}{{- end -}}{{- end -}}
{{- if .imageRoot.digest }}{{- $separator = "@" -}}{{- $termination = .imageRoot.digest | toString -}}{{- end -}}
{{- if $registryName }}{{- printf "%s/%s%s%s" $registryName $repositoryName $separator $termination -}}{{- else -}}{{- printf "%s%s%s" $repositoryName $separator $termination -}}{{- end -}}
{{- end -}}
{{- define "common.images.renderPullSecrets" -}}
  {{- $pullSecrets := list }}
  {{- $context := .context }}
  {{- range (($context.Values.global).imagePullSecrets) -}}
    {{- if kindIs "map" . -}}
      {{- $pullSecrets = append $pullSecrets (include "common.tplvalues.render" (dict "value" .name "context" $context)) -}}
    {{- else -}}
      {{- $pullSecrets = append $pullSecrets (include "common.tplvalues.render" (dict "value" . "context" $context)) -}}
    {{- end -}}
  {{- end -}}
  {{- if (not (empty $pullSecrets)) -}}
imagePullSecrets:
    {{- range $pullSecrets | uniq }}
  - name: {{ . }}
    {{- end }}
  {{- end }}
{{- end -}}
