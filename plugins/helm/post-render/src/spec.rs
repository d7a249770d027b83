//! Reading post-renderers, with the place of whatever is wrong.

use serde_json::{Map, Value};

use crate::{
    Error, PostRenderers, Renderer,
    image::Image,
    labels::LabelSelector,
    metadata::CommonMetadata,
    patch::Patch,
    selector::{self, Selector},
};

pub(crate) fn read(value: &Value) -> Result<PostRenderers, Error> {
    let top = fields("", value, &["postRenderers", "commonMetadata"])?;
    Ok(PostRenderers {
        renderers: list("postRenderers", top.get("postRenderers"), renderer)?,
        common: top.get("commonMetadata").map(common).transpose()?.unwrap_or_default(),
    })
}

/// A map that has no other fields than these. Null is an empty one.
fn fields<'a>(place: &str, value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, Error> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    let map = match value {
        Value::Object(map) => map,
        Value::Null => &NONE,
        other => {
            return Err(Error::spec(or_top(place), format!("expected an object, found {}", kind(other))));
        }
    };
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            Err(Error::spec(or_top(place), format!("unknown field {key:?}, expected {}", known.join(", "))))
        }
        None => Ok(map),
    }
}

fn or_top(place: &str) -> &str {
    if place.is_empty() { "post-renderers" } else { place }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn list<T>(
    place: &str,
    value: Option<&Value>,
    read: impl Fn(&str, &Value) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            let each = list.iter().enumerate();
            each.map(|(index, value)| read(&format!("{place}[{index}]"), value)).collect()
        }
        Some(other) => Err(Error::spec(place, format!("expected a list, found {}", kind(other)))),
    }
}

fn text<'a>(place: &str, map: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, Error> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            Err(Error::spec(format!("{place}.{field}"), format!("expected a text, found {}", kind(other))))
        }
    }
}

fn renderer(place: &str, value: &Value) -> Result<Renderer, Error> {
    let Some(kustomize) = fields(place, value, &["kustomize"])?.get("kustomize") else {
        return Ok(Renderer::default());
    };
    let place = format!("{place}.kustomize");
    let map = fields(&place, kustomize, &["patches", "images"])?;
    Ok(Renderer {
        patches: list(&format!("{place}.patches"), map.get("patches"), patch)?,
        images: list(&format!("{place}.images"), map.get("images"), image)?,
    })
}

fn patch(place: &str, value: &Value) -> Result<Patch, Error> {
    let map = fields(place, value, &["target", "patch"])?;
    let target = match map.get("target") {
        None | Some(Value::Null) => None,
        Some(target) => Some(selector(&format!("{place}.target"), target)?),
    };
    let text = text(place, map, "patch")?.unwrap_or_default();
    Patch::read(place, text, target)
}

fn selector(place: &str, value: &Value) -> Result<Selector, Error> {
    const FIELDS: [&str; 7] =
        ["group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"];
    let map = fields(place, value, &FIELDS)?;
    let pattern = |field| match text(place, map, field)? {
        None | Some("") => Ok(None),
        Some(pattern) => {
            let refused = |error: regex::Error| Error::spec(format!("{place}.{field}"), error.to_string());
            selector::anchored(pattern).map(Some).map_err(refused)
        }
    };
    let labels = |field| {
        let refused = |problem| Error::spec(format!("{place}.{field}"), problem);
        LabelSelector::parse(text(place, map, field)?.unwrap_or_default()).map_err(refused)
    };
    Ok(Selector {
        group: pattern("group")?,
        version: pattern("version")?,
        kind: pattern("kind")?,
        name: pattern("name")?,
        namespace: pattern("namespace")?,
        labels: labels("labelSelector")?,
        annotations: labels("annotationSelector")?,
    })
}

fn image(place: &str, value: &Value) -> Result<Image, Error> {
    let map = fields(place, value, &["name", "newName", "newTag", "digest"])?;
    let own = |field| Ok::<_, Error>(text(place, map, field)?.map(str::to_owned));
    let name = text(place, map, "name")?.unwrap_or_default();
    if name.is_empty() {
        return Err(Error::spec(format!("{place}.name"), "an image needs a name"));
    }
    Image::new(name, own("newName")?, own("newTag")?, own("digest")?)
        .map_err(|error| Error::spec(format!("{place}.name"), error.to_string()))
}

fn common(value: &Value) -> Result<CommonMetadata, Error> {
    let map = fields("commonMetadata", value, &["labels", "annotations"])?;
    let texts = |field: &str| {
        let place = format!("commonMetadata.{field}");
        match map.get(field) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(texts)) => match texts.iter().find(|(_, value)| !value.is_string()) {
                None => Ok(texts.clone()),
                Some((key, other)) => Err(Error::spec(
                    format!("{place}.{key}"),
                    format!("expected a text, found {}", kind(other)),
                )),
            },
            Some(other) => Err(Error::spec(place, format!("expected an object, found {}", kind(other)))),
        }
    };
    Ok(CommonMetadata { labels: texts("labels")?, annotations: texts("annotations")? })
}
