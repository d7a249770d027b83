//! Changes that other plugins prepare for.

use etcd_api::ChangeEnding;
use etcd_core::{act::HookPhase, observed::HookState};
use etcd_simulation::{Order, Play, Step, fault::Fault, world::World};

use crate::stage::{lines, played, resize, steps};

#[test]
fn a_change_to_fewer_members_is_one_change_however_many_leave() {
    let fewer = Step::World("three are asked for", |world| resize(world, 3));
    let play = played(&steps(5, "3.6.16", true, vec![fewer]));
    assert_eq!(lines(&play, "MemberRemove").len(), 2);
    let phases: Vec<&str> = play.world.announced.iter().map(|(phase, _)| phase.as_str()).collect();
    assert_eq!(phases, ["pre-scale-down", "post-scale-down"]);
    assert_eq!(play.world.announced[0].1, play.world.announced[1].1);
}

#[test]
fn a_plugin_that_never_ends_what_follows_a_change_keeps_no_lost_member_from_being_replaced() {
    let to = Step::Spec("version 3.6.16", |spec| spec.version = "3.6.16".to_owned());
    let scene = steps(3, "3.5.35", true, vec![to]);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    play.world.aftermath_hangs = true;
    let told = |world: &World| {
        world.announced.iter().any(|(phase, _)| *phase == HookPhase::PostUpgrade(ChangeEnding::Succeeded))
    };
    while !told(&play.world) {
        assert!(play.advance(&scene) && play.happened < 4000, "{}", play.story());
    }
    let (leader, _) = play.world.leader(play.world.cluster().unwrap()).unwrap();
    let lost = play.world.pod_names().into_iter().find(|pod| *pod != leader).unwrap();
    play.world.fail(&Fault::LoseClaim(lost.clone()));
    let end = play.happened + 2000;
    while play.advance(&scene) && play.happened < end {}
    let record = &play.world.objects.owner.as_ref().unwrap().record;
    let voters: Vec<_> = record.members.iter().filter(|member| member.voter).collect();
    assert_eq!(voters.len(), 3, "{}", play.story());
    assert!(voters.iter().all(|member| member.name != lost));
}

#[test]
fn no_member_is_taken_away_while_plugins_cannot_prepare_and_more_can_be_asked_for_again() {
    let scene = steps(
        3,
        "3.6.16",
        true,
        vec![Step::World("plugins cannot prepare, and one is asked for", |world| {
            world.hook_fails = Some("no space in the bucket".to_owned());
            resize(world, 1);
        })],
    );
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    while play.advance(&scene) && play.happened < 2000 {}
    assert!(lines(&play, "MemberRemove").is_empty(), "{}", play.story());
    assert!(play.world.announced.len() > 1, "they are asked again");
    resize(&mut play.world, 3);
    play.world.hook_fails = None;
    while play.advance(&scene) && play.happened < 4000 {}
    assert!(lines(&play, "MemberRemove").is_empty());
    let (phase, _) = play.world.announced.last().unwrap();
    assert_eq!(*phase, HookPhase::PostScaleDown(ChangeEnding::Withdrawn));
}

#[test]
fn a_cluster_is_deleted_when_others_are_prepared_and_they_hear_when_its_members_are_gone() {
    let scene = steps(3, "3.6.16", true, vec![Step::Delete]);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    while play.world.announced.is_empty() {
        assert!(play.advance(&scene) && play.happened < 2000, "{}", play.story());
    }
    let pending = |world: &World| world.hook.as_ref().is_some_and(|hook| hook.state == HookState::Pending);
    assert!(pending(&play.world) && lines(&play, "DeletePod").is_empty());
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    assert!(play.world.objects.owner.is_none() && lines(&play, "DeletePod").len() == 3, "{}", play.story());
    let phases: Vec<_> = play.world.announced.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, [HookPhase::PreDelete, HookPhase::PostDelete]);
    assert_eq!(play.world.announced[0].1, play.world.announced[1].1);
}

#[test]
fn a_cluster_stays_as_it_is_while_a_plugin_cannot_prepare_for_its_deletion() {
    let deleted = Step::World("it is deleted, and plugins cannot prepare", |world| {
        world.hook_fails = Some("no space in the bucket".to_owned());
        world.delete_owner();
    });
    let skipped = Step::World("people skip it", |world| {
        let standing = format!("{:?}", world.standing);
        assert!(standing.contains("PreDeleteFailed") && standing.contains("no space"), "{standing}");
        world.hook.as_mut().unwrap().state = HookState::Done;
        world.object_changed();
    });
    let play = played(&steps(3, "3.6.16", true, vec![deleted, skipped]));
    let story = play.story();
    let (before, after) = story.split_once("people skip it").unwrap();
    assert!(!before.contains("DeletePod") && after.contains("DeletePod"), "{story}");
    assert!(play.world.objects.owner.is_none(), "{story}");
}

#[test]
fn no_upgrade_without_preparation() {
    let scene = steps(
        3,
        "3.5.35",
        true,
        vec![
            Step::World("plugins cannot prepare", |world| {
                world.hook_fails = Some("no space in the bucket".to_owned());
            }),
            Step::Spec("version 3.6.16", |spec| spec.version = "3.6.16".to_owned()),
        ],
    );
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    while play.advance(&scene) && play.happened < 2000 {}
    assert!(lines(&play, "DeletePod").is_empty(), "{}", play.story());
    assert_eq!(play.world.status.as_ref().unwrap().current_version, "3.5.35");
    let announced = play.world.announced.len();
    assert!(announced > 1, "they are asked again");
    play.world.hook_fails = None;
    play.run(&scene);
    play.verdict().unwrap();
    assert!(play.world.announced.len() > announced);
}
