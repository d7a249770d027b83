//! What objects would be after an apply.

use serde_json::Value;

use super::{
    object::gvk_of,
    store::{Store, Writer},
    strict::without_additions,
};
use crate::KubeError;

impl Store {
    /// What an object would be after a forced apply; with `keep` a strict one.
    pub(super) fn preview(
        &mut self,
        config: Value,
        keep: Option<&[String]>,
        writer: &Writer,
    ) -> Result<Value, KubeError> {
        let gvk = gvk_of(&config);
        let custom = self.kinds.find(&gvk)?.custom;
        let mut stored = self.apply_or_try(config, true, true, writer)?.stored;
        if let Some(keep) = keep
            && let Some((rest, ..)) =
                without_additions(&stored.object, &stored.managers, &writer.manager, keep, custom)
        {
            stored.object = rest;
        }
        Ok(Self::answer(&stored, &gvk))
    }
}
