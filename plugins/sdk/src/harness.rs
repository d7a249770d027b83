//! An in-memory Kubernetes, and the host around it, for native tests of plugins (feature `harness`).
//!
//! [`Cluster`] holds objects and behaves as an API server does where plugins meet it; [`Runner`] calls the plugin as the
//! host does. Nothing sleeps: time is virtual.
//!
//! ```
//! use pilothouse_sdk::harness::{Cluster, Runner};
//! use pilothouse_sdk::{Context, Dynamic, Error, Gvk, Outcome, Plugin, Reconciler};
//! use serde_json::json;
//!
//! struct Copy;
//!
//! impl Reconciler for Copy {
//!     type Resource = Dynamic;
//!
//!     fn reconcile(&self, _: &Context, object: &Dynamic) -> Result<Outcome, Error> {
//!         let name = format!("{}-copy", object.name());
//!         let copy = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
//!         Ok(Outcome::ready().child(&copy))
//!     }
//! }
//!
//! let cluster = Cluster::new();
//! let kind = Gvk::new("", "v1", "ConfigMap");
//! let mut runner = Runner::new(&cluster, || Plugin::new().with(Copy)).kind(kind, None);
//! cluster.create([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})])?;
//! runner.settle()?;
//! assert_eq!(cluster.writes()[0], "apply v1 Secret default/a-copy");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod asked;
mod budget;
mod calls;
mod certificates;
mod charts;
mod children;
mod cluster;
mod collector;
mod commands;
mod crash;
mod defaults;
mod faults;
mod fields;
mod finalizer;
mod frozen;
mod handovers;
mod hook;
mod http;
mod inventory;
mod kinds;
mod known;
mod lifecycle;
mod logs;
mod managers;
mod manifest;
mod metrics;
mod object;
mod ownership;
mod patch;
mod places;
mod preview;
mod queue;
mod requests;
mod rights;
mod runner;
mod scale;
mod schema;
mod schema_check;
mod selector;
mod session;
mod settings;
mod shape;
mod status;
mod store;
mod stores;
mod strict;
mod transfers;
mod triggers;
mod validate;
mod workloads;

pub use budget::Limits;
pub use calls::{Call, Caller, Verb};
pub use cluster::{Cluster, LogLine, Published};
pub use commands::{ExecAnswer, ExecCall};
pub use crash::every_crash;
pub use faults::Fault;
pub use http::{HttpAnswer, HttpCall};
pub use runner::{Runner, Settled, Unsettled};
pub use stores::StoreFault;
