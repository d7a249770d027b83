//! Members that come, go and are brought to what was asked for.

use etcd_core::act::Act;
use etcd_simulation::{Order, Play, Step, catalogue::scene, fault::Fault, world::World};

use crate::stage::{lines, played, resize, steps, told, well};

#[test]
fn three_members_come_from_one_seed_and_two_learners() {
    let play = well("three members, without claims");
    assert_eq!(play.world.begun.len(), 1);
    assert_eq!(lines(&play, "MemberAdd").len(), 2);
    assert!(lines(&play, "MemberAdd").iter().all(|line| line.contains("learner: true")));
    assert_eq!(lines(&play, "MemberPromote").len(), 2);
    let added = told(&play, "New Member Added");
    assert_eq!(added.len(), 3, "the first one as well: {added:?}");
    assert!(added.iter().all(|told| told.ends_with(" added to cluster")), "{added:?}");
    let status = play.world.status.as_ref().unwrap();
    assert_eq!((status.phase.as_str(), status.size), ("Running", 3));
    assert_eq!((status.service_name.as_str(), status.client_port), ("example-client", 2379));
    assert_eq!((status.members.ready.len(), status.members.unready.len()), (3, 0));
    assert_eq!(status.current_version, "3.6.16");
    assert_eq!(play.world.conditions["Available"], (true, "Cluster available".to_owned()));
}

#[test]
fn a_dead_member_is_removed_and_another_one_added_with_the_old_operators_events() {
    let play = well("a follower is deleted, without claims");
    let replaced = told(&play, "Replacing Dead Member");
    assert_eq!(replaced.len(), 1, "{replaced:?}");
    assert!(
        replaced[0].starts_with("The dead member example-") && replaced[0].ends_with(" is being replaced")
    );
    assert_eq!(told(&play, "Member Removed").len(), 1);
    assert_eq!(told(&play, "New Member Added").len(), 4);
    assert!(!play.world.kept.is_empty());
}

#[test]
fn members_with_claims_come_back_as_the_same_members_with_their_data() {
    let play = well("all pods are deleted, with claims");
    assert_eq!(lines(&play, "MemberAdd").len(), 2, "only those of the beginning");
    assert_eq!(lines(&play, "CreateClaim").len(), 3);
    assert!(told(&play, "Replacing Dead Member").is_empty());
    assert!(!play.world.kept.is_empty());
}

#[test]
fn an_upgrade_goes_member_by_member_with_events_and_the_leader_last() {
    let play = well("two upgrades, without claims");
    let upgraded = told(&play, "Member Upgraded");
    assert_eq!(upgraded.len(), 6, "{upgraded:?}");
    assert!(upgraded[0].ends_with(" upgraded from 3.5.35 to 3.6.16 "), "{:?}", upgraded[0]);
    assert!(upgraded[5].ends_with(" upgraded from 3.6.16 to 3.7.3 "), "{:?}", upgraded[5]);
    let moves = lines(&play, "MoveLeader");
    let patches = lines(&play, "PatchImage");
    assert_eq!((moves.len(), patches.len()), (2, 6), "{moves:?}");
    let changes: Vec<&String> = play
        .trace
        .iter()
        .flatten()
        .filter(|line| line.contains("MoveLeader") || line.contains("PatchImage"))
        .collect();
    assert!(changes[2].contains("MoveLeader") && changes[6].contains("MoveLeader"), "{changes:#?}");
    let phases: Vec<&str> = play.world.announced.iter().map(|(phase, _)| phase.as_str()).collect();
    assert_eq!(
        phases,
        ["pre-upgrade", "post-upgrade", "pre-upgrade", "post-upgrade"],
        "plugins prepare for each upgrade by itself, and hear how it ended"
    );
    let changes: Vec<&String> = play.world.announced.iter().map(|(_, change)| change).collect();
    assert!(changes[0] == changes[1] && changes[2] == changes[3] && changes[0] != changes[2]);
}

