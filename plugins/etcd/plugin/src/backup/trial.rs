//! A member is started from the backup, in a pod of its own, before the backup counts.
//!
//! Service and pod are children of the object: the host deletes them as soon as an outcome does not name them any more.

use std::time::Duration;

use etcd_api::{Artefact, BackupRun, BackupState, BackupStatus, EtcdClusterSpec, Verification};
use etcd_core::manifest::{PIECE, TRIAL_SECONDS, Trial, Verdict};
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{Error, Gvk, HttpRequest, ObjectRef, Outcome, Progress, Transfer, TransferState, Watch};
use serde_json::{Value, json};

use super::Backup;
use crate::object;

/// How soon to look again at what tells nobody.
const SOON: Duration = Duration::from_secs(2);
/// Name of the transfer of the file into the pod.
pub(super) const TRIAL: &str = "trial";

impl Backup<'_> {
    /// Begins it: what is tried is written down first.
    pub(super) fn begin_trial(&self, known: BackupStatus, run: BackupRun, artefact: Artefact) -> Outcome {
        let run =
            BackupRun { state: BackupState::Trying, tried: Some(self.now), artefact: Some(artefact), ..run };
        self.on(known, run, "Trying", "a member is being started from the backup")
    }

    /// Goes on with it.
    pub(super) fn go_on_trying(&self, known: BackupStatus, run: BackupRun) -> Result<Outcome, Error> {
        let (Some(key), Some(artefact), Some(since)) = (self.key(&run), run.artefact.clone(), run.tried)
        else {
            return self.begin_again(known, run);
        };
        // Somebody may have changed their mind meanwhile.
        if !self.object.is_tried() {
            return Ok(self.succeeded(known, run, artefact, Verification::Hash));
        }
        let spec = match self.spec_of_cluster(&artefact)? {
            Ok(spec) => spec,
            Err(why) => return Ok(self.failed(known, run, why)),
        };
        let metadata = &self.object.metadata;
        let attempt = format!("{}/{}", run.due, run.attempt);
        let of = (metadata.namespace.as_str(), metadata.uid.as_str(), attempt.as_str());
        let trial = match Trial::of(of, &spec, &artefact.etcd_version, &artefact.sha256) {
            Ok(trial) => trial,
            Err(wrong) => {
                let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
                return Ok(self.failed(
                    known,
                    run,
                    format!("no member can be started from it: {}", wrong.join("; ")),
                ));
            }
        };
        let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), metadata.namespace.as_str(), trial.name());
        let verdict = match self.ctx.kube().get_ref::<Value>(&pod)? {
            Some(pod) => trial.verdict(&pod),
            None => Verdict::Waits("it is being made".to_owned()),
        };
        let left = deadline(since).duration_since(self.now);
        let message = match verdict {
            Verdict::Runs(revision) => {
                return Ok(match trial.is_older(revision, artefact.revision) {
                    None => self.succeeded(known, run, artefact, Verification::Restore),
                    Some(why) => self.failed(self.condemn(known, &run, true), run, why),
                });
            }
            Verdict::Fails(why) => {
                let why = format!("no member can be started from it: {why}");
                return Ok(self.failed(self.condemn(known, &run, true), run, why));
            }
            Verdict::Waits(_) | Verdict::Receives if left <= SignedDuration::ZERO => {
                let why = format!("no member was started from it within {TRIAL_SECONDS} seconds");
                return Ok(self.failed(known, run, why));
            }
            Verdict::Waits(why) => format!("waiting for the pod {}: {why}", trial.name()),
            Verdict::Receives => self.send(&trial, &key),
        };
        let outcome = Outcome::progressing("Trying", message).requeue_after(SOON).children(trial.objects());
        let pods = Watch::selected(Gvk::new("", "v1", "Pod"), metadata.namespace.as_str(), trial.selector());
        Ok(self.object.tells(outcome, &BackupStatus { run: Some(run), ..known }).watch(pods))
    }

    /// Sends the file to the pod; what has become of that.
    fn send(&self, trial: &Trial, key: &str) -> String {
        let request = HttpRequest::post(trial.address()).header("content-type", "application/octet-stream");
        let (store, key) = (self.place.store.clone(), key.to_owned());
        let task = Transfer::Deliver { store, key, request, piece: Some(PIECE) };
        match self.ctx.blob().transfer(TRIAL, 0, &task) {
            Ok(Progress { state: TransferState::Running, bytes, .. }) => {
                format!("{bytes} bytes sent to the pod {}", trial.name())
            }
            Ok(Progress { state: TransferState::Done, answer: Some((200, _)), .. }) => {
                format!("the pod {} has the backup", trial.name())
            }
            // It may not listen yet, or not any more.
            _ => {
                self.ctx.blob().forget(TRIAL);
                format!("the backup is sent to the pod {} again", trial.name())
            }
        }
    }

    /// What members of the cluster are made from; of endpoints nobody knows, and the defaults have to do.
    ///
    /// # Errors
    /// What is wrong, for people, as the inner one.
    fn spec_of_cluster(&self, artefact: &Artefact) -> Result<Result<EtcdClusterSpec, String>, Error> {
        let Some(cluster) = &self.object.spec.etcd_cluster else {
            let spec = json!({"size": 1, "version": artefact.etcd_version});
            return Ok(serde_json::from_value(spec).map_err(|error| error.to_string()));
        };
        let reference =
            ObjectRef::new(object::kind(), self.object.metadata.namespace.as_str(), cluster.name.as_str());
        let Some(found) = self.ctx.kube().get_ref::<Value>(&reference)? else {
            return Ok(Err(format!("there is no EtcdCluster {} in this namespace", cluster.name)));
        };
        let spec = found.get("spec").cloned().unwrap_or_default();
        Ok(serde_json::from_value(spec).map_err(|error| format!("EtcdCluster {}: {error}", cluster.name)))
    }
}

fn deadline(since: Timestamp) -> Timestamp {
    since.saturating_add(SignedDuration::from_secs(TRIAL_SECONDS)).unwrap_or(Timestamp::MAX)
}
