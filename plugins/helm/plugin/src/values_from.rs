//! Values out of ConfigMaps and Secrets beside the object: under its spec, in the order given; what has a place of its own
//! (`targetPath`) over it.

use base64::{Engine, engine::general_purpose::STANDARD};
use helm_chart::{
    strvals::{self, Style},
    values::merge_maps,
    yaml::load_values,
};
use helm_template::Map;
use pilothouse_sdk::{Error, Gvk, KubeError, ObjectRef, Watch};
use serde_json::Value;

use crate::{
    call::Call,
    options::{Source, ValuesSource},
};

/// Which entry is read when nobody says.
const KEY: &str = "values.yaml";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Under the object's spec.
    pub(crate) below: Map,
    /// Places of their own with what they hold, and whether it is text whatever it looks like.
    pub(crate) above: Vec<(String, String, bool)>,
}

impl Found {
    /// Sets what has a place of its own.
    ///
    /// # Errors
    /// Permanent: a path that is none.
    pub(crate) fn set_above(&self, values: &Map) -> Result<(), Error> {
        for (path, text, literal) in &self.above {
            let refused = |why: &dyn std::fmt::Display| {
                let message = format!("valuesFrom: targetPath {path:?}: {why}");
                Error::permanent("InvalidConfiguration", message)
            };
            strvals::parse_into(&format!("{path}=x"), Style::Typed, &Map::new())
                .map_err(|error| refused(&error))?;
            let (style, text) = if *literal { (Style::Literal, text.as_str()) } else { spelled(text) };
            // What an error says of the text is nobody's business: it may be out of a Secret.
            strvals::parse_into(&format!("{path}={text}"), style, values)
                .map_err(|_| refused(&"there is no room for it among the values"))?;
        }
        Ok(())
    }
}

impl Call<'_> {
    /// Reads all sources. Whatever becomes of it, the object is woken when one of them changes.
    ///
    /// # Errors
    /// A source that is not there or cannot be read.
    pub(crate) fn values_from(&self) -> Result<Found, Error> {
        let mut found = Found::default();
        for source in &self.settings().release.values_from {
            if let Some(text) = self.text_of(source)? {
                take(source, text, &mut found)?;
            }
        }
        Ok(found)
    }

    fn text_of(&self, source: &ValuesSource) -> Result<Option<String>, Error> {
        let kind = Gvk::new("", "v1", source.kind.name());
        let reference = ObjectRef::new(kind, self.owner().namespace.as_str(), source.name.as_str());
        self.also_watch(Watch::object(reference.clone()));
        let told = format!("valuesFrom: {} {:?}", source.kind.name(), source.name);
        let object: Option<Value> = match self.kube().get_ref(&reference) {
            Err(KubeError::NotFound(_)) => None,
            answer => answer.map_err(|error| Error::from(error).context(&told))?,
        };
        let missing = |what: &str| {
            let message = format!("{told} {what}");
            if source.optional { Ok(None) } else { Err(Error::permanent("ValuesNotFound", message)) }
        };
        let Some(object) = object else { return missing("is not there") };
        let key = source.values_key.as_deref().unwrap_or(KEY);
        let text = |table: &str| object.get(table)?.get(key)?.as_str();
        let encoded = match source.kind {
            Source::ConfigMap => {
                if let Some(text) = text("data") {
                    return Ok(Some(text.to_owned()));
                }
                text("binaryData")
            }
            Source::Secret => text("data"),
        };
        let Some(encoded) = encoded else { return missing(&format!("has no entry {key:?}")) };
        let bytes = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let bytes =
            bytes.ok_or_else(|| Error::permanent("ValuesNotFound", format!("{told}: {key:?} is no text")))?;
        Ok(Some(bytes))
    }
}

/// How a text of a place of its own is read: as `--set` reads it. What is quoted, or would set something else besides, is
/// a string as it stands.
fn spelled(text: &str) -> (Style<'static>, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return (Style::Literal, inner);
        }
    }
    let mut key = "v".to_owned();
    while text.contains(&key) {
        key.push('v');
    }
    let alone = Map::new();
    let is_one =
        strvals::parse_into(&format!("{key}={text}"), Style::Typed, &alone).is_ok() && alone.len() == 1;
    (if is_one { Style::Typed } else { Style::Literal }, text)
}

fn take(source: &ValuesSource, text: String, found: &mut Found) -> Result<(), Error> {
    match &source.target_path {
        Some(path) => found.above.push((path.clone(), text, source.literal)),
        None => {
            // What it says is nobody's business: it may be out of a Secret.
            let values = load_values(text.as_bytes()).map_err(|_| {
                let (kind, name) = (source.kind.name(), &source.name);
                Error::retry(
                    "InvalidValues",
                    format!("valuesFrom: {kind} {name:?} holds no YAML with values"),
                )
            })?;
            found.below = merge_maps(&found.below, &values);
        }
    }
    Ok(())
}
