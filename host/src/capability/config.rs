//! `config`: what the operator of the cluster configured.

use crate::plugin::bindings::config;
use crate::plugin::instance::HookState;

impl config::Host for HookState {
    async fn plugin(&mut self) -> wasmtime::Result<String> {
        Ok(self.context.grants.settings.clone())
    }

    async fn binding(&mut self) -> wasmtime::Result<String> {
        Ok(self.context.binding.settings.to_string())
    }
}
