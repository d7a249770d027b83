//! How everything has to be when it has come to rest.

use etcd_core::{decision::Standing, observed::AlarmKind};

use crate::play::Play;

impl Play {
    /// Is nothing wrong at the end? `lost`: the data of a majority was destroyed, and nobody asked to go on without.
    pub fn verdict(&self) -> Result<(), String> {
        let mut wrong = self.world.violations.clone();
        match &self.world.objects.owner {
            None => self.is_gone(&mut wrong),
            Some(_) => self.is_whole(&mut wrong),
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn is_gone(&self, wrong: &mut Vec<String>) {
        let objects = &self.world.objects;
        if !objects.pods.is_empty() || !objects.claims.is_empty() || !objects.services.is_empty() {
            wrong.push("something is left of a cluster that was deleted".to_owned());
        }
    }

    fn is_whole(&self, wrong: &mut Vec<String>) {
        let Some(owner) = &self.world.objects.owner else { return };
        let size = usize::try_from(owner.spec.size).unwrap_or(0);
        let cluster = owner.record.cluster_id;
        let lost = cluster.is_some_and(|cluster| {
            self.world.destroyed.contains(&cluster) && self.world.leader(cluster).is_none()
        });
        let available = self.world.conditions.get("Available");
        if lost || (owner.announced && cluster.is_none()) {
            if available.is_none_or(|(status, _)| *status) {
                wrong.push(format!("the data of a majority is gone, and Available is {available:?}"));
            }
            return;
        }
        if owner.spec.paused {
            let told = self.world.status.as_ref().is_some_and(|status| status.control_paused);
            if !told {
                wrong.push("it is paused, and the status does not tell so".to_owned());
            }
            return;
        }
        let state =
            cluster.and_then(|cluster| self.world.leader(cluster)).map(|(pod, _)| self.world.state(&pod));
        let Some(state) = state else {
            wrong.push("nobody leads".to_owned());
            return;
        };
        let mut expect = |what: &str, is: bool| {
            if !is {
                wrong.push(format!("{what} (standing: {:?})", self.world.standing));
            }
        };
        expect("the number of voters is not the one asked for", state.voters().len() == size);
        expect("there is a learner", state.members.len() == size);
        expect("there are other pods than those of members", self.world.objects.pods.len() == size);
        let claimed = owner.spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
        let claims = if claimed { size } else { 0 };
        expect("there are other claims than those of members", self.world.objects.claims.len() == claims);
        expect("a pod is not ready", self.world.objects.pods.values().all(|pod| pod.seen.ready));
        let version = owner.spec.version.trim_start_matches('v');
        let run = self
            .world
            .objects
            .pods
            .values()
            .all(|pod| pod.process.as_ref().is_some_and(|process| process.version == version));
        expect("a member runs another version", run);
        expect("a change is under way", owner.record.change.is_none() && owner.record.upgrade.is_none());
        expect("members are remembered that are none", owner.record.members.len() == size);
        expect("Available is not true", available.is_some_and(|(status, _)| *status));
        expect("other conditions are left", self.world.conditions.len() == 1);
        expect("it is not said to be ready", self.world.standing == Some(Standing::Ready));
        let budget = i64::try_from(size / 2 + 1).ok();
        expect("the disruption budget does not fit", self.world.objects.min_available == budget);
        let corrupt = state.alarms.iter().any(|(_, kind)| *kind == AlarmKind::Corrupt);
        expect("an alarm is raised", !corrupt && state.alarms.is_empty());
        let ready = self.world.status.as_ref().map_or(0, |status| status.members.ready.len());
        expect("the status tells of other ready members", ready == size);
    }
}
