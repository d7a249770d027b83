//! The plugin interface as Rust sees it, generated from `wit/0.1.0`.

#[expect(missing_docs, reason = "generated from the WIT package")]
#[allow(clippy::all, clippy::pedantic, unused_qualifications, reason = "generated from the WIT package")]
mod generated {
    wasmtime::component::bindgen!({
        path: "../wit/0.1.0",
        world: "plugin",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

pub use generated::exports::pilothouse::operator::reconciler::{
    Error as HookError, Failure, Finalized, Outcome, Reason, Request, State, Trigger, Watch, WatchTarget,
};
pub use generated::pilothouse::operator::types::{
    Condition, ConditionStatus, Denial, Event, EventType, Gvk as WitGvk, Level, ObjectRef, Status,
};
pub use generated::pilothouse::operator::{
    assets, blob, certificates, charts, config, egress, events, kube, log, metrics, types,
};
pub use generated::{Plugin, PluginPre};

#[expect(missing_docs, reason = "generated from the WIT package")]
#[allow(clippy::all, clippy::pedantic, unused_qualifications, reason = "generated from the WIT package")]
mod commands {
    wasmtime::component::bindgen!({
        path: "../wit/0.1.0",
        world: "commands",
        exports: { default: async },
    });
}

pub use commands::exports::pilothouse::operator::command::{
    Answer as CommandAnswer, File as CommandFile, Invocation,
};
pub use commands::{Commands, CommandsPre};

/// The interface version these bindings speak.
pub const INTERFACE: &str = "pilothouse:operator@0.1.0";
/// The package name without version, for messages about other versions.
pub const PACKAGE: &str = "pilothouse:operator";
