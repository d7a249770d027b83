//! Databases that are full, differ, or hold free pages.

use etcd_simulation::{Order, Play, Scene, Step, Who, catalogue::scene, fault::Fault, world::World};
use jiff::SignedDuration;

use crate::stage::{lines, played, told, well};

#[test]
fn space_is_made_and_the_alarm_taken_back_with_the_leader_last() {
    let play = well("no space, with claims");
    let acts: Vec<&String> = play
        .trace
        .iter()
        .flatten()
        .filter(|line| {
            ["Compact", "Defragment {", "MoveLeader", "Disarm"].iter().any(|act| line.contains(act))
        })
        .collect();
    let order = ["Compact", "Defragment", "Defragment", "MoveLeader", "Defragment", "Disarm"];
    assert_eq!(acts.len(), order.len(), "{acts:#?}");
    assert!(acts.iter().zip(order).all(|(line, act)| line.contains(act)), "{acts:#?}");
    assert_eq!(told(&play, "Alarm").len(), 1);
}

#[test]
fn a_larger_quota_helps_where_forgetting_history_does_not() {
    let play = well("keys fill the database, with claims");
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("Ready"), "{standing}");
    assert_eq!(lines(&play, "DeletePod").len(), 3, "each member once, and none for another reason");
    assert_eq!(lines(&play, "Disarm").len(), 1);
    assert_eq!(lines(&play, "Compact").len(), 2);
}

#[test]
fn space_is_made_again_soon_after_keys_are_deleted() {
    let play = well("keys fill the database and are deleted, with claims");
    assert_eq!(lines(&play, "Disarm").len(), 1);
    let deleted = play.trace.iter().flatten().position(|line| line.contains("keys are deleted")).unwrap();
    let after: Vec<&String> = play.trace.iter().flatten().skip(deleted).collect();
    assert_eq!(after.iter().filter(|line| line.contains("Compact")).count(), 1, "{after:#?}");
    assert!(lines(&play, "DeletePod").is_empty());
}

#[test]
fn a_database_near_its_quota_is_looked_at_more_often() {
    use etcd_core::{decide, observed::View};
    let mut play = well("three members, with claims");
    let next = |world: &World| {
        let seen = etcd_simulation::observe::observe(world, &world.objects, View::Live);
        seen.map(|(cluster, observed)| decide(&cluster, &observed, world.now).next.as_secs())
    };
    assert_eq!(next(&play.world), Some(60));
    let names: Vec<String> = play.world.objects.claims.keys().cloned().collect();
    for name in &names {
        play.world.objects.claim_mut(name).unwrap().disk.db_size = etcd_simulation::world::QUOTA * 8 / 10;
    }
    assert_eq!(next(&play.world), Some(10));
}

#[test]
fn a_member_whose_data_differs_is_replaced() {
    let play = well("a follower's data differs, with claims");
    assert_eq!(told(&play, "Replacing Dead Member").len(), 1);
    assert_eq!(told(&play, "Member Removed").len(), 1);
    assert_eq!(play.world.creations(), 8, "four pods and four claims");
}

#[test]
fn databases_are_defragmented_on_schedule_one_at_a_time() {
    let play = well("databases are defragmented, with claims");
    assert_eq!(lines(&play, "Defragment {").len(), 3);
    assert!(play.world.objects.claims.values().all(|claim| claim.disk.db_size == claim.disk.db_in_use));
}

#[test]
fn a_database_that_is_defragmented_for_long_is_waited_for_and_is_not_said_to_be_full() {
    for version in ["3.5.35", "3.6.16"] {
        let slow = Step::World("databases take ten minutes to be defragmented", |world| {
            world.defragmentation = SignedDuration::from_mins(10);
        });
        let fill = Step::Fault(|_| Fault::Fill, Who::Leader);
        let play = played(&Scene { steps: vec![slow, fill], ..Scene::of(3, version, true) });
        play.verdict().unwrap_or_else(|wrong| panic!("{version}: {wrong}\n{}", play.story()));
        assert_eq!(told(&play, "Alarm").len(), 1, "{version}: {:?}", told(&play, "Alarm"));
        assert_eq!(lines(&play, "Defragment {").len(), 3, "{version}: {}", play.story());
        assert_eq!(lines(&play, "Disarm").len(), 1, "{version}");
    }
}

#[test]
fn a_member_that_ends_before_its_database_is_defragmented_is_defragmented_again() {
    let scene = scene("no space, with claims").unwrap();
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    let busy = |world: &World| world.pod_names().into_iter().find(|pod| world.defragments(pod));
    let pod = loop {
        assert!(play.advance(&scene), "{}", play.story());
        if let Some(pod) = busy(&play.world) {
            break pod;
        }
    };
    play.fail(&Fault::Crash(pod.clone()));
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    assert_eq!(lines(&play, &format!("Defragment {{ member: \"{pod}\"")).len(), 2, "{}", play.story());
    assert_eq!(told(&play, "Alarm").len(), 1, "{:?}", told(&play, "Alarm"));
}

#[test]
fn a_quota_that_no_member_tells_counts_when_their_pods_were_made_from_it() {
    let name = "keys fill the database of a version that tells no quota, with claims";
    let rested = well(name);
    assert_eq!(lines(&rested, "Disarm").len(), 1, "{}", rested.story());
    let scene = scene(name).unwrap();
    let scene = Scene { steps: scene.steps[..2].to_vec(), ..scene };
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    let makes_space = |world: &World| world.objects.owner.as_ref().unwrap().record.relief.is_some();
    while !makes_space(&play.world) {
        assert!(play.advance(&scene), "{}", play.story());
    }
    let owner = play.world.objects.owner.as_mut().unwrap();
    let options = etcd_api::EtcdOptions {
        quota_backend_bytes: Some(8 * 1024 * 1024 * 1024),
        ..etcd_api::EtcdOptions::default()
    };
    std::rc::Rc::make_mut(&mut owner.spec).options = Some(options);
    (owner.generation, owner.version) = (owner.generation + 1, owner.version + 1);
    play.world.object_changed();
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    assert_eq!(lines(&play, "Disarm").len(), 1, "{}", play.story());
    assert_eq!(lines(&play, "DeletePod").len(), 3, "{}", play.story());
}

#[test]
fn no_word_about_alarms_is_no_word_that_there_is_none() {
    use etcd_core::{act::Act, decide, observed::View};
    let play = well("three members, with claims");
    let (mut cluster, mut observed) =
        etcd_simulation::observe::observe(&play.world, &play.world.objects, View::Live).unwrap();
    observed.record.relief = Some(etcd_api::ReliefRecord {
        revision: 1,
        pending: Vec::new(),
        since: play.world.now,
        compacted: true,
        in_vain: true,
    });
    observed.etcd.alarms = None;
    for size in [3, 5, 1] {
        cluster.spec.size = size;
        let decision = decide(&cluster, &observed, play.world.now);
        assert_eq!((&decision.act, &decision.record), (&Act::Nothing, &observed.record), "size {size}");
    }
    observed.etcd.alarms = Some(Vec::new());
    assert_eq!(decide(&cluster, &observed, play.world.now).record.relief, None);
}
