{{- define "base.capabilities.kubeVersion" -}}
{{- default (default .Capabilities.KubeVersion.Version .Values.kubeVersion) ((.Values.global).kubeVersion) -}}
{{- end -}}
{{- define "base.capabilities.apiVersions.has" -}}
{{- $providedAPIVersions := default .context.Values.apiVersions ((.context.Values.global).apiVersions) -}}
{{- if and (empty $providedAPIVersions) (.context.Capabilities.APIVersions.Has .version) -}}
    {{- true -}}
{{- else if has .version $providedAPIVersions -}}
    {{- true -}}
{{- end -}}
{{- end -}}
{{- define "base.capabilities.hpa.apiVersion" -}}
{{- $kubeVersion := include "base.capabilities.kubeVersion" .context -}}
{{- if and (not (empty $kubeVersion)) (semverCompare "<1.23-0" $kubeVersion) -}}
{{- if .beta2 -}}{{- print "autoscaling/v2beta2" -}}{{- else -}}{{- print "autoscaling/v2beta1" -}}{{- end -}}
{{- else -}}{{- print "autoscaling/v2" -}}{{- end -}}
{{- end -}}
{{- define "base.capabilities.psp.supported" -}}
{{- $kubeVersion := include "base.capabilities.kubeVersion" . -}}
{{- if or (empty $kubeVersion) (semverCompare "<1.25-0" $kubeVersion) -}}{{- true -}}{{- end -}}
{{- end -}}
