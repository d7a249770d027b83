//! Databases that are full, differ, or hold free pages.

use etcd_simulation::world::World;

use crate::stage::{lines, told, well};

#[test]
fn space_is_made_and_the_alarm_taken_back_with_the_leader_last() {
    let play = well("no space, with claims");
    let acts: Vec<&String> = play
        .trace
        .iter()
        .flatten()
        .filter(|line| ["Compact", "Defragment", "MoveLeader", "Disarm"].iter().any(|act| line.contains(act)))
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
