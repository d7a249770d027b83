//! What is shown of an object before it counts.

use backup_api::{Artefact, Level, Run, Step};

use super::{
    act::{Act, Role},
    observed::{CheckSeen, Looked, TaskSeen, TokenSeen},
    situation::{Decision, LATER, SOON, Situation},
};
use crate::{catalogue, manifest};

const CHECK: &str = "check";

impl Situation<'_> {
    /// The object is looked for, and read back.
    pub(super) fn reread(&self, run: &Run) -> Decision {
        if let Some(why) = self.stop() {
            return self.fail(run, why);
        }
        let (Some(artefact), Some(object)) = (&run.artefact, self.place(run)) else {
            return self.fail(run, "the status does not tell what was written");
        };
        match &self.seen.object {
            Looked::Unknown(why) | Looked::Lost(why) => {
                return self.wait(LATER, format!("the storage cannot be used: {why}"));
            }
            Looked::Absent => return self.fail(run, format!("there is no object {}", object.uri())),
            Looked::Present(size) if *size != artefact.size => {
                let why = format!("{} has {size} bytes instead of {}", object.uri(), artefact.size);
                return self.fail(run, why);
            }
            Looked::Present(_) => {}
        }
        if self.plan.verification.level == Level::Hash {
            return self.go(run, Step::Catalogue);
        }
        let name = self.task(run, CHECK);
        match &self.seen.check {
            CheckSeen::Absent => {
                let sha256 = artefact.sha256.clone();
                self.act(Act::StartCheck { name, object, sha256 }, "the artefact is read back")
            }
            CheckSeen::Running(bytes) => self.wait(SOON, format!("{bytes} bytes were read back so far")),
            CheckSeen::Failed { passing: true, why } => {
                let decision =
                    self.act(Act::ForgetCheck { name }, format!("it could not be read back: {why}"));
                Decision { next: Some(LATER), ..decision }
            }
            CheckSeen::Failed { passing: false, why } => self.fail(run, why.clone()),
            CheckSeen::Done { size, sha256 } => self.reread_is(run, artefact, *size, sha256),
        }
    }

    fn reread_is(&self, run: &Run, artefact: &Artefact, size: u64, sha256: &str) -> Decision {
        if (size, sha256) != (artefact.size, artefact.sha256.as_str()) {
            let why = format!("what was read back from {} is not what was written", artefact.uri);
            return self.fail(run, why);
        }
        let tries = self.plan.verification.level == Level::Restore && self.plan.strategy.job.is_some();
        self.go(run, if tries { Step::Trial } else { Step::Catalogue })
    }

    /// A scratch database is made from it.
    pub(super) fn trial(&self, run: &Run) -> Decision {
        if let Some(why) = self.stop_task(run, &self.seen.trial) {
            return self.fail(run, format!("the trial restore: {why}"));
        }
        match &self.seen.trial {
            TaskSeen::Unknown(why) => self.wait(LATER, format!("the trial cannot be looked at: {why}")),
            TaskSeen::Running(how) | TaskSeen::Stuck(how) => {
                match self.token(run, Role::Trial).filter(|_| self.seen.download == TokenSeen::Closed) {
                    Some(token) => self.act(Act::Open(token), "a token to read it is given out"),
                    None => self.wait(LATER, format!("trial restore: {how}")),
                }
            }
            TaskSeen::Leaving => self.wait(SOON, "waiting until a trial of before is gone"),
            TaskSeen::Failed(why) => self.fail(run, format!("the trial restore failed: {why}")),
            TaskSeen::Succeeded(_) => self.go(run, Step::Catalogue),
            TaskSeen::Absent | TaskSeen::Partly => match manifest::trial(&self.order(run)) {
                Ok(objects) => {
                    let token = self.token(run, Role::Trial);
                    let act = Act::Create { role: Role::Trial, token, objects };
                    self.act(act, "a scratch database is made from it")
                }
                Err(why) => self.fail(&Run { last: true, ..run.clone() }, why.to_string()),
            },
        }
    }

    /// Everything that is needed to restore it is written beside it.
    pub(super) fn catalogue(&self, run: &Run) -> Decision {
        if let Some(why) = self.stop() {
            return self.fail(run, why);
        }
        let (Some(artefact), Some(object)) = (&run.artefact, self.place(run)) else {
            return self.fail(run, "the status does not tell what was written");
        };
        match &self.seen.entry {
            Looked::Unknown(why) | Looked::Lost(why) => {
                self.wait(LATER, format!("the storage cannot be used: {why}"))
            }
            Looked::Present(_) => self.go(run, Step::Tidy),
            Looked::Absent => {
                let entry = catalogue::Entry::of(&self.object, self.plan, artefact);
                let act = Act::WriteEntry { object: object.entry(), text: entry.to_string() };
                self.act(act, "its entry in the catalogue is written")
            }
        }
    }
}
