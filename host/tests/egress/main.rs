//! HTTP of plugins to servers other than the cluster's API: real sockets, real TLS, real guests; only names and addresses are made up.

mod azure;
mod blob;
mod exchange;
mod guest;
mod handover;
mod s3;
mod server;
