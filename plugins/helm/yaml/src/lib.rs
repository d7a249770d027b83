//! YAML as sigs.k8s.io/yaml and go-yaml v2 read and write it.
