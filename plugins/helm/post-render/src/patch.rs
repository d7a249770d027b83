//! Patches: what they say, whom they are for, and how they are applied.

use helm_yaml::{Duplicates, yaml_to_json};
use serde_json::Value;

use crate::{Error, id::Id, json_patch::JsonPatch, merge, selector::Selector};

/// One entry of `patches`.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    place: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A strategic merge patch for all that the selector fits.
    MergeAll(Selector, Value),
    /// Strategic merge patches that name their objects.
    MergeNamed(Vec<Value>),
    /// A JSON patch.
    Json(Selector, JsonPatch),
}

impl Patch {
    pub(crate) fn read(place: &str, text: &str, target: Option<Selector>) -> Result<Self, Error> {
        let own = |kind| Ok(Self { place: place.to_owned(), kind });
        let refused = |problem: String| Error::spec(format!("{place}.patch"), problem);
        let text = text.trim();
        if text.is_empty() {
            return Err(refused("the patch is empty".to_owned()));
        }
        let mut documents = documents(text).map_err(&refused)?;
        if let [Value::Array(operations)] = documents.as_slice() {
            let patch = JsonPatch::read(operations).map_err(refused)?;
            let missing =
                || Error::spec(place, format!("must specify a target for JSON patch [patch: {text:?}]"));
            return own(Kind::Json(target.ok_or_else(missing)?, patch));
        }
        for document in &documents {
            named(document).map_err(|problem| {
                refused(format!("unable to parse SM or JSON patch from [patch: {text:?}]: {problem}"))
            })?;
        }
        match (target, documents.len()) {
            (_, 0) => Err(refused("the patch is empty".to_owned())),
            (None, _) => own(Kind::MergeNamed(documents)),
            (Some(target), 1) => own(Kind::MergeAll(target, documents.remove(0))),
            (Some(_), _) => Err(Error::spec(
                place,
                "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field",
            )),
        }
    }

    pub(crate) fn apply(&self, objects: &mut Vec<Value>) -> Result<(), Error> {
        let place = |object: &Value| format!("{} on {}", self.place, Id::of(object));
        match &self.kind {
            Kind::Json(target, patch) => {
                for object in objects.iter_mut().filter(|object| target.matches(object)) {
                    patch.apply(object).map_err(|problem| Error::apply(place(object), problem))?;
                }
            }
            Kind::MergeAll(target, patch) => {
                let wanted: Vec<bool> = objects.iter().map(|object| target.matches(object)).collect();
                let mut kept = Vec::with_capacity(objects.len());
                for (object, wanted) in objects.drain(..).zip(wanted) {
                    match wanted {
                        true => kept.extend(self.merged(object, patch)?),
                        false => kept.push(object),
                    }
                }
                *objects = kept;
            }
            Kind::MergeNamed(patches) => {
                for patch in patches {
                    let index = self.find(objects, &Id::of(patch))?;
                    let object = objects.remove(index);
                    if let Some(merged) = self.merged(object, patch)? {
                        objects.insert(index, merged);
                    }
                }
            }
        }
        Ok(())
    }

    fn merged(&self, object: Value, patch: &Value) -> Result<Option<Value>, Error> {
        let id = Id::of(&object);
        merge::object(object, patch)
            .map_err(|problem| Error::apply(format!("{} on {id}", self.place), problem))
    }

    fn find(&self, objects: &[Value], id: &Id) -> Result<usize, Error> {
        let mut found = objects.iter().enumerate().filter(|(_, object)| Id::of(object).names(id));
        let problem = match (found.next(), found.next()) {
            (Some((index, _)), None) => return Ok(index),
            (Some(_), Some(_)) => "multiple matches",
            (None, _) => "no matches",
        };
        let why = format!("{problem} for Id {id}; failed to find unique target for patch {id}");
        Err(Error::apply(&self.place, format!("no resource matches strategic merge patch \"{id}\": {why}")))
    }
}

/// The documents of a stream that are not empty.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        let marker =
            line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(" #"));
        if marker {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    let read = parts.iter().map(|part| yaml_to_json(part.as_bytes(), Duplicates::Refuse));
    let read: Result<Vec<Value>, _> = read.collect();
    Ok(read.map_err(|error| error.to_string())?.into_iter().filter(|document| !document.is_null()).collect())
}

/// Kustomize knows objects only by kind and name, also when a target says which ones are meant.
fn named(patch: &Value) -> Result<(), &'static str> {
    let Value::Object(_) = patch else { return Err("it is neither an object nor a list of operations") };
    let id = Id::of(patch);
    match (id.kind.is_empty(), id.name.is_empty()) {
        (true, _) => Err("missing kind"),
        (false, true) => Err("missing metadata.name"),
        (false, false) => Ok(()),
    }
}
