//! The scenes.

use etcd_api::{
    CompactionMode, Defragmentation, EtcdClusterSpec, EtcdOptions, ManagedTls, MemberSecrets, QuorumRecovery,
    RecoveryPolicy, StaticTls, TlsPolicy, names,
};
use etcd_core::observed::Secret;
use jiff::SignedDuration;

use crate::{
    fault::Fault,
    scene::{Scene, Step, Who, spec},
    world::{QUOTA, World},
};

const OLD: &str = "3.5.35";
/// It forgets deletions with history.
const FORGETFUL: &str = "3.5.12";
const MIDDLE: &str = "3.6.16";
const NEW: &str = "3.7.3";

/// All scenes.
pub fn scenes() -> Vec<Scene> {
    let mut all = Vec::new();
    for claims in [false, true] {
        all.extend(membership(claims));
        all.extend(versions(claims));
        all.extend(mishaps(claims));
        all.extend(deletions(claims));
        all.extend(edits(claims));
        all.extend(secured(claims));
    }
    all.extend(recoveries());
    all
}

/// A scene by name.
pub fn scene(name: &str) -> Option<Scene> {
    scenes().into_iter().find(|scene| scene.name == name)
}

fn named(name: &str, claims: bool) -> String {
    format!("{name}, {}", if claims { "with claims" } else { "without claims" })
}

fn make(name: &str, size: i32, version: &str, claims: bool, steps: Vec<Step>) -> Option<Scene> {
    Some(Scene { name: named(name, claims), spec: spec(size, version, claims), steps })
}

fn size(to: &'static str, change: fn(&mut EtcdClusterSpec)) -> Step {
    Step::Spec(to, change)
}

fn to(version: &'static str) -> Step {
    match version {
        OLD => Step::Spec("version 3.5.35", |spec| spec.version = OLD.to_owned()),
        MIDDLE => Step::Spec("version v3.6.16", |spec| spec.version = format!("v{MIDDLE}")),
        _ => Step::Spec("version 3.7.3", |spec| spec.version = NEW.to_owned()),
    }
}

fn membership(claims: bool) -> Vec<Scene> {
    let two = || size("size 2", |spec| spec.size = 2);
    let three = || size("size 3", |spec| spec.size = 3);
    let four = || size("size 4", |spec| spec.size = 4);
    let five = || size("size 5", |spec| spec.size = 5);
    let one = || size("size 1", |spec| spec.size = 1);
    let fault = |fault, who| vec![Step::Fault(fault, who)];
    let scenes = [
        make("one member", 1, MIDDLE, claims, vec![]),
        make("three members", 3, MIDDLE, claims, vec![]),
        make("five members", 5, MIDDLE, claims, vec![]),
        make("1 to 2 to 1", 1, MIDDLE, claims, vec![two(), one()]),
        make("3 to 4 to 5 to 3", 3, MIDDLE, claims, vec![four(), five(), three()]),
        make("3 to 1 to 3", 3, MIDDLE, claims, vec![one(), three()]),
        make("a follower is deleted", 3, MIDDLE, claims, fault(Fault::DeletePod, Who::Followers(1))),
        make("the leader is deleted", 3, MIDDLE, claims, fault(Fault::DeletePod, Who::Leader)),
        make("a follower is evicted", 3, MIDDLE, claims, fault(Fault::Evict, Who::Followers(1))),
        make("the node of a follower is lost", 3, MIDDLE, claims, fault(Fault::LoseNode, Who::Followers(1))),
        make("the node of the leader is lost", 3, MIDDLE, claims, fault(Fault::LoseNode, Who::Leader)),
        make("two of five are deleted", 5, MIDDLE, claims, fault(Fault::DeletePod, Who::Followers(2))),
        make(
            "paused",
            3,
            MIDDLE,
            claims,
            vec![
                Step::Spec("paused", |spec| spec.paused = true),
                Step::Fault(Fault::DeletePod, Who::Followers(1)),
                Step::Spec("not paused", |spec| spec.paused = false),
            ],
        ),
    ];
    scenes.into_iter().flatten().collect()
}

fn versions(claims: bool) -> Vec<Scene> {
    let both = |spec: &mut EtcdClusterSpec| {
        spec.version = MIDDLE.to_owned();
        spec.size = 4;
    };
    let failing = || vec![Step::LoseImage(MIDDLE), to(MIDDLE), to(OLD)];
    let scenes = [
        make("two upgrades", 3, OLD, claims, vec![to(MIDDLE), to(NEW)]),
        make("upgrade of one member", 1, OLD, claims, vec![to(MIDDLE)]),
        make("upgrade of two members", 2, OLD, claims, vec![to(MIDDLE)]),
        make("upgrade and downgrade", 3, MIDDLE, claims, vec![to(NEW), to(MIDDLE)]),
        make("an upgrade fails and is taken back", 3, OLD, claims, failing()),
        make("an upgrade of one member fails and is taken back", 1, OLD, claims, failing()),
        make("a downgrade is taken back", 3, OLD, claims, vec![to(MIDDLE), to(OLD), to(MIDDLE)]),
        make("a minor is left out", 3, OLD, claims, vec![to(NEW), to(MIDDLE)]),
        make("an upgrade and one more member", 3, OLD, claims, vec![Step::Spec("3.6.16 and size 4", both)]),
        make("a downgrade and one more member", 3, NEW, claims, vec![Step::Spec("3.6.16 and size 4", both)]),
    ];
    scenes.into_iter().flatten().collect()
}

