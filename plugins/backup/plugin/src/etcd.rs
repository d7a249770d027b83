//! The etcd plugin's objects.

use backup_core::backup::{observed::TaskSeen, read};
use pilothouse_sdk::{Context, Gvk, ObjectRef, Watch};

use crate::look::found;

fn reference(kind: &str, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", kind), namespace, name)
}

/// What takes a snapshot.
pub(crate) fn backup(ctx: &Context, namespace: &str, name: &str) -> TaskSeen {
    match found(ctx, &reference("EtcdBackup", namespace, name)) {
        Ok(object) => read::etcd_backup(object.as_ref()),
        Err(why) => TaskSeen::Unknown(why),
    }
}

/// What tells of it.
pub(crate) fn watch_backup(namespace: &str, name: &str) -> Watch {
    Watch::object(reference("EtcdBackup", namespace, name))
}

/// What puts a snapshot back; `label` names the attempt that made it.
pub(crate) fn restore(ctx: &Context, namespace: &str, cluster: &str, label: &str) -> TaskSeen {
    match found(ctx, &reference("EtcdRestore", namespace, cluster)) {
        Ok(object) => read::etcd_restore(object.as_ref(), label),
        Err(why) => TaskSeen::Unknown(why),
    }
}

/// What tells of it.
pub(crate) fn watch_restore(namespace: &str, cluster: &str) -> Watch {
    Watch::object(reference("EtcdRestore", namespace, cluster))
}
