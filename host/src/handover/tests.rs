//! Both ends against each other: real TLS, real pipes, a directory as the store.
