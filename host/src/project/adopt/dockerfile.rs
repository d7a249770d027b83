//! The image that a project's image is built from.

use super::Edited;

/// Names that images of helm-operator have: operator-sdk's, Red Hat's.
const THEIRS: [&str; 3] = ["helm-operator", "ose-helm-operator", "ose-helm-rhel9-operator"];

/// Puts another image in the place of helm-operator's.
pub(super) fn edit(text: &str, image: &str) -> Edited {
    let mut edited = Edited::default();
    let ours = name_of(image).0;
    for line in text.split_inclusive('\n') {
        let mut words = line.split_whitespace();
        let from = words.next().is_some_and(|word| word.eq_ignore_ascii_case("from"));
        let base = words.find(|word| !word.starts_with("--")).filter(|_| from);
        match base {
            Some(base) if name_of(base).0 == ours => edited.text.push_str(line),
            Some(base) if THEIRS.contains(&name_of(base).1) => {
                edited.text.push_str(&line.replacen(base, image, 1));
                edited.what.push(format!("built from {image} instead of {base}"));
            }
            Some(base) => {
                edited.text.push_str(line);
                edited.notes.push(format!(
                    "built from {base}, which is not known as an image of helm-operator: it was left as it is"
                ));
            }
            None => edited.text.push_str(line),
        }
    }
    edited
}

/// An image without tag and digest, and the last part of its name.
fn name_of(image: &str) -> (&str, &str) {
    let name = image.split('@').next().unwrap_or(image);
    let last = name.rfind('/').map_or(0, |at| at + 1);
    let end = name.get(last..).and_then(|last| last.find(':')).map_or(name.len(), |at| last + at);
    (name.get(..end).unwrap_or(name), name.get(last..end).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_of_helm_operator_are_replaced() {
        let ours = "registry.example:5000/helm-operator:v0.1.0";
        let text = "# x\nFROM quay.io/operator-framework/helm-operator:v1.11.0\nENV A=b\n";
        let edited = edit(text, ours);
        assert_eq!(edited.text, format!("# x\nFROM {ours}\nENV A=b\n"));
        assert_eq!(edit(&edited.text, ours).what, Vec::<String>::new());
        assert_eq!(edit(&edited.text, ours).notes, Vec::<String>::new());
        let redhat =
            "from --platform=linux/amd64 registry.redhat.io/openshift4/ose-helm-operator@sha256:00 AS base\n";
        let edited = edit(redhat, ours).text;
        assert_eq!(edited, format!("from --platform=linux/amd64 {ours} AS base\n"));
        let other = edit("FROM alpine:3\n", ours);
        assert_eq!((other.text.as_str(), other.what.len()), ("FROM alpine:3\n", 0));
        assert!(other.notes[0].contains("alpine:3"));
    }
}
