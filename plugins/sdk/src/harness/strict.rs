//! What others added to an applied object, as a strict apply takes it away. Pure; the host's rules.

use serde_json::Value;

use super::{
    fields::{Fields, Path, Step, position_of, remove, show},
    kinds::Kind,
    managers::{Manager, Managers},
    requests,
    store::{Part, Store, Stored, Writer},
};
use crate::{Applied, Change, KubeError, Taken};

/// Managers that are parts of Kubernetes, beside those that begin with `kube-`.
const OF_KUBERNETES: [&str; 6] = ["kubelet", "cloud-controller-manager", "k3s", "rke2", "k0s", "kubelite"];
/// Domains of annotations by which Kubernetes' controllers speak with each other.
const OF_CONTROLLERS: [&str; 6] = [
    "autoscaling.alpha.kubernetes.io",
    "control-plane.alpha.kubernetes.io",
    "deployment.kubernetes.io",
    "endpoints.kubernetes.io",
    "pv.kubernetes.io",
    "volume.kubernetes.io",
];

impl Store {
    /// Takes away what others added to an object that was applied.
    pub(super) fn take_away(
        &mut self,
        kind: &Kind,
        stored: &Stored,
        keep: &[String],
        dry_run: bool,
        writer: &Writer,
        applied: &mut Applied,
    ) -> Result<(), KubeError> {
        let Stored { object, managers } = stored;
        let rest = without_additions(object, managers, &writer.manager, keep, kind.custom);
        let Some((object, managers, taken)) = rest else { return Ok(()) };
        applied.change = Change::Configured;
        if dry_run {
            return Ok(());
        }
        match self.update(kind, stored, Stored { object, managers }, Part::Main, writer) {
            Ok(left) => {
                let taken = applied.taken.drain(..).chain(taken).collect();
                *applied = Applied { taken, ..requests::applied(Change::Configured, &left.object) };
            }
            Err(KubeError::Invalid(status)) => applied.left = Some(status.message),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The object and its managers without what others than this manager added, and whose it was; none: there is nothing.
pub(super) fn without_additions(
    object: &Value,
    managers: &Managers,
    manager: &str,
    keep: &[String],
    custom: bool,
) -> Option<(Value, Managers, Vec<Taken>)> {
    let is_other = |other: &&Manager| {
        other.subresource.is_empty()
            && other.name != manager
            && !other.name.starts_with("kube-")
            && !OF_KUBERNETES.contains(&other.name.as_str())
    };
    let (others, rest): (Vec<&Manager>, Vec<&Manager>) = managers.0.iter().partition(is_other);
    let known = |path: &[Step]| rest.iter().any(|manager| manager.fields.covers(&path.to_vec()));
    let mut gone: Vec<Path> = Vec::new();
    let mut taken = Vec::new();
    for other in others {
        let mut fields = Vec::new();
        for path in &other.fields.0 {
            let Some(path) = topmost(path, &known, object, keep, custom) else { continue };
            let said = show(&path).to_string();
            if !fields.contains(&said) {
                fields.push(said);
                gone.push(path);
            }
        }
        if !fields.is_empty() {
            taken.push(Taken { manager: other.name.clone(), fields });
        }
    }
    if gone.is_empty() {
        return None;
    }
    let (mut object, mut managers) = (object.clone(), managers.clone());
    for path in &gone {
        remove(&mut object, path, custom);
    }
    for manager in &mut managers.0 {
        let Fields(fields) = &mut manager.fields;
        fields.retain(|field| !gone.iter().any(|path| field.starts_with(path)));
    }
    managers.tidy();
    Some((object, managers, taken))
}

/// How much of a path of another manager goes: up to the first step that nobody else owns anything below of.
fn topmost(
    path: &Path,
    known: &dyn Fn(&[Step]) -> bool,
    object: &Value,
    keep: &[String],
    custom: bool,
) -> Option<Path> {
    for length in 1..=path.len() {
        let part = path.get(..length)?;
        let here = pointer(object, part, custom)?;
        let is_below = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_kept = keep.iter().any(|keep| is_below(keep, &here));
        if is_kept || !may_be_touched(part) || here == "/spec/replicas" {
            return None;
        }
        let holds_kept = keep.iter().any(|keep| is_below(&here, keep));
        if !known(part) && !is_frame(part) && !holds_kept {
            return Some(part.to_vec());
        }
    }
    None
}

fn names(path: &[Step]) -> Vec<&str> {
    let mut names = Vec::new();
    for step in path {
        if let Step::Field(name) = step {
            names.push(name.as_str());
        }
    }
    names
}

fn is_frame(path: &[Step]) -> bool {
    matches!(names(path).as_slice(), ["metadata" | "spec" | "data"] | ["metadata", "labels" | "annotations"])
}

fn may_be_touched(path: &[Step]) -> bool {
    match names(path).as_slice() {
        ["status", ..] => false,
        ["metadata", rest @ ..] => match rest {
            [] | ["labels", ..] | ["annotations"] => true,
            ["annotations", name, ..] => {
                !OF_CONTROLLERS.contains(&name.split('/').next().unwrap_or_default())
            }
            _ => false,
        },
        _ => true,
    }
}

/// RFC 6901; none: it is not there.
fn pointer(object: &Value, path: &[Step], custom: bool) -> Option<String> {
    let (mut here, mut value) = (String::new(), object);
    for (depth, step) in path.iter().enumerate() {
        let token = match step {
            Step::Field(name) => name.replace('~', "~0").replace('/', "~1"),
            Step::Item(_) | Step::Member(_) => {
                position_of(value.as_array()?, path.get(..=depth)?, custom)?.to_string()
            }
        };
        here.push('/');
        here.push_str(&token);
        value = value.pointer(&format!("/{token}"))?;
    }
    Some(here)
}
