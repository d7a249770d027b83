{{- define "shared" }}parent a{{ end }}
