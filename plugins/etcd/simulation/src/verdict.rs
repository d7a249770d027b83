//! How everything has to be when it has come to rest.

use std::rc::Rc;

use etcd_core::{decision::Standing, version::Version};

use crate::{objects::SimOwner, play::Play, raft::State};

impl Play {
    /// Is nothing wrong at the end?
    ///
    /// # Errors
    /// Everything that is wrong, a line each.
    pub fn verdict(&self) -> Result<(), String> {
        let mut wrong = self.world.violations.clone();
        match &self.world.objects.owner {
            None => self.is_gone(&mut wrong),
            Some(owner) => self.is_settled(owner, &mut wrong),
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn is_gone(&self, wrong: &mut Vec<String>) {
        let objects = &self.world.objects;
        if !objects.pods.is_empty() || !objects.claims.is_empty() || !objects.services.is_empty() {
            wrong.push("something is left of a cluster that was deleted".to_owned());
        }
    }

    fn is_settled(&self, owner: &SimOwner, wrong: &mut Vec<String>) {
        let cluster = owner.record.cluster_id;
        let leads =
            cluster.and_then(|cluster| self.world.leader(cluster)).map(|(pod, _)| self.world.state(&pod));
        let destroyed = cluster.is_some_and(|cluster| self.world.destroyed.contains(&cluster));
        if (destroyed && leads.is_none()) || (owner.announced && cluster.is_none()) {
            let available = self.world.conditions.get("Available");
            if available.is_none_or(|(status, _)| *status) {
                wrong.push(format!("the data of a majority is gone, and Available is {available:?}"));
            }
        } else if cluster.is_none() && owner.record.refused_restore.is_some() {
            if !matches!(&self.world.standing, Some(Standing::Stalled { reason: "RestoreFailed", .. })) {
                wrong.push(
                    "its first data was to be a backup, and it is not told that this failed".to_owned(),
                );
            }
        } else if owner.spec.paused {
            if !self.world.status.as_ref().is_some_and(|status| status.control_paused) {
                wrong.push("it is paused, and the status does not tell so".to_owned());
            }
        } else if let Some(state) = leads {
            self.is_whole(owner, &state, wrong);
        } else {
            wrong.push("nobody leads".to_owned());
        }
    }

    fn is_whole(&self, owner: &SimOwner, state: &Rc<State>, wrong: &mut Vec<String>) {
        let mut expect = |what: &str, is: bool| {
            if !is {
                wrong.push(format!("{what} (standing: {:?})", self.world.standing));
            }
        };
        let size = usize::try_from(owner.spec.size).unwrap_or(0);
        let objects = &self.world.objects;
        expect("the number of voters is not the one asked for", state.voters().len() == size);
        expect("there is a learner", state.members.len() == size);
        expect("there are other pods than those of members", objects.pods.len() == size);
        let claimed = owner.spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
        let claims = if claimed { size } else { 0 };
        expect("there are other claims than those of members", objects.claims.len() == claims);
        expect("a pod is not ready", objects.pods.values().all(|pod| pod.seen.ready));
        expect("an alarm is raised", state.alarms.is_empty());
        let idle = owner.record.change.is_none() && owner.record.upgrade.is_none();
        expect("a change is under way", idle);
        expect("members are remembered that are none", owner.record.members.len() == size);
        let budget = i64::try_from(size / 2 + 1).ok();
        expect("the disruption budget does not fit", objects.min_available == budget);
        let available = self.world.conditions.get("Available").is_some_and(|(status, _)| *status);
        expect("Available is not true", available);
        expect("other conditions are left", self.world.conditions.len() == 1);
        let ready = self.world.status.as_ref().map_or(0, |status| status.members.ready.len());
        expect("the status tells of other ready members", ready == size);
        self.is_at_its_version(owner, &mut expect);
    }

    /// The version asked for, and `Ready`; or all at one that etcd does not let go there from, and that is told.
    fn is_at_its_version(&self, owner: &SimOwner, expect: &mut impl FnMut(&str, bool)) {
        let pods = self.world.objects.pods.values();
        let mut run: Vec<&str> =
            pods.map(|pod| pod.process.as_ref().map_or("", |process| &process.version)).collect();
        run.dedup();
        let asked = owner.spec.version.trim_start_matches('v');
        let minor = |version: &str| version.parse::<Version>().ok().map(|version| version.minor);
        let refused = match run.as_slice() {
            [one] => minor(one).zip(minor(asked)).is_some_and(|(is, asked)| is.abs_diff(asked) > 1),
            _ => false,
        };
        if refused {
            let told =
                matches!(&self.world.standing, Some(Standing::Stalled { reason: "UpgradeRefused", .. }));
            expect("it is not told that no member may go to the version", told);
        } else {
            expect("a member runs another version", run == [asked]);
            expect("it is not said to be ready", self.world.standing == Some(Standing::Ready));
        }
    }
}
