//! Server-side apply of one object onto its live state. Pure.

use serde_json::Value;

use super::{
    fields::{Fields, Path, Step, remove},
    managers::{Conflict, Managers, Operation, Update},
    object::conflict,
    schema::{ListKind, is_atomic_map, item_key, list_kind},
};
use crate::{KubeError, Taken};

/// What came of an apply.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) object: Value,
    pub(super) managers: Managers,
    /// What others had otherwise.
    pub(super) taken: Vec<Taken>,
}

/// The object and its managers after `config` was applied onto them.
///
/// # Errors
/// A conflict that names the managers, unless `force`.
pub(super) fn apply(
    live: &Value,
    managers: &Managers,
    config: &Value,
    who: &Update<'_>,
    force: bool,
) -> Result<Merged, KubeError> {
    let wanted = Fields::of(config, who.custom);
    let conflicts = managers.conflicts(live, config, &wanted, who);
    if !force && !conflicts.is_empty() {
        return Err(conflict(Conflict::refusal(&conflicts)));
    }
    let taken = conflicts.into_iter().map(Conflict::taken);
    let taken = taken.filter(|taken| taken.manager != who.manager).collect();
    let mut merged = live.clone();
    merge(&mut merged, config, &mut Vec::new(), who.custom);

    let mut managers = managers.clone();
    take_over(&mut managers, live, config, &wanted, who);
    let former = managers.set(who, Operation::Apply, wanted);
    // In order, an item comes before what is in it: its keys are there to find it by.
    for path in &former.0 {
        let kept = managers.0.iter().any(|manager| manager.fields.covers(path));
        if !kept && !is_key_of_kept_item(path, &managers) {
            remove(&mut merged, path, who.custom);
        }
    }
    managers.tidy();
    Ok(Merged { object: merged, managers, taken })
}

/// Others lose what the applied text says differently; what it says alike is owned together.
fn take_over(managers: &mut Managers, live: &Value, config: &Value, wanted: &Fields, who: &Update<'_>) {
    for other in &mut managers.0 {
        if other.is_apply_of(who) {
            continue;
        }
        other.fields.0.retain(|path| {
            let is_item = matches!(path.last(), Some(Step::Item(_)));
            let lookup = |object| super::fields::lookup(object, path, who.custom);
            is_item || !wanted.0.contains(path) || lookup(live) == lookup(config)
        });
    }
}

/// A key field stays as long as somebody owns its item.
fn is_key_of_kept_item(path: &Path, managers: &Managers) -> bool {
    let [before @ .., Step::Item(keys), Step::Field(name)] = path.as_slice() else { return false };
    let keys: Value = serde_json::from_str(keys).unwrap_or_default();
    let mut item = before.to_vec();
    item.push(Step::Item(keys.to_string()));
    keys.get(name).is_some() && managers.0.iter().any(|manager| manager.fields.covers(&item))
}

/// Puts what `config` says into `live`; lists of named items merge by their keys.
pub(super) fn merge(live: &mut Value, config: &Value, path: &mut Path, custom: bool) {
    match (live, config) {
        (_, Value::Null) => {}
        (Value::Object(live), Value::Object(config)) if !is_atomic_map(path, custom) => {
            for (name, value) in config {
                path.push(Step::Field(name.clone()));
                match live.get_mut(name) {
                    Some(inner) => merge(inner, value, path, custom),
                    None if value.is_null() => {}
                    None => drop(live.insert(name.clone(), value.clone())),
                }
                path.pop();
            }
        }
        (Value::Array(live), Value::Array(config)) => merge_list(live, config, path, custom),
        (live, config) => *live = config.clone(),
    }
}

fn merge_list(live: &mut Vec<Value>, config: &[Value], path: &mut Path, custom: bool) {
    match list_kind(path, custom) {
        ListKind::Atomic => *live = config.to_vec(),
        ListKind::Set => {
            let new: Vec<_> = config.iter().filter(|item| !live.contains(item)).cloned().collect();
            live.extend(new);
        }
        ListKind::Map(keys) => {
            for item in config {
                let key = item_key(item, keys);
                match live.iter_mut().find(|known| key.is_some() && item_key(known, keys) == key) {
                    Some(known) => {
                        path.push(Step::Item(key.unwrap_or_default()));
                        merge(known, item, path, custom);
                        path.pop();
                    }
                    None => live.push(item.clone()),
                }
            }
        }
    }
}
