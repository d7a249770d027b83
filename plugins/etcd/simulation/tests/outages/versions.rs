//! Members that are brought from one version to another.

use etcd_simulation::{Order, Play, Scene, Step, Who, fault::Fault, world::World};

use crate::stage::{ask, ends_well, followers, lose_one, until, version};

#[test]
fn a_single_member_whose_new_image_cannot_be_had_gets_the_old_one_back() {
    for claims in [false, true] {
        ends_well(1, claims, vec![Step::LoseImage("3.6.16"), version("3.6.16"), version("3.5.35")]);
    }
}

#[test]
fn a_member_that_waits_for_its_image_gets_the_old_one_back_though_the_quorum_is_gone() {
    for claims in [false, true] {
        let lose = Step::World("another member is lost", lose_one);
        let steps = vec![Step::LoseImage("3.6.16"), version("3.6.16"), lose, version("3.5.35")];
        ends_well(3, claims, steps);
    }
}

#[test]
fn a_member_that_waits_for_its_image_gets_the_old_one_back_though_the_data_of_another_one_differs() {
    for claims in [false, true] {
        let differs = Step::Fault(Fault::Corrupt, Who::Leader);
        ends_well(3, claims, vec![Step::LoseImage("3.6.16"), version("3.6.16"), differs, version("3.5.35")]);
    }
}

#[test]
fn a_member_that_does_not_answer_is_not_given_a_version_that_may_not_read_its_data() {
    let silent = |world: &mut World| {
        let cut_off = followers(world).remove(0);
        world.fail(&Fault::CutOff(cut_off));
        ask(world, |spec| spec.version = "3.6.16".to_owned());
    };
    for claims in [false, true] {
        let steps = vec![Step::World("one is cut off, and version 3.6.16", silent)];
        let scene = Scene { steps, ..Scene::of(3, "3.7.3", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_member_that_joins_before_a_downgrade_runs_what_the_others_run() {
    for claims in [false, true] {
        let both = Step::Spec("version 3.6.16 and size 4", |spec| {
            (spec.version, spec.size) = ("3.6.16".to_owned(), 4);
        });
        let scene = Scene { steps: vec![both], ..Scene::of(3, "3.7.3", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_second_version_that_is_asked_for_too_early_is_refused_and_the_members_stay_alike() {
    for claims in [false, true] {
        ends_well(3, claims, vec![version("3.7.3")]);
    }
}

#[test]
fn an_upgrade_that_is_taken_back_while_the_pod_is_made_anew_is_taken_back() {
    let scene = Scene { steps: vec![version("3.6.16")], ..Scene::of(1, "3.5.35", true) };
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    play.world.missing_images.push("3.6.16".to_owned());
    until(&mut play, &scene, |world| {
        world.objects.pods.values().any(|pod| pod.by_operator && pod.seen.terminating.is_some())
    });
    ask(&mut play.world, |spec| spec.version = "3.5.35".to_owned());
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

#[test]
fn a_second_upgrade_begins_when_etcd_has_noticed_that_the_first_is_done() {
    for claims in [false, true] {
        let scene = Scene { steps: vec![version("3.6.16")], ..Scene::of(2, "3.5.35", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| {
            let runs = |pod: &String| world.connected(pod).is_some_and(|process| process.version == "3.6.16");
            let pods = world.pod_names();
            pods.len() == 2 && pods.iter().all(runs)
        });
        ask(&mut play.world, |spec| spec.version = "3.7.3".to_owned());
        play.run(&Scene { steps: Vec::new(), ..scene });
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_member_that_joins_is_not_the_first_one_to_run_another_minor() {
    let both = || {
        Step::Spec("version 3.6.16 and size 4", |spec| {
            (spec.version, spec.size) = ("3.6.16".to_owned(), 4);
        })
    };
    for claims in [false, true] {
        let scene = Scene { steps: vec![both()], ..Scene::of(3, "3.5.35", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| world.pod_names().len() == 4);
        assert!(play.world.announced.is_empty(), "nobody has prepared for it");
        let versions: Vec<&str> =
            play.world.objects.pods.values().map(|pod| pod.seen.version.as_str()).collect();
        assert_eq!(versions, ["3.5.35"; 4]);
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}

#[test]
fn a_member_whose_former_image_is_gone_joins_after_the_others_were_upgraded() {
    for claims in [false, true] {
        let gone = Step::World("3.5.35 is gone and so is a member, and version 3.6.16", |world| {
            world.missing_images.push("3.5.35".to_owned());
            lose_one(world);
            ask(world, |spec| spec.version = "3.6.16".to_owned());
        });
        ends_well(3, claims, vec![gone]);
    }
}

#[test]
fn a_member_that_is_down_is_not_the_first_one_of_an_upgrade_that_is_still_prepared() {
    for claims in [false, true] {
        let scene = Scene { steps: vec![version("3.6.16")], ..Scene::of(3, "3.5.35", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| {
            world.status.as_ref().is_some_and(|status| status.current_version == "3.6.16")
        });
        ask(&mut play.world, |spec| spec.version = "3.7.3".to_owned());
        until(&mut play, &scene, |world| {
            let owner = world.objects.owner.as_ref().unwrap();
            owner.record.upgrade.as_ref().is_some_and(|upgrade| upgrade.logs.is_some())
        });
        let pod = followers(&play.world).remove(0);
        play.fail(&if claims { Fault::Evict(pod) } else { Fault::Crash(pod) });
        play.run(&Scene { steps: Vec::new(), ..scene });
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}
