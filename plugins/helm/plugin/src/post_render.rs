//! What is done to a rendered chart before it becomes a revision: patches, images, common labels and annotations.

use helm_chart::manifest::split_manifests;
use helm_post_render::PostRenderers;
use helm_release::Hook;
use helm_yaml::Duplicates;
use pilothouse_sdk::Error;
use serde_json::{Value, json};

use crate::{options::Options, values::to_value};

/// Tells an object's place while it is in the hands of patches, which may drop or reorder objects.
const PLACE: &str = "helm.pilothouse.dev/place";

/// The patches of an entry, ready to be used; none when there are none.
///
/// # Errors
/// Permanent, with the place of what cannot be read.
pub(crate) fn read(options: &Options) -> Result<Option<PostRenderers>, Error> {
    let Some(spec) = options.post_rendering() else { return Ok(None) };
    let read = PostRenderers::read(&spec);
    let read = read.map_err(|error| Error::permanent("InvalidConfiguration", format!("release: {error}")))?;
    Ok((!read.is_empty()).then_some(read))
}

/// Patches a manifest and hooks together, so that a patch finds its object wherever it is.
///
/// # Errors
/// Permanent: what is rendered is no YAML, or a patch does not fit.
pub(crate) fn render(
    renderers: &PostRenderers,
    manifest: &str,
    hooks: &mut Vec<Hook>,
) -> Result<String, Error> {
    let failed = |error: String| Error::permanent("PostRenderError", format!("post-renderers: {error}"));
    let documents: Vec<&str> = split_manifests(manifest).collect();
    let texts = documents.iter().copied().chain(hooks.iter().map(|hook| hook.manifest.as_str()));
    let mut objects = Vec::new();
    for (place, text) in texts.enumerate() {
        let read = helm_yaml::yaml_to_json(text.as_bytes(), Duplicates::LastWins);
        let mut object = read.map_err(|error| failed(error.to_string()))?;
        if mark(&mut object, place) {
            objects.push(object);
        }
    }
    renderers.apply(&mut objects).map_err(|error| failed(error.to_string()))?;
    let (mut written, mut kept) = (String::new(), Vec::new());
    for mut object in objects {
        let Some(place) = unmark(&mut object) else { continue };
        let yaml = helm_yaml::to_yaml(&to_value(&object)).map_err(|error| failed(error.to_string()))?;
        let yaml = String::from_utf8_lossy(&yaml).into_owned();
        match documents.get(place) {
            Some(document) => {
                written.push_str("---\n");
                written.extend(source(document).map(|line| format!("{line}\n")));
                written.push_str(&yaml);
            }
            None => {
                if let Some(hook) = hooks.get(place - documents.len()) {
                    kept.push(Hook { manifest: yaml, ..hook.clone() });
                }
            }
        }
    }
    *hooks = kept;
    Ok(written)
}

/// The line that says which template a document comes from.
fn source(document: &str) -> Option<&str> {
    document.lines().find(|line| line.starts_with("# Source: "))
}

fn mark(object: &mut Value, place: usize) -> bool {
    let Value::Object(fields) = object else { return false };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    let Some(metadata) = metadata.as_object_mut() else { return false };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    let Some(annotations) = annotations.as_object_mut() else { return false };
    annotations.insert(PLACE.to_owned(), place.to_string().into());
    true
}

fn unmark(object: &mut Value) -> Option<usize> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let place = annotations.shift_remove(PLACE)?.as_str()?.parse().ok();
    if annotations.is_empty() {
        metadata.shift_remove("annotations");
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renderers(options: Value) -> PostRenderers {
        read(&serde_json::from_value::<Options>(options).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn objects_and_hooks_are_patched_and_keep_their_places() {
        let renderers = renderers(json!({
            "commonMetadata": {"labels": {"team": "a"}},
            "postRenderers": [{"kustomize": {
                "images": [{"name": "nginx", "newTag": "2"}],
                "patches": [
                    {"target": {"kind": "ConfigMap", "name": "gone"}, "patch": "$patch: delete\nkind: ConfigMap\nmetadata: {name: gone}\n"},
                ],
            }}],
        }));
        let manifest = "---\n# Source: site/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n---\n# Source: \
                        site/b.yaml\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: nginx:1}]}\n";
        let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{name: a, image: nginx}]}}}\n";
        let mut hooks = vec![Hook { name: "j".into(), manifest: job.into(), ..Hook::default() }];
        let written = render(&renderers, manifest, &mut hooks).unwrap();
        assert_eq!(
            written,
            "---\n# Source: site/b.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    team: a\n  name: p\nspec:\n  containers:\n  - \
             image: nginx:2\n    name: a\n"
        );
        assert!(hooks[0].manifest.contains("image: nginx:2") && hooks[0].manifest.contains("team: a"));
        assert!(!format!("{written}{}", hooks[0].manifest).contains(PLACE));
    }

    #[test]
    fn what_is_no_patch_is_told_and_nothing_to_do_is_nothing() {
        let options = |value: Value| serde_json::from_value::<Options>(value).unwrap();
        assert!(read(&options(json!({}))).unwrap().is_none());
        assert!(read(&options(json!({"postRenderers": [{"kustomise": {}}]}))).is_err());
    }
}