fn mishaps(claims: bool) -> Vec<Scene> {
    let fault = |fault, who| vec![Step::Fault(fault, who)];
    let scenes = [
        make("no space", 3, MIDDLE, claims, fault(|_| Fault::Fill, Who::Leader)),
        make("keys fill the database", 3, MIDDLE, claims, {
            vec![keys_fill_it(), Step::Fault(|_| Fault::Fill, Who::Leader), larger_quota()]
        }),
        make("keys fill the database of a version that tells no quota", 3, OLD, claims, {
            vec![keys_fill_it(), Step::Fault(|_| Fault::Fill, Who::Leader), larger_quota()]
        }),
        make("keys fill the database and are deleted", 3, MIDDLE, claims, {
            let delete = Step::World("keys are deleted", |world| {
                let _ = world.delete_keys();
            });
            vec![keys_fill_it(), Step::Fault(|_| Fault::Fill, Who::Leader), delete]
        }),
        make("a follower's data differs", 3, MIDDLE, claims, fault(Fault::Corrupt, Who::Followers(1))),
        make("the leader's data differs", 3, MIDDLE, claims, fault(Fault::Corrupt, Who::Leader)),
        make("a follower is cut off", 3, MIDDLE, claims, fault(Fault::CutOff, Who::Followers(1))),
        make("all pods are deleted", 3, MIDDLE, claims, fault(Fault::DeletePod, Who::All)),
        make("an image that cannot be had", 3, MIDDLE, claims, {
            let nowhere =
                Step::Spec("repository nowhere", |spec| spec.repository = "nowhere/etcd".to_owned());
            let back =
                Step::Spec("the repository of before", |spec| spec.repository = names::REPOSITORY.to_owned());
            vec![Step::LoseImage("nowhere/"), nowhere, back]
        }),
        make("a wrong spec", 3, MIDDLE, claims, {
            let wrong = Step::Spec("version latest", |spec| spec.version = "latest".to_owned());
            vec![wrong, Step::Fault(Fault::DeletePod, Who::Followers(1)), to(MIDDLE)]
        }),
        make("databases are defragmented", 3, MIDDLE, claims, {
            let schedule = Step::Spec("defragmentation", |spec| {
                spec.defragmentation = Some(Defragmentation {
                    schedule: "0 * * * *".to_owned(),
                    time_zone: None,
                    minimum_free_bytes: 1,
                });
            });
            vec![schedule, Step::World("free pages, and an hour passes", hour_with_free_pages)]
        }),
    ];
    scenes.into_iter().flatten().collect()
}

fn keys_fill_it() -> Step {
    Step::World("keys are what fills the database", |world| world.live = QUOTA)
}

fn larger_quota() -> Step {
    Step::Spec("a larger quota", |spec| {
        let quota_backend_bytes = Some(8 * 1024 * 1024 * 1024);
        spec.options = Some(EtcdOptions { quota_backend_bytes, ..EtcdOptions::default() });
    })
}

fn deletions(claims: bool) -> Vec<Scene> {
    let grow = size("size 3", |spec| spec.size = 3);
    let scenes = [
        make("deleted", 3, MIDDLE, claims, vec![Step::Delete]),
        make("deleted while it grows", 1, MIDDLE, claims, vec![grow, Step::Delete]),
        make("deleted while it is upgraded", 3, OLD, claims, vec![to(MIDDLE), Step::Delete]),
    ];
    scenes.into_iter().flatten().collect()
}

fn edits(claims: bool) -> Vec<Scene> {
    let options = |spec: &mut EtcdClusterSpec| {
        spec.options = Some(EtcdOptions {
            auto_compaction_mode: Some(CompactionMode::Periodic),
            auto_compaction_retention: Some("8h".to_owned()),
            ..EtcdOptions::default()
        });
    };
    let other_storage = |spec: &mut EtcdClusterSpec| {
        let claims = spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
        spec.pod = crate::scene::spec(spec.size, &spec.version, !claims).pod;
    };
    let scenes = [
        make("options change", 3, MIDDLE, claims, vec![Step::Spec("auto-compaction", options)]),
        make("options of one member change", 1, MIDDLE, claims, vec![Step::Spec("auto-compaction", options)]),
        make("other storage", 3, MIDDLE, claims, vec![Step::Spec("claims, or none any more", other_storage)]),
    ];
    scenes.into_iter().flatten().collect()
}

fn hour_with_free_pages(world: &mut World) {
    for pod in world.pod_names() {
        if let Some(disk) = world.disk_mut(&pod) {
            disk.db_size = 5 * disk.db_in_use.max(1);
        }
    }
    world.now += SignedDuration::from_hours(1);
}

