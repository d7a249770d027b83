//! One `EtcdRestore`: the backup is read and checked before anything of the cluster is touched; then it is sent to the pod of a
//! new first member, and the cluster moves over once that one answers.

mod pending;

use etcd_api::{Artefact, EtcdRestoreSpec, RestoreState, RestoreStatus, names};
use etcd_core::{
    backup::{
        Key,
        snapshot::{self, SnapshotError},
    },
    manifest, naming,
    version::Version,
};
use pilothouse_sdk::{
    BlobErrorKind, Context, Error, Event, Gvk, HttpRequest, ObjectRef, Outcome, Progress, Proof, Reconciler,
    Resource, Transfer, TransferState, Watch, merge_difference,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    backup::place::{self, Place},
    object::{self, ClusterObject, Metadata},
    refused,
    settings::{self, Settings},
};
use pending::unfit;
pub(crate) use pending::{Pending, pending};

/// When to go on after something was written down, and when to look again at what tells nobody.
const AT_ONCE: std::time::Duration = std::time::Duration::from_millis(50);
const SOON: std::time::Duration = std::time::Duration::from_secs(2);
const LATER: std::time::Duration = std::time::Duration::from_secs(30);
const CHECK: &str = "check";

/// Brings `EtcdRestore`s to what they ask for.
#[derive(Debug)]
pub(crate) struct Restores;

/// An `EtcdRestore` as it was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct RestoreObject {
    metadata: Metadata,
    spec: EtcdRestoreSpec,
    /// As it stands there: what is to vanish from it has to be named.
    #[serde(default)]
    status: Value,
}

fn kind() -> Gvk {
    Gvk::new(names::GROUP, names::VERSION, "EtcdRestore")
}

/// The restore of a cluster: they have one name.
pub(crate) fn reference(namespace: &str, cluster: &str) -> ObjectRef {
    ObjectRef::new(kind(), namespace, cluster)
}

impl Resource for RestoreObject {
    fn gvk() -> Option<Gvk> {
        Some(kind())
    }

    fn from_json(text: String) -> Result<Self, Error> {
        serde_json::from_str(&text)
            .map_err(|error| Error::permanent("InvalidObject", format!("it is no EtcdRestore: {error}")))
    }
}

impl Reconciler for Restores {
    type Resource = RestoreObject;

    fn reconcile(&self, ctx: &Context, object: &RestoreObject) -> Result<Outcome, Error> {
        let settings: Settings = ctx.config()?;
        let cluster = Some(object.spec.etcd_cluster.name.as_str());
        if settings.whose(ctx, &object.metadata, cluster)?.is_others() {
            return Ok(settings::foreign(&object.metadata, cluster));
        }
        let status = object.status()?;
        match status.state {
            Some(RestoreState::Succeeded) => return Ok(object.told(Outcome::ready(), &status)),
            Some(RestoreState::Failed) => {
                let outcome = Outcome::stalled("RestoreFailed", status.reason.clone());
                return Ok(object.told(outcome, &status));
            }
            _ => {}
        }
        if object.metadata.name != object.spec.etcd_cluster.name {
            let why = format!(
                "the name of an EtcdRestore must be that of its cluster, {:?}",
                object.spec.etcd_cluster.name
            );
            return Ok(object.failed(status, why));
        }
        let place = Place::of(place::of_restore(&object.spec), &object.metadata.namespace, &settings.stores);
        let place = match place {
            Ok(place) => place,
            Err(why) => return Ok(object.failed(status, why)),
        };
        match (status.state, status.artefact.clone()) {
            (Some(RestoreState::Seeding), Some(artefact)) => seed(ctx, object, &place, status, &artefact),
            _ => check(ctx, object, &place, status),
        }
    }
}

impl RestoreObject {
    fn status(&self) -> Result<RestoreStatus, Error> {
        if self.status.is_null() {
            return Ok(RestoreStatus::default());
        }
        serde_json::from_value(self.status.clone())
            .map_err(|error| Error::permanent("InvalidStatus", format!("the status cannot be read: {error}")))
    }

    /// An outcome with this status.
    fn told(&self, outcome: Outcome, status: &RestoreStatus) -> Outcome {
        let status = RestoreStatus { observed_generation: self.metadata.generation(), ..status.clone() };
        let after = serde_json::to_value(&status).unwrap_or_default();
        match merge_difference(&self.status, &after) {
            Some(patch) => outcome.status(&patch),
            None => outcome,
        }
    }