#[test]
fn an_upgrade_that_leaves_a_minor_out_is_refused_and_nothing_is_touched() {
    let to = Step::Spec("version 3.7.3", |spec| spec.version = "3.7.3".to_owned());
    let play = played(&steps(3, "3.5.35", true, vec![to]));
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("UpgradeRefused") && standing.contains("3.6"), "{standing}");
    assert_eq!(play.world.status.as_ref().unwrap().current_version, "3.5.35");
    assert!(lines(&play, "DeletePod").is_empty() && lines(&play, "PatchImage").is_empty());
    assert!(play.world.conditions["Available"].0);
}

#[test]
fn an_upgrade_does_not_begin_while_a_member_is_not_well() {
    let scene = steps(
        3,
        "3.5.35",
        true,
        vec![Step::World("a follower is cut off, and 3.6.16 is asked for", |world| {
            let (leader, _) = world.leader(world.cluster().unwrap()).unwrap();
            let follower = world.pod_names().into_iter().find(|pod| *pod != leader).unwrap();
            world.fail(&Fault::CutOff(follower));
            let owner = world.objects.owner.as_mut().unwrap();
            std::rc::Rc::make_mut(&mut owner.spec).version = "3.6.16".to_owned();
            // Patience without end: the member is not to be replaced meanwhile.
            std::rc::Rc::make_mut(&mut owner.spec).repair =
                Some(etcd_api::Repair { replace_after_second: 1_000_000 });
            owner.generation += 1;
            owner.version += 1;
        })],
    );
    let play = played(&scene);
    let story = play.story();
    let (before, after) = story.split_once("Reconnect").unwrap_or_else(|| panic!("{story}"));
    assert!(!before.contains("DeletePod"), "{before}");
    assert!(after.contains("DeletePod"), "{after}");
    play.verdict().unwrap();
}

#[test]
fn the_member_that_is_not_well_goes_first_when_fewer_are_asked_for() {
    let scene = steps(
        3,
        "3.6.16",
        true,
        vec![Step::World("a follower is cut off, and two are asked for", |world| {
            let (leader, _) = world.leader(world.cluster().unwrap()).unwrap();
            // The oldest that does not lead: age alone would keep it.
            let record = world.objects.owner.as_ref().unwrap().record.clone();
            let oldest = record.members.iter().find(|member| member.name != leader).unwrap();
            world.fail(&Fault::CutOff(oldest.name.clone()));
            resize(world, 2);
        })],
    );
    let play = played(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    let members = &play.world.objects.owner.as_ref().unwrap().record.members;
    assert!(members.iter().any(|member| member.serial == 2), "the youngest stays: {members:?}");
}

#[test]
fn after_a_dozen_replacements_the_youngest_goes_first() {
    let mut all: Vec<Step> = (0..10)
        .map(|_| {
            Step::World("the youngest follower is deleted", |world| {
                let (leader, _) = world.leader(world.cluster().unwrap()).unwrap();
                let record = world.objects.owner.as_ref().unwrap().record.clone();
                let mut members: Vec<_> =
                    record.members.iter().filter(|member| member.name != leader).collect();
                members.sort_by_key(|member| member.serial);
                world.fail(&Fault::DeletePod(members.last().unwrap().name.clone()));
            })
        })
        .collect();
    all.push(Step::Spec("size 2", |spec| spec.size = 2));
    let play = played(&steps(3, "3.6.16", false, all));
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
    let record = &play.world.objects.owner.as_ref().unwrap().record;
    assert!(record.next_serial >= 13, "{}", record.next_serial);
    assert!(record.members.iter().all(|member| member.serial < 12), "{:?}", record.members);
}

#[test]
fn a_pause_holds_everything_still_and_is_told() {
    let paused = Step::Spec("paused", |spec| spec.paused = true);
    let delete = Step::Fault(Fault::DeletePod, etcd_simulation::Who::Followers(1));
    let play = played(&steps(3, "3.6.16", true, vec![paused, delete]));
    let status = play.world.status.as_ref().unwrap();
    assert!(status.control_paused);
    assert_eq!((status.members.ready.len(), status.members.unready.len()), (2, 1));
    assert_eq!(play.world.objects.pods.len(), 2);
    assert!(play.world.conditions["Available"].0 && play.world.violations.is_empty());
}

#[test]
fn a_lost_quorum_is_told_and_stays_until_people_decide() {
    let play = well("two of three lose their data, with claims");
    assert_eq!(play.world.conditions["Available"], (false, "Data lost".to_owned()));
    assert_eq!(told(&play, "Quorum Lost").len(), 1);
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("restore a backup, or set spec.quorumRecovery"), "{standing}");
    assert!(told(&play, "Cluster Recovered").is_empty());
}

