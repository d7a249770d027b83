//! Which names objects may have, by kind, in apimachinery's words.

use helm_template::fmt::quote;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LONGEST_LABEL: usize = 63;
const LONGEST_SUBDOMAIN: usize = 253;

/// Checks a name (`validateMetadataName`).
pub(super) fn check(kind: &str, name: &str) -> Result<(), String> {
    let complaints = match &*kind.to_lowercase() {
        "service" => label_1035(name),
        "namespace" => label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => subdomain(name),
    };
    let quoted = quote(name.as_bytes());
    let told: Vec<String> =
        complaints.iter().map(|text| format!("metadata.name: Invalid value: {quoted}: {text}")).collect();
    let told = match told.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(format!("object name does not conform to Kubernetes naming requirements: {quoted}: {told}"))
}

/// A subdomain of RFC 1123.
fn subdomain(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, LONGEST_SUBDOMAIN);
    if !is_subdomain(name) {
        complaints.push(format!("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"));
    }
    complaints
}

/// A label of RFC 1123.
fn label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, LONGEST_LABEL);
    if !is_label(name) {
        complaints.push(if is_subdomain(name) {
            "must not contain dots".to_owned()
        } else {
            format!("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')")
        });
    }
    complaints
}

/// A label of RFC 1035.
fn label_1035(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, LONGEST_LABEL);
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        complaints.push(format!("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{LABEL_1035}')"));
    }
    complaints
}

/// A part of a path in the API.
fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let found = ["/", "%"].into_iter().filter(|part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

fn too_long(name: &str, most: usize) -> Vec<String> {
    if name.len() > most { vec![format!("must be no more than {most} characters")] } else { Vec::new() }
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let legal = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(legal)
        && bytes.last().is_some_and(legal)
        && bytes.iter().all(|byte| legal(byte) || *byte == b'-')
}
