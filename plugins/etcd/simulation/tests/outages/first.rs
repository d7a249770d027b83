//! The first member of a cluster.

use etcd_simulation::{Order, Play, Scene, fault::Fault, world::Backup};
use jiff::SignedDuration;

use crate::stage::{ask, until, version};

/// A restore into a cluster that is not there yet, up to when its first member runs.
fn first_on_a_backup(claims: bool) -> (Scene, Play) {
    let scene = Scene::of(1, "3.6.16", claims);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    play.world.backup = Some(Backup { uid: "r-1".to_owned(), values: (0..100).collect(), deletions: 0 });
    until(&mut play, &scene, |world| !world.objects.pods.is_empty());
    (scene, play)
}

#[test]
fn a_version_that_is_asked_for_while_the_first_member_is_made_is_the_one_that_is_remembered() {
    for claims in [false, true] {
        let scene = Scene::of(3, "3.5.35", claims);
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| {
            let begun = world.objects.owner.as_ref().is_some_and(|owner| !owner.record.members.is_empty());
            begun && world.objects.claims.is_empty() != claims
        });
        ask(&mut play.world, |spec| spec.version = "3.6.16".to_owned());
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_first_member_that_has_begun_on_a_claim_goes_to_another_version_only_as_members_do() {
    let scene = Scene::of(1, "3.7.3", true);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| world.pod_names().iter().any(|pod| world.connected(pod).is_some()));
    let first = play.world.pod_names().remove(0);
    play.fail(&Fault::CutOff(first));
    ask(&mut play.world, |spec| spec.version = "3.6.16".to_owned());
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

#[test]
fn a_first_member_whose_image_cannot_be_had_gets_the_one_that_is_asked_for_next() {
    for claims in [false, true] {
        let scene = Scene { steps: vec![version("3.5.35")], ..Scene::of(1, "3.7.3", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.world.missing_images.push("3.7.3".to_owned());
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_first_member_is_made_where_its_data_is_to_be_by_now() {
    for claims in [false, true] {
        let scene = Scene::of(1, "3.6.16", claims);
        let other = Scene::of(1, "3.6.16", !claims).spec.pod;
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| {
            world.objects.owner.as_ref().is_some_and(|owner| !owner.record.members.is_empty())
        });
        ask(&mut play.world, |spec| spec.pod = other);
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
        assert_eq!(play.world.begun.len(), 1, "another member took its place");
        assert!(!play.story().contains("MemberAdd"), "another member took its place");
    }
}

#[test]
fn a_first_member_on_a_backup_goes_on_with_it_however_long_its_node_is_gone() {
    for claims in [false, true] {
        let (scene, mut play) = first_on_a_backup(claims);
        let pod = play.world.pod_names().remove(0);
        play.fail(&Fault::LoseNode(pod.clone()));
        play.world.now += SignedDuration::from_mins(40);
        assert!(play.advance(&scene));
        play.fail(&Fault::ForcePod(pod));
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
        assert!(play.world.cluster().is_some(), "{}", play.story());
    }
}

#[test]
fn a_cluster_whose_first_data_is_not_the_backup_does_not_begin_empty_and_says_so() {
    for claims in [false, true] {
        let (scene, mut play) = first_on_a_backup(claims);
        play.world.backup.as_mut().unwrap().values.clear();
        until(&mut play, &scene, |world| {
            world.objects.owner.as_ref().unwrap().record.refused_restore.is_some()
        });
        play.world.backup.as_mut().unwrap().values = (0..100).collect();
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
        let pods = play.world.pod_names();
        assert!(play.world.cluster().is_none() && pods.is_empty(), "{pods:?}\n{}", play.story());
    }
}

/// Its claim is still there when its memory is gone, and goes: it was no member.
#[test]
fn a_claim_that_is_about_to_go_is_not_taken_for_a_member_when_nothing_is_remembered() {
    let scene = Scene::of(1, "3.6.16", true);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| !world.objects.claims.is_empty());
    let name = play.world.objects.claims.keys().next().unwrap().clone();
    play.world.objects.claim_mut(&name).unwrap().seen.terminating = true;
    let owner = play.world.objects.owner.as_mut().unwrap();
    owner.record = std::rc::Rc::default();
    owner.version += 1;
    play.world.object_changed();
    play.operator.restart(0);
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}
