//! The Helm plugin: the component over the libraries beside it.
