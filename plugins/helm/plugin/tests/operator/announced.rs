//! What is done to a release is announced: others may hold it up, and hear how it ended.

use pilothouse_sdk::{Announcement, Artefact, Ending, Reason, Standing};
use serde_json::{Value, json};

use crate::scene::Scene;

fn pending() -> Standing {
    Standing::Pending("backup/nightly: the Job runs".to_owned())
}

fn failed() -> Standing {
    Standing::Failed { reason: "HookFailed".to_owned(), message: "backup/nightly: no store".to_owned() }
}

fn done() -> Standing {
    Standing::Done(Vec::<Artefact>::new())
}

fn answer(scene: &mut Scene, phase: &str, standing: Standing) {
    scene.cluster.answer_announcements(phase, Ok(standing));
    let object = scene.object();
    scene.runner.wake(&object, Reason::Manual);
    scene.settle();
}

fn announced(scene: &Scene, phase: &str) -> Vec<Announcement> {
    let all = scene.cluster.announced().into_iter().map(|(_, announcement)| announcement);
    all.filter(|announcement| announcement.phase == phase).collect()
}

fn settled(spec: &Value) -> Scene {
    let mut scene = Scene::new(spec);
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene
}

#[test]
fn an_upgrade_begins_when_others_have_done_their_part_and_not_before() {
    let mut scene = settled(&json!({"replicas": 1}));
    answer(&mut scene, "pre-upgrade", pending());
    scene.set(&json!({"replicas": 2}));
    scene.run_for(600);
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)));
    let (reason, message) = scene.truth("Reconciling");
    assert_eq!(reason, "WaitingForHooks");
    assert!(message.contains("the Job runs"), "{message}");

    answer(&mut scene, "pre-upgrade", done());
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "deployed"], Some(2)));
    let before = announced(&scene, "pre-upgrade");
    assert_eq!(before.len(), 1, "one change is one name: {before:?}");
    assert_eq!(before[0].details["from"]["chart"]["version"], "1.0.0");
    assert_eq!(before[0].details["to"]["revision"], 2);
    let after = announced(&scene, "post-upgrade");
    assert_eq!((&after[0].change, after[0].ending), (&before[0].change, Some(Ending::Succeeded)));
}

#[test]
fn what_is_deployed_is_kept_while_an_upgrade_waits() {
    let mut scene = settled(&json!({"replicas": 1, "extra": true}));
    answer(&mut scene, "pre-upgrade", pending());
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    let extra = scene.extra();
    scene.cluster.kubectl().delete_ref(&extra, &Default::default()).unwrap();
    scene.settle();
    assert!(scene.get(&extra).is_some());
}

#[test]
fn an_upgrade_that_others_could_not_prepare_is_not_begun_and_says_so() {
    let mut scene = settled(&json!({"replicas": 1}));
    answer(&mut scene, "pre-upgrade", failed());
    scene.set(&json!({"replicas": 2}));
    scene.run_for(3600);
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)));
    let (reason, message) = scene.truth("Stalled");
    assert_eq!((reason.as_str(), message.as_str()), ("HookFailed", "backup/nightly: no store"));
    answer(&mut scene, "pre-upgrade", done());
    assert_eq!(scene.replicas(), Some(2));
}