/// With certificates: given, missing, of another authority, made for the cluster and renewed.
fn secured(claims: bool) -> Vec<Scene> {
    let given = |scene: Option<Scene>| scene.map(|scene| with_tls(scene, fixed()));
    let managed = |scene: Option<Scene>| {
        let tls = TlsPolicy { fixed: None, managed: Some(ManagedTls { validity_hours: 24 }) };
        scene.map(|scene| with_tls(scene, tls))
    };
    let grow = || size("size 3", |spec| spec.size = 3);
    let missing = vec![
        Step::World("the Secret a-peer is gone", |world| drop(world.objects.secrets.remove("a-peer"))),
        grow(),
        Step::World("it is back", |world| {
            if let Some(other) = world.objects.secrets.get("b-peer").cloned() {
                let secret = Secret { authorities: "a".to_owned(), ..other };
                world.objects.secrets.insert("a-peer".to_owned(), secret);
            }
        }),
    ];
    let other = Step::World("another authority", |world| {
        for name in ["a-peer", "a-server"] {
            let secret = world.objects.secrets.get_mut(name);
            secret.into_iter().for_each(|secret| secret.authorities = "another".to_owned());
        }
    });
    let passes = Step::World("17 hours pass", |world| world.now += SignedDuration::from_hours(17));
    let delete = Step::Fault(Fault::DeletePod, Who::Followers(1));
    let scenes = [
        given(make("three members with TLS", 3, MIDDLE, claims, vec![delete])),
        given(make("a Secret is missing", 1, MIDDLE, claims, missing)),
        given(make("another authority", 3, MIDDLE, claims, vec![other])),
        managed(make("certificates are made and renewed", 3, MIDDLE, claims, vec![passes])),
    ];
    scenes.into_iter().flatten().collect()
}

fn fixed() -> TlsPolicy {
    let secret = |name: &str| Some(name.to_owned());
    let member = MemberSecrets { peer_secret: secret("a-peer"), server_secret: secret("a-server") };
    let operator_secret = secret("a-client");
    TlsPolicy { fixed: Some(StaticTls { member: Some(member), operator_secret }), managed: None }
}

fn with_tls(mut scene: Scene, tls: TlsPolicy) -> Scene {
    scene.spec.tls = Some(tls);
    scene
}

fn recoveries() -> Vec<Scene> {
    let opted = |scene: Option<Scene>| {
        scene.map(|mut scene| {
            let policy = RecoveryPolicy::FromSurvivor;
            scene.spec.quorum_recovery = Some(QuorumRecovery { policy, after_second: 60 });
            scene.name = format!("{}, recovered", scene.name);
            scene
        })
    };
    let two_lost = || vec![Step::Fault(Fault::LoseClaim, Who::Followers(2))];
    let two_gone = || vec![Step::Fault(Fault::DeletePod, Who::Followers(2))];
    let all_lost = || vec![Step::Fault(Fault::LoseClaim, Who::All)];
    let disks = |count| vec![Step::Fault(Fault::LoseDisk, Who::Followers(count))];
    let given_up = || {
        let give_up = Step::World("claims of disks that are lost are deleted", |world| {
            world.unreachable().into_iter().for_each(|name| world.fail(&Fault::LoseClaim(name)));
        });
        vec![Step::Fault(Fault::LoseDisk, Who::Followers(2)), give_up]
    };
    let deleted_keys = || {
        Step::World("keys are deleted", |world| {
            let _ = world.delete_keys();
        })
    };
    let forgotten = |step| vec![deleted_keys(), step];
    let restored = || vec![Step::Backup("r-0"), Step::Fault(Fault::LoseClaim, Who::All), Step::Backup("r-1")];
    let scenes = [
        make("two of three lose their data", 3, MIDDLE, true, two_lost()),
        make("two of three are gone", 3, MIDDLE, false, two_gone()),
        make("all lose their data", 3, MIDDLE, true, all_lost()),
        make("the disk of one is lost with its node", 3, MIDDLE, true, disks(1)),
        make("the disks of two of three are lost with their nodes", 3, MIDDLE, true, disks(2)),
        opted(make("the disks of two of three are lost with their nodes", 3, MIDDLE, true, disks(2))),
        opted(make("disks of two of three are lost and given up", 3, MIDDLE, true, given_up())),
        opted(make(
            "keys are deleted before two of three lose their data",
            3,
            FORGETFUL,
            true,
            forgotten(Step::Fault(Fault::LoseClaim, Who::Followers(2))),
        )),
        make(
            "keys are deleted before a backup is restored",
            3,
            FORGETFUL,
            true,
            forgotten(Step::Backup("r-1")),
        ),
        opted(make("two of three lose their data", 3, MIDDLE, true, two_lost())),
        opted(make("two of three are gone", 3, MIDDLE, false, two_gone())),
        opted(make("all lose their data", 3, MIDDLE, true, all_lost())),
        make("a backup is restored", 3, MIDDLE, true, vec![Step::Backup("r-1")]),
        make("a backup is restored", 3, MIDDLE, false, vec![Step::Backup("r-1")]),
        make("a backup is restored after all is lost", 3, MIDDLE, true, restored()),
    ];
    scenes.into_iter().flatten().collect()
}
