{{- define "shared" }}parent z{{ end }}