#[test]
fn a_lost_quorum_is_recovered_from_the_survivor_if_that_is_asked_for() {
    let play = well("two of three lose their data, with claims, recovered");
    assert_eq!(told(&play, "Quorum Lost").len(), 1);
    assert_eq!(told(&play, "Cluster Recovered").len(), 1);
    assert_eq!(play.world.objects.owner.as_ref().unwrap().record.incarnation, 1);
}

#[test]
fn data_that_is_lost_with_everything_is_not_begun_anew() {
    let play = well("all lose their data, with claims");
    assert_eq!(play.world.begun.len(), 1);
    assert!(!play.world.conditions["Available"].0);
}

#[test]
fn a_member_whose_disk_is_lost_with_its_node_is_replaced() {
    let play = well("the disk of one is lost with its node, with claims");
    assert_eq!(told(&play, "Replacing Dead Member").len(), 1);
    assert_eq!(told(&play, "Member Removed").len(), 1);
}

#[test]
fn volumes_that_no_node_has_are_waited_for_and_no_cluster_is_begun_anew_without_them() {
    for policy in ["", ", recovered"] {
        let play = well(&format!("the disks of two of three are lost with their nodes, with claims{policy}"));
        let standing = lines(&play, "RegainDisk");
        assert_eq!(standing.len(), 2, "they came back: {}", play.story());
        assert_eq!(told(&play, "Quorum Lost").len(), 1);
        assert!(told(&play, "Cluster Recovered").is_empty(), "{}", play.story());
        assert!(play.world.conditions["Available"].0 && play.world.begun.len() == 1);
    }
}

#[test]
fn a_quorum_whose_volumes_are_away_is_told_with_what_to_do_about_it() {
    let scene = scene("the disks of two of three are lost with their nodes, with claims, recovered").unwrap();
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    while lines(&play, "LoseDisk").is_empty() {
        assert!(play.advance(&scene));
    }
    let end = play.world.now + jiff::SignedDuration::from_mins(13);
    while play.world.now < end {
        assert!(play.advance(&scene));
    }
    assert_eq!(play.world.conditions["Available"], (false, "Quorum lost".to_owned()));
    let standing = format!("{:?}", play.world.standing);
    assert!(
        standing.contains("no node has the volumes of") && standing.contains("delete the claims"),
        "{standing}"
    );
}

#[test]
fn disks_that_people_give_up_are_lost_and_the_cluster_goes_on_with_the_survivor() {
    let play = well("disks of two of three are lost and given up, with claims, recovered");
    assert_eq!(told(&play, "Cluster Recovered").len(), 1);
}

#[test]
fn data_of_a_version_that_forgets_deletions_is_good_data() {
    for scene in [
        "keys are deleted before two of three lose their data, with claims, recovered",
        "keys are deleted before a backup is restored, with claims",
    ] {
        let play = well(scene);
        assert_eq!(told(&play, "Cluster Recovered").len(), 1, "{scene}");
        assert_eq!(play.world.objects.owner.as_ref().unwrap().record.incarnation, 1, "{scene}");
    }
}

