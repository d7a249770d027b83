//! The core's acts as requests.

use backup_core::{
    backup::{Act, observed::CheckSeen},
    manifest::ObjectName,
};
use pilothouse_sdk::{Context, DeleteOptions, Error, Gvk, ObjectRef, Ownership, Propagation};

use crate::{object::create, store};

/// What came of an act.
pub(crate) enum Done {
    /// It was done.
    Yes,
    /// How far the reading is that was begun, or found.
    Checking(CheckSeen),
}

/// Does it. Twice is as good as once.
///
/// # Errors
/// As for any request: the act is decided on again.
pub(crate) fn perform(ctx: &Context, namespace: &str, act: &Act) -> Result<Done, Error> {
    match act {
        Act::Nothing => {}
        Act::Create { objects, .. } => {
            for object in objects {
                create(ctx, object, Ownership::Reference)?;
            }
        }
        Act::Delete { objects, .. } => {
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
        Act::Exec(_) | Act::OpenUpload(_) | Act::OpenDownload(_) | Act::Close { .. } => {
            return Err(Error::permanent(
                "NotSupported",
                "this version takes no backups by Jobs and runs no commands",
            ));
        }
    }
    Ok(Done::Yes)
}

fn delete(ctx: &Context, object: &ObjectName) -> Result<(), Error> {
    let (group, version) = object.api_version.split_once('/').unwrap_or(("", object.api_version));
    let kind = Gvk::new(group, version, object.kind);
    let reference = ObjectRef::new(kind, object.namespace.as_str(), object.name.as_str());
    let options = DeleteOptions { propagation: Propagation::Background, ..DeleteOptions::default() };
    Ok(ctx.kube().delete_ref(&reference, &options).map(drop)?)
}
