//! Objects that are handed in: read, tied to their owner, applied.

use serde_json::Value;

use super::{
    super::{
        asked::Request,
        calls::Verb,
        object::{bad_request, ref_of, text},
        ownership::tie,
        shape::drop_server_fields,
    },
    Session,
};
use crate::{Applied, ApplyItem, ApplyOptions, KubeError, Ownership};

impl Session {
    pub(super) fn parse(&self, object: &str) -> Result<Value, KubeError> {
        let value: Value =
            serde_json::from_str(object).map_err(|error| bad_request(format!("the object: {error}")))?;
        if text(&value, "/apiVersion").is_empty() || text(&value, "/kind").is_empty() {
            return Err(bad_request("an object needs apiVersion and kind"));
        }
        Ok(value)
    }

    pub(super) fn tied(&self, object: &str, ownership: Ownership) -> Result<Value, KubeError> {
        let mut object = self.parse(object)?;
        if let Some(owner) = &self.owner {
            tie(&mut object, &self.plugin, owner, ownership);
        }
        Ok(object)
    }

    pub(super) fn apply_item(&self, item: &ApplyItem, options: ApplyOptions) -> Result<Applied, KubeError> {
        let (mut request, object) = self.application(item)?;
        // What is known to stand as it was applied is not asked about.
        request.takes_time = !self.cluster.state().store.is_known(&object, options, &self.writer);
        self.request(request, |store| store.apply(object, options, &item.keep, &self.writer))
    }

    pub(super) fn preview_item(&self, item: &ApplyItem, strict: bool) -> Result<String, KubeError> {
        let (request, object) = self.application(item)?;
        let keep = strict.then_some(item.keep.as_slice());
        let previewed = self.request(request, |store| store.preview(object, keep, &self.writer))?;
        self.answer(previewed.to_string())
    }

    /// The request to apply an item, and what is applied.
    fn application(&self, item: &ApplyItem) -> Result<(Request, Value), KubeError> {
        let mut object = self.tied(&item.object, item.ownership)?;
        drop_server_fields(&mut object);
        if text(&object, "/metadata/name").is_empty() {
            return Err(bad_request("an applied object needs metadata.name"));
        }
        Ok((Request::new(Verb::Apply, ref_of(&object)).body(object.clone()), object))
    }
}
