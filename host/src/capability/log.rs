//! `log`: lines of plugins in the host's log, within the call's budget.

use crate::plugin::bindings::{Level, log};
use crate::plugin::instance::HookState;

/// A field's value is cut to this many bytes.
const MAX_FIELD: usize = 1_024;

impl log::Host for HookState {
    async fn write(
        &mut self,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let bytes = message.len() + fields.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        if self.budget.take(0).is_err() || !self.budget.take_log(bytes) {
            return Ok(());
        }
        let context = &self.context;
        let (plugin, revision) = (&*context.plugin.name, context.plugin.short());
        let object = context.owner.key.to_string();
        // Field names of a guest are not known at compile time, which tracing needs: they travel in one text.
        let fields =
            fields.iter().map(|(key, value)| format!("{key}={:?}", cut(value))).collect::<Vec<_>>().join(" ");
        match level {
            Level::Trace => tracing::trace!(target: "plugin", plugin, revision, %object, fields, "{message}"),
            Level::Debug => tracing::debug!(target: "plugin", plugin, revision, %object, fields, "{message}"),
            Level::Info => tracing::info!(target: "plugin", plugin, revision, %object, fields, "{message}"),
            Level::Warn => tracing::warn!(target: "plugin", plugin, revision, %object, fields, "{message}"),
            Level::Error => tracing::error!(target: "plugin", plugin, revision, %object, fields, "{message}"),
        }
        Ok(())
    }
}

fn cut(value: &str) -> &str {
    value.get(..value.floor_char_boundary(MAX_FIELD)).unwrap_or(value)
}