#[test]
fn another_wish_is_another_change() {
    let mut scene = settled(&json!({"replicas": 1}));
    answer(&mut scene, "pre-upgrade", pending());
    for replicas in [2, 3, 2] {
        scene.set(&json!({"replicas": replicas}));
        scene.settle();
    }
    let names: Vec<String> =
        announced(&scene, "pre-upgrade").into_iter().map(|announcement| announcement.change).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_rollback_names_the_change_that_it_undoes_and_waits_for_its_restore() {
    let mut scene = settled(&json!({"replicas": 1, "hooks": {"migrate": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.cluster.answer_announcements("post-rollback", Ok(pending()));
    scene.fail("migrate");
    assert_eq!(scene.statuses(), ["deployed", "failed", "pending-rollback"]);
    let (upgrade, rollback) = (announced(&scene, "pre-upgrade"), announced(&scene, "pre-rollback"));
    assert_eq!(rollback[0].undoes.as_ref(), Some(&upgrade[0].change));
    assert_eq!(announced(&scene, "post-upgrade")[0].ending, Some(Ending::Failed));
    assert_eq!(announced(&scene, "post-rollback")[0].undoes.as_ref(), Some(&upgrade[0].change));
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHooks", "the data is not back yet");
    answer(&mut scene, "post-rollback", done());
    assert_eq!(scene.statuses(), ["superseded", "failed", "deployed"]);
}

#[test]
fn a_way_back_by_hand_undoes_the_change_that_left_the_revision() {
    let mut scene = settled(&json!({"replicas": 1}));
    for replicas in [2, 3] {
        scene.set(&json!({"replicas": replicas}));
        scene.settle();
    }
    scene.ask("rollback-to", "1@jo");
    scene.settle();
    assert_eq!(scene.replicas(), Some(1));
    let upgrades = announced(&scene, "pre-upgrade");
    assert_eq!(announced(&scene, "pre-rollback")[0].undoes.as_ref(), Some(&upgrades[0].change));
}

#[test]
fn a_release_is_taken_away_when_others_have_done_their_part() {
    let mut scene = settled(&json!({"replicas": 1}));
    answer(&mut scene, "pre-delete", pending());
    scene.delete();
    scene.settle();
    assert!(scene.get(&scene.deployment()).is_some());
    scene.cluster.answer_announcements("post-delete", Ok(pending()));
    answer(&mut scene, "pre-delete", done());
    assert!(scene.get(&scene.deployment()).is_none());
    assert!(scene.get(&scene.object()).is_some(), "others have their part after it, too");
    answer(&mut scene, "post-delete", done());
    assert!(scene.get(&scene.object()).is_none());
}

#[test]
fn a_plugin_that_may_not_announce_what_others_are_to_hear_of_does_nothing() {
    let mut scene = settled(&json!({"replicas": 1}));
    let denied = pilothouse_sdk::AnnounceError::Denied("pre-upgrade may not be announced".to_owned());
    scene.cluster.answer_announcements("pre-upgrade", Err(denied));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(1)));
    let message = scene.condition("ReleaseFailed").unwrap().message;
    assert!(message.contains("may not be announced"), "{message}");
}

#[test]
fn a_wish_that_is_taken_back_is_withdrawn() {
    let mut scene = settled(&json!({"replicas": 1}));
    answer(&mut scene, "pre-upgrade", pending());
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.cluster.withdrawn(), []);
    scene.set(&json!({"replicas": 1}));
    scene.settle();
    assert_eq!(scene.cluster.withdrawn(), [scene.object()]);
    scene.run_for(3600);
    assert_eq!(scene.cluster.withdrawn().len(), 1, "once is enough");
}

#[test]
fn nothing_is_applied_while_the_end_of_a_change_is_heard_and_it_stays_the_end() {
    let mut scene = settled(&json!({"replicas": 1}));
    scene.cluster.answer_announcements("post-upgrade", Ok(pending()));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.truth("Reconciling").0, "WaitingForHooks");
    scene.cluster.forget_calls();
    answer(&mut scene, "post-upgrade", Standing::Pending("another word".to_owned()));
    assert!(
        !scene.cluster.writes().iter().any(|write| write.contains("Deployment")),
        "{:?}",
        scene.cluster.writes()
    );
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    answer(&mut scene, "post-upgrade", done());
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["superseded", "superseded", "deployed"], Some(3)));
    let endings: Vec<_> = announced(&scene, "post-upgrade").iter().map(|told| told.ending).collect();
    assert_eq!(endings, [Some(Ending::Succeeded); 2]);
}

#[test]
fn a_rollback_undoes_the_attempt_that_touched_something() {
    let mut scene = settled(&json!({"replicas": 1, "hooks": {"backup": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.fail("backup");
    assert_eq!(scene.statuses(), ["deployed", "failed"], "it has touched nothing");
    scene.set(&json!({"replicas": 3, "hooks": {"backup": false, "migrate": true}}));
    scene.settle();
    scene.fail("migrate");
    let upgrades = announced(&scene, "pre-upgrade");
    let undone = announced(&scene, "pre-rollback")[0].undoes.clone().unwrap();
    assert_eq!(undone, upgrades.last().unwrap().change);
    assert_ne!(undone, upgrades[0].change);
}

#[test]
fn a_failure_is_told_wherever_the_host_dies() {
    let crashes = pilothouse_sdk::harness::every_crash(|crash| {
        let mut scene = settled(&json!({"replicas": 1, "hooks": {"migrate": true}}));
        scene.set(&json!({"replicas": 2}));
        scene.settle();
        scene.cluster.fail_job(crate::scene::NAMESPACE, "migrate", "no").unwrap();
        scene.cluster.crash_after_write(crash);
        scene.run_for(60);
        let told = announced(&scene, "post-upgrade");
        assert_eq!(
            told.iter().map(|told| told.ending).collect::<Vec<_>>(),
            [Some(Ending::Failed)],
            "crash {crash}"
        );
        scene.cluster
    });
    assert!(crashes > 2, "only {crashes} crashes");
}

#[test]
fn a_failure_is_told_at_every_look_without_another_reading_of_its_record() {
    let mut scene = settled(&json!({"replicas": 1, "hooks": {"migrate": true}}));
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    scene.cluster.fail_job(crate::scene::NAMESPACE, "migrate", "no").unwrap();
    scene.settle();
    let told = announced(&scene, "post-upgrade").len();
    scene.cluster.forget_calls();
    let object = scene.object();
    scene.runner.wake(&object, Reason::Manual);
    scene.settle();
    assert_eq!(announced(&scene, "post-upgrade").len(), told, "the same words are one announcement");
    let calls = scene.cluster.calls();
    let reads = calls.iter().filter(|call| call.to_string().contains("sh.helm.release.v1.web.v2"));
    assert_eq!(reads.count(), 1, "for what the condition says of it");
}

#[test]
fn a_release_of_which_no_record_is_left_is_taken_away_after_others_have_done_their_part() {
    let mut scene = settled(&json!({"replicas": 1}));
    scene.cluster.kubectl().delete_ref(&scene.secret(1), &Default::default()).unwrap();
    answer(&mut scene, "pre-delete", pending());
    scene.delete();
    scene.settle();
    assert!(scene.get(&scene.deployment()).is_some());
    answer(&mut scene, "pre-delete", done());
    assert!(scene.get(&scene.deployment()).is_none());
}
