//! The core's acts as requests.

use backup_core::{
    backup::{
        Act,
        observed::{CheckSeen, ExecSeen},
    },
    manifest::ObjectName,
};
use pilothouse_sdk::{Context, DeleteOptions, Error, Gvk, ObjectRef, Ownership, Propagation, warn};
use serde_json::Value;

use crate::{object::create, quiesce, snapshot, store};

/// What came of an act.
pub(crate) enum Done {
    /// It was done.
    Yes,
    /// How far the reading is that was begun, or found.
    Checking(CheckSeen),
    /// How far the command is that was begun, or found.
    Executing(ExecSeen),
}

/// Does it. Twice is as good as once.
///
/// # Errors
/// As for any request: the act is decided on again.
pub(crate) fn perform(ctx: &Context, namespace: &str, act: &Act) -> Result<Done, Error> {
    match act {
        Act::Nothing => {}
        Act::Create { token, objects, .. } => {
            if let Some(token) = token {
                store::open(ctx, namespace, token)?;
            }
            for object in objects {
                create(ctx, object, ownership(object))?;
            }
        }
        Act::Delete { token, objects, leftovers, .. } => {
            if let Some(token) = token {
                ctx.blob().close(token)?;
            }
            if let Some(Err(error)) = leftovers.as_ref().map(|object| store::delete(ctx, namespace, object)) {
                warn!(ctx, "what an upload has left could not be taken away: {}", error.message());
            }
            for object in objects {
                delete(ctx, object)?;
            }
        }
        Act::StartCheck { name, object, sha256 } => {
            return Ok(Done::Checking(store::check(&ctx.blob(), name, (namespace, object), sha256)));
        }
        Act::ForgetCheck { name } => ctx.blob().forget(name),
        Act::DeleteObject(object) => store::delete(ctx, namespace, object)?,
        Act::WriteEntry { object, text } => store::put(ctx, namespace, object, text)?,
        Act::Exec(command) => return Ok(Done::Executing(quiesce::exec(ctx, namespace, command))),
        Act::Open(token) => store::open(ctx, namespace, token)?,
        Act::Close { name } => ctx.blob().close(name)?,
    }
    Ok(Done::Yes)
}

/// Snapshots and claims are the data itself: they stay when their `Backup` or `Restore` goes, unless the core has them deleted.
fn ownership(object: &Value) -> Ownership {
    let kind = object.get("kind").and_then(Value::as_str);
    let is_data = kind.is_some_and(|kind| [snapshot::KIND, snapshot::CLAIM].contains(&kind));
    if is_data { Ownership::None } else { Ownership::Reference }
}

fn delete(ctx: &Context, object: &ObjectName) -> Result<(), Error> {
    let (group, version) = object.api_version.split_once('/').unwrap_or(("", object.api_version));
    let kind = Gvk::new(group, version, object.kind);
    let reference = ObjectRef::new(kind, object.namespace.as_str(), object.name.as_str());
    let options = DeleteOptions { propagation: Propagation::Background, ..DeleteOptions::default() };
    Ok(ctx.kube().delete_ref(&reference, &options).map(drop)?)
}
