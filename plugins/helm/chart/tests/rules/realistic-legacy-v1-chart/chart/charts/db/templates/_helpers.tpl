{{ define "name" }}db{{ end }}
