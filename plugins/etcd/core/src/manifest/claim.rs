//! The claim of a member.

use etcd_api::{Fragment, MemberRecord, names::annotation};
use serde_json::{Value, json};

use super::{head, member_labels};
use crate::{digest::digest, observed::Cluster};

/// The claim, made from the template of the spec.
pub fn claim(cluster: &Cluster, template: &Fragment, member: &MemberRecord) -> Value {
    let mut claim = head(cluster, "v1", "PersistentVolumeClaim", &member.name);
    if let Some(metadata) = claim.get_mut("metadata").and_then(Value::as_object_mut) {
        let labels = member_labels(&cluster.name, &member.name, member.incarnation);
        metadata.insert("labels".to_owned(), json!(labels));
        metadata.insert("annotations".to_owned(), json!({annotation::DIGEST: claim_digest(template)}));
    }
    let mut spec = template.clone();
    spec.entry("accessModes").or_insert_with(|| json!(["ReadWriteOnce"]));
    claim.insert("spec".to_owned(), Value::Object(spec));
    Value::Object(claim)
}

/// Digest of the template without its size, which can be changed in place.
pub fn claim_digest(template: &Fragment) -> String {
    let mut template = Value::Object(template.clone());
    if let Some(requests) = template.pointer_mut("/resources/requests").and_then(Value::as_object_mut) {
        requests.remove("storage");
    }
    digest(&template)
}

/// The size that the template asks for; empty when it does not say.
pub fn storage_of(template: &Fragment) -> String {
    let storage = template.get("resources").and_then(|resources| resources.pointer("/requests/storage"));
    match storage {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
