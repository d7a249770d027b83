//! A Kubernetes operator host: calls reconcile hooks in WebAssembly components.
