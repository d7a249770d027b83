//! Images, changed by kustomize's rules.

use regex::Regex;
use serde_json::Value;

/// One entry of `images`.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    matches: Regex,
    name: Option<String>,
    tag: Option<String>,
    digest: Option<String>,
}

impl Image {
    /// The name is a pattern, as kustomize takes it for one; what is empty is left as it is.
    pub(crate) fn new(
        name: &str,
        new_name: Option<String>,
        new_tag: Option<String>,
        digest: Option<String>,
    ) -> Result<Self, regex::Error> {
        let matches = Regex::new(&format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$"))?;
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Self { matches, name: filled(new_name), tag: filled(new_tag), digest: filled(digest) })
    }

    pub(crate) fn apply(&self, object: &mut Value) {
        // The containers in the schema of a definition are descriptions.
        if object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
            return;
        }
        self.walk(object);
        for path in ["/spec/volumes", "/spec/template/spec/volumes"] {
            let volumes = object.pointer_mut(path).and_then(Value::as_array_mut);
            for volume in volumes.into_iter().flatten() {
                self.change(volume.pointer_mut("/image/reference"));
            }
        }
    }

    /// Containers are found wherever they are, also in kinds that nobody knows.
    fn walk(&self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|element| self.walk(element)),
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    self.walk(value);
                    if matches!(key.as_str(), "containers" | "initContainers") {
                        let containers = value.as_array_mut();
                        containers
                            .into_iter()
                            .flatten()
                            .for_each(|container| self.change(container.get_mut("image")));
                    }
                }
            }
            _ => {}
        }
    }

    fn change(&self, image: Option<&mut Value>) {
        if let Some(value) = image
            && let Value::String(image) = value
            && self.matches.is_match(image)
        {
            *image = self.changed(image);
        }
    }

    fn changed(&self, image: &str) -> String {
        let (name, tag, digest) = split(image);
        let name = self.name.as_deref().unwrap_or(name);
        // A new tag or digest replaces both old ones: the old digest would undo the new tag.
        let (tag, digest) = match (&self.tag, &self.digest) {
            (None, None) => (tag, digest),
            (tag, digest) => (tag.as_deref(), digest.as_deref()),
        };
        let tag = tag.filter(|tag| !tag.is_empty()).map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest =
            digest.filter(|digest| !digest.is_empty()).map(|digest| format!("@{digest}")).unwrap_or_default();
        format!("{name}{tag}{digest}")
    }
}

/// Name, tag and digest. The colon of a registry's port is no tag's.
fn split(image: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    let path = rest.find('/').filter(|&slash| slash > 0).unwrap_or(0);
    match rest.get(path..).and_then(|path| path.find(':')).map(|colon| rest.split_at(path + colon)) {
        Some((name, tag)) => (name, tag.strip_prefix(':'), digest),
        None => (rest, None, digest),
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, split};

    #[test]
    fn a_port_is_no_tag_and_a_digest_has_a_colon_of_its_own() {
        assert_eq!(split("r.io:5000/a/b"), ("r.io:5000/a/b", None, None));
        assert_eq!(split("r.io:5000/a/b:1"), ("r.io:5000/a/b", Some("1"), None));
        assert_eq!(split("a@sha256:12"), ("a", None, Some("sha256:12")));
        assert_eq!(split("r.io/a:1@sha256:12"), ("r.io/a", Some("1"), Some("sha256:12")));
    }

    #[test]
    fn a_name_that_is_no_pattern_is_refused() {
        assert!(Image::new("ngi(nx", None, None, None).is_err());
    }
}
