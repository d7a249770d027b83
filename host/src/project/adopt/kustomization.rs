//! Kustomizations of before kustomize 5: fields that have other names now.

use serde_json::{Value, json};

use super::Log;
use crate::project::yaml_edit::{Document, EditError, keys};

/// Gives fields the names they have now, where nothing stands under those.
pub(super) fn edit(document: &mut Document) -> Result<Log, EditError> {
    let mut log = Log::default();
    let has = |document: &Document, key: &str| document.value().get(key).is_some();
    if has(document, "bases") && !has(document, "resources") {
        document.rename("bases", "resources")?;
        log.did("`resources` instead of `bases`");
    }
    if has(document, "patchesStrategicMerge") && !has(document, "patches") {
        let old = keys(&["patchesStrategicMerge"]);
        let items = document.get(&old).and_then(Value::as_array).cloned().unwrap_or_default();
        for (index, patch) in items.iter().enumerate() {
            let Some(text) = patch.as_str() else { continue };
            let key = if text.contains('\n') { "patch" } else { "path" };
            document.set_item(&old, index, json!({key: text}))?;
        }
        document.rename("patchesStrategicMerge", "patches")?;
        log.did("`patches` instead of `patchesStrategicMerge`");
    }
    if has(document, "patchesJson6902") && !has(document, "patches") {
        document.rename("patchesJson6902", "patches")?;
        log.did("`patches` instead of `patchesJson6902`");
    }
    Ok(log)
}
