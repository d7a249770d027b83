//! `metrics`: what plugins count and measure.

use crate::plugin::bindings::metrics;
use crate::plugin::instance::HookState;

impl metrics::Host for HookState {
    async fn counter_add(
        &mut self,
        name: String,
        value: f64,
        labels: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        if self.budget.take(name.len()).is_ok() && value.is_finite() && value >= 0.0 {
            self.context.metrics.add(&self.context.plugin.name, &name, &labels, value);
        }
        Ok(())
    }

    async fn gauge_set(
        &mut self,
        name: String,
        value: f64,
        labels: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        if self.budget.take(name.len()).is_ok() && value.is_finite() {
            let object = &self.context.owner.key;
            self.context.metrics.set(&self.context.plugin.name, &name, &labels, value, object);
        }
        Ok(())
    }

    async fn gauge_count(&mut self, name: String, labels: Vec<(String, String)>) -> wasmtime::Result<()> {
        if self.budget.take(name.len()).is_ok() {
            self.context.metrics.count(&self.context.plugin.name, &name, &labels, &self.context.owner.key);
        }
        Ok(())
    }

    async fn observe_seconds(
        &mut self,
        name: String,
        value: f64,
        labels: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        if self.budget.take(name.len()).is_ok() && value.is_finite() && value >= 0.0 {
            self.context.metrics.observe(&self.context.plugin.name, &name, &labels, value);
        }
        Ok(())
    }
}
