//! Members that come, go, and do not answer.

use etcd_simulation::{Order, Play, Scene, Step, environment::Happening, fault::Fault};
use jiff::SignedDuration;

use crate::stage::{ask, ends_well, followers, leaves, lose_one, repository, until};

#[test]
fn a_pod_that_never_came_up_is_made_from_the_spec_that_was_mended_though_the_quorum_is_gone() {
    for claims in [false, true] {
        let lose = Step::World("another member is lost", lose_one);
        let steps = vec![Step::LoseImage("nowhere/"), repository("nowhere"), lose, repository("quay.io")];
        ends_well(3, claims, steps);
    }
}

#[test]
fn a_member_that_cannot_leave_stays_while_another_one_has_lost_its_data() {
    let scene = Scene::of(3, "3.6.16", false);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| world.endpoints().len() == 3);
    let [differs, lost] = followers(&play.world).try_into().unwrap();
    play.fail(&Fault::Corrupt(differs));
    until(&mut play, &scene, leaves);
    play.fail(&Fault::DeletePod(lost));
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

/// The operator has looked, and the learner is deleted before it gets its vote: nothing can bring the quorum back.
#[test]
fn a_learner_that_is_deleted_in_the_very_moment_it_gets_its_vote_costs_a_quorum_that_is_told() {
    let scene = Scene::of(2, "3.6.16", false);
    let mut moment = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    let mut before = moment.clone();
    while !moment.story().contains("MemberPromote") {
        before = moment.clone();
        assert!(moment.advance(&scene));
    }
    let learner = followers(&before.world).remove(0);
    before.fail(&Fault::DeletePod(learner));
    before.run(&scene);
    before.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", before.story()));
    assert!(!before.world.conditions["Available"].0);
}

#[test]
fn nobody_is_added_before_every_member_has_said_its_name() {
    let scene = Scene::of(2, "3.6.16", false);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| world.cluster().is_some() && world.endpoints().len() == 1);
    let first = play.world.pod_names().remove(0);
    let state = &mut play.world.disk_mut(&first).unwrap().state;
    std::rc::Rc::make_mut(state).members[0].name.clear();
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

#[test]
fn a_learner_whose_pod_is_about_to_go_waits_for_its_vote() {
    let scene = Scene::of(2, "3.6.16", true);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| {
        let learner = followers(world).pop();
        let state = learner.filter(|_| world.cluster().is_some()).map(|pod| world.state(&pod));
        state.is_some_and(|state| state.members.len() == 2 && !state.members[1].name.is_empty())
    });
    let learner = followers(&play.world).remove(0);
    play.fail(&Fault::DeletePod(learner));
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    let story = play.story();
    let [gone, vote] = ["PodGone", "MemberPromote"].map(|what| story.find(what).expect(what));
    assert!(gone < vote, "{story}");
}

#[test]
fn a_member_that_just_crashed_is_given_the_time_to_come_back() {
    let scene = Scene::of(2, "3.6.16", true);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| world.endpoints().len() == 2);
    let pod = followers(&play.world).remove(0);
    play.fail(&Fault::Crash(pod.clone()));
    play.world.happen(&Happening::Probe(pod.clone()));
    ask(&mut play.world, |spec| spec.repository = "registry:5000/etcd".to_owned());
    let before = play.story().len();
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    let story = play.story().split_off(before);
    let [back, anew] = ["Start(", "DeletePod {"].map(|what| story.find(what).expect(what));
    assert!(back < anew, "{story}");
}

#[test]
fn a_member_that_answers_again_does_not_leave_while_another_one_is_down() {
    let scene = Scene::of(4, "3.6.16", false);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    until(&mut play, &scene, |world| world.endpoints().len() == 4);
    let [cut_off, lost, _] = followers(&play.world).try_into().unwrap();
    play.fail(&Fault::CutOff(cut_off.clone()));
    until(&mut play, &scene, leaves);
    play.fail(&Fault::LoseNode(lost));
    play.fail(&Fault::Reconnect(cut_off));
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

#[test]
fn members_that_never_start_are_tried_at_longer_and_longer_intervals_until_the_spec_changes() {
    for claims in [false, true] {
        let scene = Scene::of(3, "3.6.16", claims);
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        until(&mut play, &scene, |world| world.endpoints().len() == 3);
        play.world.full = true;
        ask(&mut play.world, |spec| spec.size = 4);
        let (before, end) = (play.story().len(), play.world.now + SignedDuration::from_hours(3));
        until(&mut play, &scene, |world| world.now >= end);
        let tries = play.story().split_off(before).matches("MemberAdd").count();
        assert!((8..16).contains(&tries), "claims: {claims}: {tries}\n{}", play.story());
        until(&mut play, &scene, |world| {
            let standing = format!("{:?}", world.standing);
            standing.contains("does not come up") && standing.contains("the next one is added at")
        });
        let now = play.world.now;
        play.world.full = false;
        ask(&mut play.world, |spec| spec.size = 5);
        until(&mut play, &scene, |world| world.pod_names().len() == 4);
        assert!(play.world.now.duration_since(now) < SignedDuration::from_secs(30));
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }
}
