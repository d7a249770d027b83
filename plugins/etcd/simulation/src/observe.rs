//! What an operator sees of it.

use std::rc::Rc;

use etcd_api::Id;
use etcd_core::{
    RestoreOrder,
    observed::{Alarm, Answer, Cluster, Etcd, ListedMember, MemberList, Observed, Status, View},
};

use crate::{
    objects::Objects,
    raft::State,
    world::{NAME, NAMESPACE, UID, World},
};

/// The object and what is seen, from these objects and from etcd as it is now; none if the object is gone.
pub fn observe(world: &World, objects: &Objects, view: View) -> Option<(Cluster, Observed)> {
    let owner = objects.owner.as_ref()?;
    let cluster = Cluster {
        name: NAME.to_owned(),
        namespace: NAMESPACE.to_owned(),
        uid: UID.to_owned(),
        generation: owner.generation,
        deleting: owner.deleting,
        spec: (*owner.spec).clone(),
    };
    let restore = world.backup.as_ref().map(|backup| RestoreOrder {
        uid: backup.uid.clone(),
        sha256: "0".repeat(64),
        revision: backup.revision(),
    });
    let observed = Observed {
        view,
        record: (*owner.record).clone(),
        announced: owner.announced,
        pods: objects.pods.values().map(|pod| pod.seen.clone()).collect(),
        claims: objects.claims.values().map(|claim| claim.seen.clone()).collect(),
        services: objects.services.clone(),
        secrets: objects.secrets.clone(),
        etcd: ask(world, objects),
        restore,
        hook: world.hook.clone(),
    };
    Some((cluster, observed))
}

/// What etcd says now.
fn ask(world: &World, objects: &Objects) -> Etcd {
    let Some(owner) = objects.owner.as_ref() else { return Etcd::default() };
    let incarnation = owner.record.incarnation.to_string();
    let answers = world.objects.pods.keys().map(|pod| (pod.clone(), answer(world, pod))).collect();
    let serving = |pod: &&String| {
        let of = world.identity(pod).map(|(cluster, _)| cluster);
        let known = owner.record.cluster_id.is_none_or(|id| of == Some(id));
        let label = world.objects.pods.get(*pod).map(|pod| &pod.incarnation);
        of.is_some() && known && label == Some(&incarnation)
    };
    let serving: Vec<&String> = world.objects.pods.keys().filter(serving).collect();
    let best = serving.iter().find(|pod| world.serves(pod)).or(serving.first());
    let Some((pod, (cluster, _))) = best.and_then(|pod| Some((pod, world.identity(pod)?))) else {
        return Etcd { answers, ..Etcd::default() };
    };
    let leader = world.leader(cluster).filter(|_| world.serves(pod));
    let state = world.state(leader.as_ref().map_or(pod, |(leader, _)| leader));
    let alarms = state.alarms.iter().map(|(member, kind)| Alarm { member: *member, kind: *kind });
    let alarms = leader.is_some().then(|| alarms.collect());
    Etcd { list: Some(list(cluster, &state, leader.is_some())), answers, alarms }
}

fn list(cluster_id: Id, state: &State, agreed: bool) -> MemberList {
    let members = state.members.iter().map(|member| ListedMember {
        id: member.id,
        name: member.name.clone(),
        peer_urls: vec![member.peer_url.clone()],
        learner: member.learner,
    });
    MemberList { cluster_id, agreed, members: members.collect() }
}

fn answer(world: &World, pod: &str) -> Answer {
    let (Some((cluster_id, member_id)), Some(process), Some(disk)) =
        (world.identity(pod), world.connected(pod), world.disk(pod))
    else {
        return Answer::Nothing("connection refused".to_owned());
    };
    if world.defragments(pod) {
        return Answer::Nothing("it took too long".to_owned());
    }
    let leader = world.follows(pod);
    let state =
        world.leader(cluster_id).map_or_else(|| Rc::clone(&disk.state), |(leader, _)| world.state(&leader));
    let learner =
        disk.state.member(member_id).or(state.member(member_id)).is_some_and(|member| member.learner);
    let new_enough = process.version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0) >= 6;
    Answer::Status(Box::new(Status {
        member_id,
        cluster_id,
        version: process.version.clone(),
        storage_version: new_enough.then(|| format!("3.{}.0", disk.storage)),
        leader: leader.map(|leader| leader.member),
        term: leader.map_or(0, |leader| leader.term),
        index: u64::try_from(disk.log.len()).unwrap_or(u64::MAX),
        revision: disk.state.revision(),
        learner,
        db_size: disk.db_size,
        db_in_use: disk.db_in_use,
        db_quota: new_enough.then_some(process.quota),
        downgrade: state.downgrade.filter(|_| new_enough).map(|minor| format!("3.{minor}.0")),
    }))
}