#[test]
fn certificates_are_made_and_renewed_without_a_restart() {
    let play = well("certificates are made and renewed, with claims");
    assert_eq!(lines(&play, "Issue").len(), 6, "{:#?}", lines(&play, "Issue"));
    assert!(lines(&play, "DeletePod").is_empty());
    assert_eq!(play.world.creations(), 6);
}

#[test]
fn members_with_tls_find_each_other_by_https() {
    let play = well("three members with TLS, with claims");
    assert!(lines(&play, "MemberAdd").iter().all(|line| line.contains("https://")));
    let boots = play.world.objects.pods.values().map(|pod| pod.boot.own_url.as_str());
    assert!(boots.into_iter().all(|url| url.starts_with("https://")));
}

#[test]
fn a_missing_secret_is_named() {
    let lose = Step::World("a Secret is gone", |world| drop(world.objects.secrets.remove("a-server")));
    let grow = Step::Spec("size 2", |spec| spec.size = 2);
    let mut scene = scene("three members with TLS, with claims").unwrap();
    (scene.spec.size, scene.steps) = (1, vec![lose, grow]);
    let play = played(&scene);
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("the Secret a-server is not there"), "{standing}");
    assert!(play.world.conditions["Available"].0);
    assert!(lines(&play, "DeletePod").is_empty(), "nobody is touched without it: {}", play.story());
}

#[test]
fn a_node_that_is_gone_keeps_its_pod_and_not_its_member() {
    for claims in ["with claims", "without claims"] {
        let play = well(&format!("the node of a follower is lost, {claims}"));
        assert_eq!(told(&play, "Member Removed").len(), 1, "{claims}");
    }
}

#[test]
fn an_evicted_pod_is_replaced() {
    let play = well("a follower is evicted, without claims");
    assert_eq!(told(&play, "Member Removed").len(), 1);
    let play = well("a follower is evicted, with claims");
    assert!(told(&play, "Member Removed").is_empty(), "its data is in the claim");
}

#[test]
fn a_quota_is_told_and_overcome_without_a_restart() {
    let quota = Step::World("a quota of two pods", |world| world.quota = Some(2));
    let grow = Step::Spec("size 3", |spec| spec.size = 3);
    let scene = steps(1, "3.6.16", true, vec![quota, grow]);
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    // It is tried again and again, so it does not come to rest by itself.
    while play.advance(&scene) && play.happened < 1500 {}
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("refused: exceeded quota: pods"), "{standing}\n{}", play.story());
    assert!(play.world.status.as_ref().unwrap().reason.contains("exceeded quota"));
    assert!(play.world.conditions["Available"].0);
    play.world.quota = None;
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("{wrong}\n{}", play.story()));
}

#[test]
fn a_wrong_spec_keeps_the_members_and_goes_on_telling_how_they_are() {
    let wrong = Step::Spec("version latest", |spec| spec.version = "latest".to_owned());
    let gone = Step::Fault(Fault::LoseClaim, etcd_simulation::Who::Followers(2));
    let play = played(&steps(3, "3.6.16", true, vec![wrong, gone]));
    let standing = format!("{:?}", play.world.standing);
    assert!(standing.contains("InvalidSpec"), "{standing}");
    assert_eq!(play.world.conditions["Available"], (false, "Data lost".to_owned()));
    assert_eq!(play.world.status.as_ref().unwrap().members.ready.len(), 0);
}

#[test]
fn an_act_is_never_done_on_what_a_cache_says() {
    use etcd_core::{decide, observed::View};
    let scene = scene("one member, with claims").unwrap();
    let world = World::new(scene.spec.clone());
    let (cluster, observed) =
        etcd_simulation::observe::observe(&world, &world.objects, View::Cached).unwrap();
    let decision = decide(&cluster, &observed, world.now);
    assert_eq!(decision.act, Act::Look);
    assert_eq!(decision.record, observed.record);
}