    fn failed(&self, status: RestoreStatus, why: String) -> Outcome {
        let outcome = Outcome::stalled("RestoreFailed", why.clone())
            .event(Event::warning("Restore Failed", why.clone()));
        let status =
            RestoreStatus { succeeded: false, reason: why, state: Some(RestoreState::Failed), ..status };
        self.told(outcome, &status)
    }

    /// Asks to be called when the cluster or one of its pods moves.
    fn watched(&self, outcome: Outcome) -> Outcome {
        let (namespace, name) = (self.metadata.namespace.as_str(), self.metadata.name.as_str());
        let cluster = ObjectRef::new(object::kind(), namespace, name);
        let pods = Watch::selected(Gvk::new("", "v1", "Pod"), namespace, manifest::selector(name));
        outcome.watch(Watch::object(cluster)).watch(pods)
    }
}

/// Reads the backup: it has to be there, whole, and the one that is meant. Nothing of the cluster is touched before.
fn check(
    ctx: &Context,
    object: &RestoreObject,
    place: &Place,
    status: RestoreStatus,
) -> Result<Outcome, Error> {
    if let Some(why) = too_old(object, place) {
        return Ok(object.failed(status, why));
    }
    let proof = Proof { sha256: object.spec.sha256.clone(), sha256_trailer: true };
    let task = Transfer::Check { store: place.store.clone(), key: place.path.clone(), proof };
    let progress = match ctx.blob().transfer(CHECK, 0, &task) {
        Ok(progress) => progress,
        Err(error) if matches!(error.kind, BlobErrorKind::Unavailable | BlobErrorKind::Exhausted) => {
            return Err(error.into());
        }
        Err(error) => return Ok(object.failed(status, error.message)),
    };
    let again = status.state == Some(RestoreState::Seeding);
    let state = Some(if again { RestoreState::Seeding } else { RestoreState::Checking });
    let status = RestoreStatus { state, ..status };
    match progress.state.clone() {
        TransferState::Running => {
            let message = format!("the backup is being read: {} bytes so far", progress.bytes);
            Ok(object.told(Outcome::progressing("Checking", message), &status))
        }
        TransferState::Failed { reason, message } => {
            ctx.blob().forget(CHECK);
            let passes = ["Unavailable", "StoreUnavailable"].contains(&reason.as_str());
            if passes { Err(Error::retry(reason, message)) } else { Ok(object.failed(status, message)) }
        }
        TransferState::Done => {
            let version = version(ctx, place)?;
            ctx.blob().forget(CHECK);
            let artefact = Some(artefact(object, place, &progress, version));
            let status = RestoreStatus { state: Some(RestoreState::Seeding), artefact, ..status };
            let (message, next) = match again {
                false => ("the backup is whole; the first member is being made", AT_ONCE),
                // It was found out before and is not there: who drops it once does so again.
                true => (refused::FORGETFUL, LATER),
            };
            let outcome = Outcome::progressing("Seeding", message).requeue_after(next);
            Ok(object.watched(object.told(outcome, &status)))
        }
    }
}

/// Why the backup cannot have the revision that is asked for, where its name tells.
fn too_old(object: &RestoreObject, place: &Place) -> Option<String> {
    let (asked, known) = (object.spec.revision?, revision_of_key(place)?);
    (asked > known).then(|| format!("the backup is of revision {known}, and spec.revision asks for {asked}"))
}

/// The revision that the key of a backup tells: those of backups that repeat do.
fn revision_of_key(place: &Place) -> Option<i64> {
    let (path, _) = place.path.rsplit_once("_v")?;
    Some(Key::read(path, &place.path)?.revision)
}

/// The version of etcd that the backup is of, where it tells.
///
/// # Errors
/// The store does not answer.
fn version(ctx: &Context, place: &Place) -> Result<Option<Version>, Error> {
    let read = |offset, length| ctx.blob().get(&place.store, &place.path, offset, length);
    match snapshot::version(read) {
        Ok(version) => Ok(version),
        // Whoever restores it will say what is wrong with it.
        Err(SnapshotError::Malformed) => Ok(None),
        Err(SnapshotError::Store(error)) => Err(error.into()),
    }
}

fn artefact(
    object: &RestoreObject,
    place: &Place,
    progress: &Progress,
    version: Option<Version>,
) -> Artefact {
    Artefact {
        uri: place.uri(&place.path),
        size: i64::try_from(progress.bytes).unwrap_or(i64::MAX),
        // Without a word about it, any is believed.
        revision: object.spec.revision.or_else(|| revision_of_key(place)).unwrap_or(1),
        sha256: progress.sha256.clone().unwrap_or_default(),
        etcd_version: version.map(|version| version.to_string()).unwrap_or_default(),
        ..Artefact::default()
    }
}

