//! An `EtcdRestore` that people delete, or make anew, while it is carried out.

use etcd_simulation::{Order, Play, Scene, Step, world::Backup};
use jiff::SignedDuration;

/// Long enough for a pod, and far below the time after which a restore is given up.
const SOON: SignedDuration = SignedDuration::from_mins(2);

fn backup(uid: &str) -> Backup {
    Backup { uid: uid.to_owned(), values: (1_000_000..1_000_100).collect(), deletions: 0 }
}

/// A restore into a cluster that is there, or into one that is not there yet.
fn scene(exists: bool, claims: bool) -> (Scene, Play) {
    let steps = if exists { vec![Step::Backup("r-1")] } else { Vec::new() };
    let scene = Scene { steps, ..Scene::of(3, "3.6.16", claims) };
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    if !exists {
        play.world.backup = Some(backup("r-1"));
    }
    (scene, play)
}

/// The restore that the first member is being made for.
fn seeds(play: &Play) -> Option<String> {
    let owner = play.world.objects.owner.as_ref()?;
    owner.record.change.as_ref()?.source.restore.clone()
}

/// The operator's record is of this restore while it is carried out.
fn is_over(play: &Play) -> bool {
    let record = &play.world.objects.owner.as_ref().unwrap().record;
    record.restored.is_some()
}

/// Plays it on after people did this, at one moment of it.
fn goes_on(mut fork: Play, scene: &Scene, now: Option<Backup>, word: &str) {
    let began = fork.world.now;
    let wanted = now.as_ref().map(|backup| backup.uid.clone());
    fork.world.backup = now;
    fork.world.object_changed();
    let scene = Scene { steps: Vec::new(), ..scene.clone() };
    while seeds(&fork).is_some_and(|uid| Some(uid) != wanted) {
        let waits = fork.world.now.duration_since(began);
        assert!(waits < SOON && fork.advance(&scene), "{word}: it waits for {waits}\n{}", fork.story());
    }
    fork.run(&scene);
    fork.verdict().unwrap_or_else(|wrong| panic!("{word}: {wrong}\n{}", fork.story()));
    let restored = fork.world.objects.owner.as_ref().unwrap().record.restored.clone();
    assert!(wanted.is_none() || restored == wanted, "{word}: {restored:?}\n{}", fork.story());
}

#[test]
fn a_restore_that_is_deleted_or_made_anew_holds_its_cluster_up_at_no_moment_of_it() {
    for (exists, claims) in [(true, true), (true, false), (false, true), (false, false)] {
        let (scene, mut play) = scene(exists, claims);
        let mut moments = 0;
        while play.advance(&scene) && !is_over(&play) {
            if seeds(&play).is_none() {
                continue;
            }
            moments += 1;
            let word = format!("exists {exists}, claims {claims}, moment {moments}");
            goes_on(play.clone(), &scene, None, &format!("{word}, deleted"));
            goes_on(play.clone(), &scene, Some(backup("r-2")), &format!("{word}, made anew"));
        }
        assert!(moments > 10, "{moments} moments\n{}", play.story());
    }
}

#[test]
fn a_first_member_that_never_gets_its_backup_is_given_up_when_the_restore_is_deleted() {
    for (exists, claims) in [(true, true), (true, false), (false, true), (false, false)] {
        let (scene, mut play) = scene(exists, claims);
        while seeds(&play).is_none() {
            assert!(play.advance(&scene), "{}", play.story());
        }
        // Its pod waits for a file that nobody sends.
        play.world.full = true;
        let begun = play.world.now;
        while play.world.now.duration_since(begun) < SignedDuration::from_mins(10) {
            assert!(play.advance(&scene), "{}", play.story());
        }
        assert!(seeds(&play).is_some() && !play.world.pod_names().is_empty(), "{}", play.story());
        play.world.full = false;
        goes_on(play, &scene, None, &format!("exists {exists}, claims {claims}"));
    }
}
