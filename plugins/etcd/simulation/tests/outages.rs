//! What the operator has to get out of by itself, each as short as it could be made.

#[cfg(test)]
mod tests {
    use etcd_api::{ChangeKind, EtcdClusterSpec};
    use etcd_simulation::{
        Order, Play, Scene, Step, Who,
        environment::Happening,
        fault::Fault,
        world::{Backup, World},
    };
    use jiff::SignedDuration;

    fn ends_well(size: i32, claims: bool, steps: Vec<Step>) {
        let scene = Scene { steps, ..Scene::of(size, "3.5.35", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }

    /// Plays on until it is so.
    fn until(play: &mut Play, scene: &Scene, what: impl Fn(&World) -> bool) {
        while !what(&play.world) {
            assert!(play.advance(scene), "it never came to that\n{}", play.story());
        }
    }

    fn ask(world: &mut World, change: impl FnOnce(&mut EtcdClusterSpec)) {
        let owner = world.objects.owner.as_mut().unwrap();
        change(std::rc::Rc::make_mut(&mut owner.spec));
        owner.generation += 1;
        owner.version += 1;
        world.object_changed();
    }

    fn followers(world: &World) -> Vec<String> {
        let leader = world.cluster().and_then(|cluster| world.leader(cluster)).map(|(pod, _)| pod);
        world.pod_names().into_iter().filter(|pod| Some(pod) != leader.as_ref()).collect()
    }

    fn leaves(world: &World) -> bool {
        let change = world.objects.owner.as_ref().and_then(|owner| owner.record.change.as_ref());
        change.is_some_and(|change| change.kind == ChangeKind::Leave)
    }

    fn version(to: &'static str) -> Step {
        match to {
            "3.6.16" => Step::Spec("version 3.6.16", |spec| spec.version = "3.6.16".to_owned()),
            "3.7.3" => Step::Spec("version 3.7.3", |spec| spec.version = "3.7.3".to_owned()),
            _ => Step::Spec("version 3.5.35", |spec| spec.version = "3.5.35".to_owned()),
        }
    }

    fn repository(to: &'static str) -> Step {
        match to {
            "nowhere" => Step::Spec("repository nowhere", |spec| spec.repository = "nowhere/etcd".to_owned()),
            _ => Step::Spec("the old repository", |spec| spec.repository = "quay.io/coreos/etcd".to_owned()),
        }
    }

    /// The last one that runs and does not lead is gone, with its data.
    fn lose_one(world: &mut World) {
        let leader = world.cluster().and_then(|cluster| world.leader(cluster)).map(|(pod, _)| pod);
        let runs = |pod: &String| world.connected(pod).is_some() && Some(pod) != leader.as_ref();
        if let Some(pod) = world.pod_names().into_iter().rfind(runs) {
            world.fail(&if world.objects.claims.is_empty() {
                Fault::DeletePod(pod)
            } else {
                Fault::LoseClaim(pod)
            });
        }
    }

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
    fn a_pod_that_never_came_up_is_made_from_the_spec_that_was_mended_though_the_quorum_is_gone() {
        for claims in [false, true] {
            let lose = Step::World("another member is lost", lose_one);
            let steps = vec![Step::LoseImage("nowhere/"), repository("nowhere"), lose, repository("quay.io")];
            ends_well(3, claims, steps);
        }
    }

    #[test]
    fn a_member_that_waits_for_its_image_gets_the_old_one_back_though_the_data_of_another_one_differs() {
        for claims in [false, true] {
            let differs = Step::Fault(Fault::Corrupt, Who::Leader);
            ends_well(
                3,
                claims,
                vec![Step::LoseImage("3.6.16"), version("3.6.16"), differs, version("3.5.35")],
            );
        }
    }

    #[test]
    fn a_version_that_is_asked_for_while_the_first_member_is_made_is_the_one_that_is_remembered() {
        for claims in [false, true] {
            let scene = Scene::of(3, "3.5.35", claims);
            let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
            until(&mut play, &scene, |world| {
                let begun =
                    world.objects.owner.as_ref().is_some_and(|owner| !owner.record.members.is_empty());
                begun && world.objects.claims.is_empty() != claims
            });
            ask(&mut play.world, |spec| spec.version = "3.6.16".to_owned());
            play.run(&scene);
            play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
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
                let runs =
                    |pod: &String| world.connected(pod).is_some_and(|process| process.version == "3.6.16");
                let pods = world.pod_names();
                pods.len() == 2 && pods.iter().all(runs)
            });
            ask(&mut play.world, |spec| spec.version = "3.7.3".to_owned());
            play.run(&Scene { steps: Vec::new(), ..scene });
            play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
        }
    }

    /// A restore into a cluster that is not there yet, up to when its first member runs.
    fn first_on_a_backup(claims: bool) -> (Scene, Play) {
        let scene = Scene::of(1, "3.6.16", claims);
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.world.backup = Some(Backup { uid: "r-1".to_owned(), values: (0..100).collect() });
        until(&mut play, &scene, |world| !world.objects.pods.is_empty());
        (scene, play)
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
}