/// The first new member is made by the cluster's own hook; what it waits for is sent to it.
fn seed(
    ctx: &Context,
    object: &RestoreObject,
    place: &Place,
    status: RestoreStatus,
    artefact: &Artefact,
) -> Result<Outcome, Error> {
    let (namespace, name) = (object.metadata.namespace.as_str(), object.metadata.name.as_str());
    let found: Option<Value> = ctx.kube().get_ref(&ObjectRef::new(object::kind(), namespace, name))?;
    let waiting = |message: String| {
        let outcome = Outcome::progressing("Seeding", message);
        Ok(object.watched(object.told(outcome, &status)))
    };
    let Some(found) = found else {
        return waiting(format!("waiting for the EtcdCluster {name}, which is to hold the data"));
    };
    let cluster = ClusterObject::from_json(found.to_string())?;
    let record = cluster.record()?;
    let uid = Some(&object.metadata.uid);
    if record.restored.as_ref() == uid {
        let message = format!("the cluster holds the data of {}", artefact.uri);
        let outcome = Outcome::ready().event(Event::normal("Restored", message));
        let status = RestoreStatus {
            succeeded: true,
            reason: String::new(),
            state: Some(RestoreState::Succeeded),
            ..status
        };
        return Ok(object.told(outcome, &status));
    }
    if record.refused_restore.as_ref() == uid {
        let why = "the cluster did not come up on the data, and goes on with what it had: its events say why";
        return Ok(object.failed(status, why.to_owned()));
    }
    if let Some(why) = unfit(artefact, &cluster.cluster()) {
        return Ok(object.failed(status, why));
    }
    let Some(change) = record.change.filter(|change| change.source.restore.as_ref() == uid) else {
        return waiting("waiting for the cluster to begin anew".to_owned());
    };
    let pod: Option<Value> =
        ctx.kube().get_ref(&ObjectRef::new(Gvk::new("", "v1", "Pod"), namespace, change.member.as_str()))?;
    let Some(pod) = pod.filter(receives) else {
        return waiting(format!("waiting for the pod {}", change.member));
    };
    let message = deliver(ctx, object, place, &change.member, &pod);
    let outcome = Outcome::progressing("Seeding", message).requeue_after(SOON);
    Ok(object.watched(object.told(outcome, &status)))
}

/// Sends the backup to the pod of the first member; what has become of that.
fn deliver(ctx: &Context, object: &RestoreObject, place: &Place, member: &str, pod: &Value) -> String {
    let (namespace, name) = (object.metadata.namespace.as_str(), object.metadata.name.as_str());
    let host = naming::Place { cluster: name, namespace }.host(member);
    let url = format!("http://{host}:{}/cgi-bin/snapshot", names::CLIENT_PORT);
    let request = HttpRequest::post(url).header("content-type", "application/octet-stream");
    let (store, key) = (place.store.clone(), place.path.clone());
    let task = Transfer::Deliver { store, key, request, piece: Some(manifest::PIECE) };
    let transfer =
        format!("deliver-{}", pod.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default());
    match ctx.blob().transfer(&transfer, 0, &task) {
        Ok(Progress { state: TransferState::Running, bytes, .. }) => {
            format!("{bytes} bytes sent to {member}")
        }
        Ok(Progress { state: TransferState::Done, answer: Some((200, _)), .. }) => {
            format!("{member} has the backup")
        }
        other => {
            // It may not listen yet, or not any more.
            ctx.blob().forget(&transfer);
            format!("the backup is sent to {member} again: {}", refusal(other))
        }
    }
}

fn refusal(progress: Result<Progress, pilothouse_sdk::BlobError>) -> String {
    match progress {
        Ok(Progress { state: TransferState::Failed { message, .. }, .. }) => message,
        Ok(Progress { answer: Some((code, _)), .. }) => format!("it answered {code}"),
        Ok(_) => "it did not answer".to_owned(),
        Err(error) => error.message,
    }
}

/// Does the pod wait for a backup?
fn receives(pod: &Value) -> bool {
    let statuses = pod.pointer("/status/initContainerStatuses").and_then(Value::as_array);
    statuses.into_iter().flatten().any(|status| {
        status.get("name").and_then(Value::as_str) == Some("fetch-backup")
            && status.pointer("/state/running").is_some()
    })
}
