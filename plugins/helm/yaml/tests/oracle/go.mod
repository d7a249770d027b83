module pilothouse.dev/testing/yaml-oracle

// What Helm 4.3.1 is built with: its go.mod for the modules, `helm version` for Go.
go 1.26.0

toolchain go1.27.2

require (
	go.yaml.in/yaml/v2 v2.4.4
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
