//! Bad input and faults: the real binary, real plugins, a real kube-apiserver, and between them what goes wrong.
//!
//! Needs plugins built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names their directory) and the programs of a
//! control plane; skips aloud without them.

mod bench;
mod host;
mod proxy;
mod release;

mod accounts;
mod api_server;
mod crash;
mod elsewhere;
mod helm_operator;
mod immutable;
mod large;
mod lifecycle;
mod look;
mod many;
mod metrics;
mod plugin_files;
mod refusals;
mod rest;
mod rights;
mod strict;
mod swap;
mod takeover;
mod undeclared;
mod unwatched;
mod values;
mod watches_file;
