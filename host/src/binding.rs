//! Which plugin reconciles which kind, and with which configuration.

use std::sync::Arc;
use std::time::Duration;

use crate::asset::Asset;
use crate::charts::places::Place;
use crate::object::Gvk;

/// One kind in the hands of one plugin.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Name of the plugin.
    pub plugin: Arc<str>,
    /// The kind.
    pub gvk: Arc<Gvk>,
    /// Only objects with these labels; empty: all. A Kubernetes label selector.
    pub selector: String,
    /// Settings of the binding as JSON text.
    pub settings: Arc<str>,
    /// Trees of files the plugin may read for this binding.
    pub assets: Vec<Arc<Asset>>,
    /// Places that charts of the kind's objects may come from; the grants have the last word.
    pub charts: Vec<Place>,
    /// The finalizer the host keeps on the kind's objects.
    pub finalizer: Option<Arc<str>>,
    /// Finalizers of earlier tools, taken over.
    pub legacy_finalizers: Vec<String>,
    /// The periodic safety net.
    pub resync: Duration,
    /// Where the binding was written, for messages: `watches.yaml:12:3` or the plugin's name.
    pub origin: String,
}
