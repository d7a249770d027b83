//! Claims made from VolumeSnapshots. They are new ones beside those that the snapshots are of, so nothing is written over and nothing has
//! to be set aside.

use backup_api::{Quantity, names};
use serde_json::{Value, json};

use super::observed::Object;
use crate::{manifest, naming};

/// Of one snapshot: what is seen of it, of the claim that it is of, and of the one that is made from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Volume {
    /// Name of the claim that the snapshot is of.
    pub claim: String,
    /// Name of the snapshot.
    pub snapshot: String,
    /// The snapshot.
    pub seen: Option<Value>,
    /// The claim that it is of, as it is now.
    pub source: Option<Value>,
    /// The claim that is made from it.
    pub made: Option<Value>,
}

/// Where a claim stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stands {
    /// It can be made: this.
    Missing(Value),
    /// It is made, and has no volume yet.
    Unbound(String),
    /// It has its volume.
    Bound(String),
    /// It cannot be made, and why.
    Impossible(String),
}

/// Name of the claim that is made from the snapshot of a claim.
pub fn claim_name(object: &Object<'_>, claim: &str) -> String {
    let own = || naming::limited(&format!("{claim}-{}", object.name), 253);
    object.spec.claims.get(claim).cloned().unwrap_or_else(own)
}

/// Where the claim of a snapshot stands.
pub(super) fn stands(object: &Object<'_>, volume: &Volume) -> Stands {
    let name = claim_name(object, &volume.claim);
    if let Some(made) = &volume.made {
        let label = made.pointer("/metadata/labels").and_then(|labels| labels.get(names::label::RESTORE));
        let ours = label.and_then(Value::as_str) == Some(naming::limited(object.name, 63).as_str());
        return match text(made, "/spec/dataSource/name") == volume.snapshot && ours {
            true if text(made, "/status/phase") == "Bound" => Stands::Bound(name),
            true => Stands::Unbound(name),
            false => Stands::Impossible(format!(
                "there is another PersistentVolumeClaim {name}: give the new one another name in spec.claims"
            )),
        };
    }
    let snapshot = &volume.snapshot;
    let Some(seen) = &volume.seen else {
        return Stands::Impossible(format!("there is no VolumeSnapshot {snapshot} any more"));
    };
    match size(seen, volume.source.as_ref()) {
        Some(size) => Stands::Missing(claim(object, &name, volume, &size)),
        None => Stands::Impossible(format!(
            "neither the VolumeSnapshot {snapshot} nor the claim {} tells how large a volume it takes",
            volume.claim
        )),
    }
}

/// As much as the snapshot takes, and as much as the claim asks for that it is of.
fn size(snapshot: &Value, source: Option<&Value>) -> Option<String> {
    let taken = text(snapshot, "/status/restoreSize");
    let asked = source.map(|source| text(source, "/spec/resources/requests/storage")).unwrap_or_default();
    let sizes = [taken, asked].into_iter().filter_map(|size| Some((size.parse::<Quantity>().ok()?.0, size)));
    sizes.max_by_key(|(bytes, _)| *bytes).map(|(_, size)| size.to_owned())
}

fn claim(object: &Object<'_>, name: &str, volume: &Volume, size: &str) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "dataSource": {
            "apiGroup": manifest::SNAPSHOT_GROUP, "kind": manifest::SNAPSHOT_KIND, "name": volume.snapshot,
        },
    });
    let source = volume.source.as_ref().and_then(|source| source.get("spec"));
    let kept = ["accessModes", "storageClassName", "volumeMode"];
    let kept = kept.into_iter().filter_map(|field| Some((field.to_owned(), source?.get(field)?.clone())));
    let spec = manifest::merge(spec, &Value::Object(kept.collect()));
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": object.namespace,
            "name": name,
            "labels": {names::label::RESTORE: naming::limited(object.name, 63)},
        },
        "spec": spec,
    })
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(spec: Value, volume: &Value) -> Stands {
        let mut given = json!({"backupRef": {"name": "b"}});
        given = manifest::merge(given, &spec);
        let spec = serde_json::from_value(given).unwrap();
        let object = Object { namespace: "shop", name: "back", deleting: false, spec: &spec };
        let part = |name: &str| volume.get(name).cloned();
        let (seen, source, made) = (part("seen"), part("source"), part("made"));
        let (claim, snapshot) = ("data-0".to_owned(), "s".to_owned());
        stands(&object, &Volume { claim, snapshot, seen, source, made })
    }

    #[test]
    fn a_claim_is_as_the_one_before_and_large_enough_for_the_snapshot() {
        let source = json!({"spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "fast", "volumeName": "pv-1",
            "resources": {"requests": {"storage": "1Gi"}}}});
        let seen = json!({"status": {"restoreSize": "1500Mi"}});
        let Stands::Missing(claim) = stand(json!({}), &json!({"source": source, "seen": seen})) else {
            panic!("nothing is made")
        };
        assert_eq!(claim["metadata"]["name"], "data-0-back");
        assert_eq!(
            claim["spec"],
            json!({"accessModes": ["ReadWriteMany"], "storageClassName": "fast",
                "resources": {"requests": {"storage": "1500Mi"}},
                "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}})
        );
        let claims = json!({"claims": {"data-0": "other"}});
        let Stands::Missing(claim) = stand(claims, &json!({"seen": seen})) else { panic!("nothing is made") };
        assert_eq!(
            (&claim["metadata"]["name"], &claim["spec"]["accessModes"]),
            (&json!("other"), &json!(["ReadWriteOnce"]))
        );
    }

    #[test]
    fn what_cannot_be_made_is_told_and_a_claim_of_somebody_else_is_not_taken_for_ours() {
        let impossible = |volume: &Value, said: &str| match stand(json!({}), volume) {
            Stands::Impossible(why) => assert!(why.contains(said), "{why}"),
            other => panic!("{other:?}"),
        };
        impossible(&json!({}), "no VolumeSnapshot s any more");
        impossible(&json!({"seen": {}}), "how large");
        impossible(&json!({"made": {"spec": {}}}), "spec.claims");
        let labels = json!({names::label::RESTORE: "back"});
        impossible(
            &json!({"made": {"metadata": {"labels": labels}, "spec": {"dataSource": {"name": "t"}}}}),
            "spec.claims",
        );
        let made = json!({"metadata": {"labels": labels}, "spec": {"dataSource": {"name": "s"}}});
        assert_eq!(stand(json!({}), &json!({"made": made})), Stands::Unbound("data-0-back".to_owned()));
        let bound = manifest::merge(made, &json!({"status": {"phase": "Bound"}}));
        assert_eq!(stand(json!({}), &json!({"made": bound})), Stands::Bound("data-0-back".to_owned()));
    }
}
