//! For plugin authors: a typed reconciler, the host's capabilities, and a native test harness.
