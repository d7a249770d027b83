//! The steps of one backup: chosen, streamed, read back, kept.

use std::time::Duration;

use etcd_api::{Artefact, BackupPolicy, BackupRun, BackupState, BackupStatus, Verification};
use etcd_core::backup::Key;
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{
    BlobError, Condition, Encoding, Error, Event, HttpRequest, Outcome, Progress, Proof, Transfer,
    TransferState,
};

use super::{Backup, trial::TRIAL};
use crate::refused::FORGETFUL;

/// When to go on after something was written down.
pub(super) const AT_ONCE: Duration = Duration::from_millis(50);
/// How often a backup is tried.
const ATTEMPTS: u32 = 5;
/// How long after the first attempt the second one begins; each further one waits twice as long.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);
/// Larger than etcd recommends a database to be by far.
const LARGEST: u64 = 64 << 30;
/// Names of the transfers behind a call.
pub(super) const SNAPSHOT: &str = "snapshot";
pub(super) const CHECK: &str = "check";

impl Backup<'_> {
    /// Chooses the member and the key, and writes both down before anything is begun.
    pub(super) fn begin(
        &self,
        mut known: BackupStatus,
        due: Timestamp,
        attempt: u32,
    ) -> Result<Outcome, Error> {
        let run = BackupRun {
            state: BackupState::Streaming,
            due,
            started: self.now,
            attempt,
            request: Some(self.asked()),
            endpoint: String::new(),
            tried: None,
            artefact: None,
        };
        if !self.repeats() {
            // Whoever waits for the end of this one must not take the word about the one before for it.
            (known.succeeded, known.reason) = (false, String::new());
        }
        let chosen = match self.source()? {
            Ok(source) => source.best(self.ctx, &self.object.metadata.namespace),
            Err(why) => Err(why),
        };
        let (endpoint, member) = match chosen {
            Ok(chosen) => chosen,
            Err(why) => return Ok(self.failed(known, run, why)),
        };
        let path = self.place.path.as_str();
        let key =
            if self.repeats() { Key::new(path, member.revision, self.now).text } else { path.to_owned() };
        // It is written anew, or looked at anew.
        known.discarded.retain(|other| *other != key);
        let artefact = Artefact {
            uri: self.place.uri(&key),
            revision: member.revision,
            etcd_version: member.version,
            taken: self.now.to_string(),
            ..Artefact::default()
        };
        let run = BackupRun { endpoint, artefact: Some(artefact), ..run };
        Ok(self.on(known, run, "Streaming", "a snapshot is being taken"))
    }

    /// Streams the snapshot into the store. The host does it behind the call, and begins anew if it dies over it.
    pub(super) fn stream(&self, known: BackupStatus, run: BackupRun) -> Result<Outcome, Error> {
        let Some(key) = self.key(&run) else { return self.begin_again(known, run) };
        let source = match self.source()? {
            Ok(source) => source,
            Err(why) => return Ok(self.failed(known, run, why)),
        };
        if let Err(why) = source.introduce(self.ctx, &self.object.metadata.namespace) {
            return Ok(self.failed(known, run, why));
        }
        // One that was written before its end could be noted is not written again.
        let repeats = self.repeats();
        if repeats && matches!(self.ctx.blob().head(&self.place.store, &key), Ok(Some(_))) {
            let run = BackupRun { state: BackupState::Verifying, ..run };
            return Ok(self.on(known, run, "Verifying", "the backup is being read back"));
        }
        let task = Transfer::Fetch {
            request: HttpRequest::post(format!("{}/v3/maintenance/snapshot", run.endpoint))
                .header("content-type", "application/json")
                .body("{}"),
            encoding: Encoding::gateway("blob"),
            proof: Proof { sha256: None, sha256_trailer: true },
            store: self.place.store.clone(),
            key,
            absent: repeats,
            max_bytes: LARGEST,
        };
        let progress = self.ctx.blob().transfer(SNAPSHOT, run.attempt, &task);
        Ok(self.moved(known, run, progress, SNAPSHOT, |run, progress| {
            let artefact = run.artefact.take().unwrap_or_default();
            let size = i64::try_from(progress.bytes).unwrap_or(i64::MAX);
            run.artefact = Some(Artefact { size, sha256: progress.sha256.unwrap_or_default(), ..artefact });
            run.state = BackupState::Verifying;
        }))
    }

    /// Reads the object back: it has to be there, whole, and what was sent.
    pub(super) fn verify(&self, known: BackupStatus, run: BackupRun) -> Result<Outcome, Error> {
        let Some(key) = self.key(&run) else { return self.begin_again(known, run) };
        let sha256 =
            run.artefact.as_ref().map(|artefact| artefact.sha256.clone()).filter(|sha256| !sha256.is_empty());
        let proof = Proof { sha256, sha256_trailer: true };
        let task = Transfer::Check { store: self.place.store.clone(), key, proof };
        let progress = match self.ctx.blob().transfer(CHECK, run.attempt, &task) {
            Ok(Progress { state: TransferState::Done, bytes, sha256, .. }) => {
                (bytes, sha256.unwrap_or_default())
            }
            other => return Ok(self.moved(known, run, other, CHECK, |_, _| {})),
        };
        let (bytes, sha256) = progress;
        let artefact = run.artefact.clone().unwrap_or_default();
        let size = i64::try_from(bytes).unwrap_or(i64::MAX);
        let artefact = Artefact { size, sha256, ..artefact };
        if self.object.is_tried() {
            return Ok(self.begin_trial(known, run, artefact));
        }
        Ok(self.succeeded(known, run, artefact, Verification::Hash))
    }

    /// What was begun is not what is asked for any more.
    pub(super) fn begin_again(&self, known: BackupStatus, run: BackupRun) -> Result<Outcome, Error> {
        if run.artefact.is_none() {
            return Ok(self.failed(known, run, FORGETFUL.to_owned()));
        }
        self.begin(self.condemn(known, &run, false), run.due, run.attempt)
    }

    /// The key that was written down for this run, if it is of the place that is asked for now.
    pub(super) fn key(&self, run: &BackupRun) -> Option<String> {
        let key = self.key_in(&run.artefact.as_ref()?.uri)?;
        (self.repeats() != (key == self.place.path)).then_some(key)
    }

    /// What came of a transfer so far.
    fn moved(
        &self,
        known: BackupStatus,
        mut run: BackupRun,
        progress: Result<Progress, BlobError>,
        name: &str,
        done: impl FnOnce(&mut BackupRun, Progress),
    ) -> Outcome {
        let progress = match progress {
            Ok(progress) => progress,
            Err(error) => return self.failed(known, run, error.message),
        };
        match progress.state.clone() {
            TransferState::Done => {
                done(&mut run, progress);
                let known = overwritten(known, &run);
                self.on(known, run, "Verifying", "the backup is being read back")
            }
            TransferState::Failed { reason, message } => {
                self.ctx.blob().forget(name);
                let passes = ["Unavailable", "StoreUnavailable", "Exhausted"].contains(&reason.as_str());
                let known = self.condemn(known, &run, !passes);
                self.failed(known, run, message)
            }
            TransferState::Running => {
                let left = self.deadline(&run).duration_since(self.now);
                if left <= SignedDuration::ZERO {
                    self.ctx.blob().forget(name);
                    let why = format!(
                        "not done within backupPolicy.timeoutInSecond, after {} bytes",
                        progress.bytes
                    );
                    return self.failed(known, run, why);
                }
                let message = format!("{} bytes so far, from {}", progress.bytes, run.endpoint);
                let status = BackupStatus { run: Some(run), ..known };
                let wait = Duration::try_from(left).unwrap_or(AT_ONCE);
                self.object.told(Outcome::progressing("Streaming", message).requeue_after(wait), &status)
            }
        }
    }

    fn deadline(&self, run: &BackupRun) -> Timestamp {
        let seconds = self.policy().timeout_in_second;
        run.started.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn policy(&self) -> BackupPolicy {
        self.object.spec.backup_policy.clone().unwrap_or_default()
    }

    pub(super) fn on(&self, known: BackupStatus, run: BackupRun, reason: &str, message: &str) -> Outcome {
        let status = BackupStatus { run: Some(run), ..known };
        self.object.told(Outcome::progressing(reason, message).requeue_after(AT_ONCE), &status)
    }

    /// Tries again later, or gives this backup up.
    pub(super) fn failed(&self, known: BackupStatus, run: BackupRun, why: String) -> Outcome {
        let known = self.untried(self.condemn(known, &run, false), &run);
        let left = !known.discarded.is_empty();
        let outcome = self.again_or_not(known, run, why);
        if left { outcome.requeue_within(AT_ONCE) } else { outcome }
    }

    /// Of one that does not repeat, what was read back well stays even where nobody could try it, and the status tells of it.
    fn untried(&self, known: BackupStatus, run: &BackupRun) -> BackupStatus {
        let key = run.artefact.as_ref().and_then(|artefact| self.key_in(&artefact.uri));
        let stays =
            run.state == BackupState::Trying && key.is_some_and(|key| !known.discarded.contains(&key));
        if !stays {
            return known;
        }
        BackupStatus { artefact: run.artefact.clone(), verified: Some(Verification::Hash), ..known }
    }

    fn again_or_not(&self, known: BackupStatus, run: BackupRun, why: String) -> Outcome {
        let attempt = run.attempt;
        // Attempts are counted anew after a change, and none may take the upload of one before for its own.
        self.forget();
        if attempt < ATTEMPTS {
            let pause = PAUSE * (1 << attempt.saturating_sub(1).min(10));
            let started = self.now.saturating_add(pause).unwrap_or(Timestamp::MAX);
            let run = BackupRun { state: BackupState::Waiting, started, tried: None, artefact: None, ..run };
            let message =
                format!("{why} (attempt {attempt} of {ATTEMPTS}; the next one begins at {started})");
            let outcome = Outcome::progressing("Retrying", message).requeue_after(self.until(started));
            return self.object.told(outcome, &BackupStatus { run: Some(run), ..known });
        }
        self.give_up(known, run, why)
    }

    fn give_up(&self, known: BackupStatus, run: BackupRun, why: String) -> Outcome {
        self.forget();
        self.ctx.count("backups", 1.0, &[("result", "failed")]);
        let status = BackupStatus {
            succeeded: false,
            reason: why.clone(),
            run: None,
            request: run.request.or_else(|| Some(self.asked())),
            last_schedule_time: Some(run.due),
            ..known
        };
        let outcome =
            Outcome::stalled("BackupFailed", why.clone()).event(Event::warning("Backup Failed", why));
        self.object.told(outcome.requeue_after(AT_ONCE), &status)
    }

    /// Lets go of everything behind the calls.
    pub(super) fn forget(&self) {
        [SNAPSHOT, CHECK, TRIAL].into_iter().for_each(|name| self.ctx.blob().forget(name));
    }

    /// It counts from now on.
    pub(super) fn succeeded(
        &self,
        known: BackupStatus,
        run: BackupRun,
        artefact: Artefact,
        verified: Verification,
    ) -> Outcome {
        self.forget();
        self.ctx.count("backups", 1.0, &[("result", "succeeded")]);
        let mut message =
            format!("{} at revision {}, {} bytes", artefact.uri, artefact.revision, artefact.size);
        let surplus = self.prune(&artefact, &known.discarded).unwrap_or_else(|error| {
            message = format!("{message}; older ones could not be deleted: {error}");
            true
        });
        let status = BackupStatus {
            succeeded: true,
            reason: String::new(),
            etcd_version: artefact.etcd_version.clone(),
            etcd_revision: artefact.revision,
            last_success_date: Some(self.now.to_string()),
            artefact: Some(artefact),
            verified: Some(verified),
            surplus,
            run: None,
            request: run.request.or_else(|| Some(self.asked())),
            last_schedule_time: Some(run.due),
            ..known
        };
        let outcome =
            Outcome::ready().event(Event::normal("Backup Taken", message)).condition(shown(verified));
        // It may repeat, and what is asked for may have changed meanwhile.
        self.object.told(outcome.requeue_after(AT_ONCE), &status)
    }
}

/// Why the last attempt failed, while the next one is waited for.
pub(super) fn retrying(run: &BackupRun) -> String {
    format!("attempt {} of {ATTEMPTS} failed; the next one begins at {}", run.attempt, run.started)
}

/// What was in the place of what was just written is not there any more.
fn overwritten(mut known: BackupStatus, run: &BackupRun) -> BackupStatus {
    let uri = run.artefact.as_ref().map(|artefact| &artefact.uri);
    if known.artefact.as_ref().is_some_and(|before| Some(&before.uri) == uri) {
        (known.artefact, known.verified) = (None, None);
    }
    known
}

/// How the last backup that succeeded was verified.
fn shown(verified: Verification) -> Condition {
    let (reason, message) = match verified {
        Verification::Hash => ("Hash", "it was read back and has the hash with which it was sent"),
        Verification::Restore => ("Restore", "a member was started from it and has its revision"),
    };
    Condition::new("Verified", true).reason(reason).message(message)
}
