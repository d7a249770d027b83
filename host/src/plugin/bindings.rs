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
    Failure, Finalized, Outcome, Reason, Request, State,
};
pub use generated::pilothouse::operator::types::{
    Artefact, Condition, ConditionStatus, Denial, Ending, Event, EventType, Gvk as WitGvk, HookError, Level,
    ObjectRef, Status, Trigger, Watch, WatchTarget,
};
pub use generated::pilothouse::operator::{
    assets, blob, certificates, charts, config, egress, events, kube, lifecycle, log, metrics, types,
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

#[expect(missing_docs, reason = "generated from the WIT package")]
#[allow(clippy::all, clippy::pedantic, unused_qualifications, reason = "generated from the WIT package")]
mod hooks {
    wasmtime::component::bindgen!({
        path: "../wit/0.1.0",
        world: "lifecycle-hooks",
        exports: { default: async },
        with: { "pilothouse:operator/types": super::generated::pilothouse::operator::types },
    });
}

pub use hooks::exports::pilothouse::operator::lifecycle_hook;
pub use hooks::{LifecycleHooks, LifecycleHooksPre};

/// The interface version these bindings speak.
pub const INTERFACE: &str = "pilothouse:operator@0.1.0";
/// The package name without version, for messages about other versions.
pub const PACKAGE: &str = "pilothouse:operator";
