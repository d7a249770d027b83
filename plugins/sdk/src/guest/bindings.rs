//! The world `plugin` of `wit/0.1.0` as Rust.
#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_code,
    unused_qualifications,
    reason = "generated from the WIT package; the canonical ABI is raw memory"
)]

wit_bindgen::generate!({
    path: "../../wit/0.1.0",
    world: "plugin",
    pub_export_macro: true,
});

/// The world `lifecycle-hooks`, which a plugin may have beside it.
pub mod hooks {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        world: "lifecycle-hooks",
        pub_export_macro: true,
        export_macro_name: "export_hooks",
        default_bindings_module: "pilothouse_sdk::guest::bindings::hooks",
        with: { "pilothouse:operator/types@0.1.0": super::pilothouse::operator::types },
    });
}

/// The world `commands`, which a plugin may have beside it.
pub mod command {
    wit_bindgen::generate!({
        path: "../../wit/0.1.0",
        world: "commands",
        pub_export_macro: true,
        export_macro_name: "export_commands",
        default_bindings_module: "pilothouse_sdk::guest::bindings::command",
    });
}
