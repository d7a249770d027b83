//! A real Kubernetes on any machine, for tests and demonstrations.
