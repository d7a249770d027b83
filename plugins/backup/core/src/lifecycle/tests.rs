use backup_api::{BackupPolicySpec, FailurePolicy, RestoreState, names};
use serde_json::{Value, json};

use super::*;

fn policy(change: &Value) -> BackupPolicySpec {
    let policy = json!({
        "subjects": [{"apiGroup": "charts.example.com", "kind": "Shop"}],
        "storage": {"url": "s3://bucket"},
        "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}},
    });
    serde_json::from_value(crate::manifest::merge(policy, change)).unwrap()
}

fn announcement(phase: &str, change: &str) -> Announcement {
    serde_json::from_value(json!({
        "subject": {"apiVersion": "charts.example.com/v1", "kind": "Shop", "namespace": "shop", "name": "eu",
            "uid": "u-1", "labels": {"tier": "gold"}},
        "phase": phase, "change": change, "details": {"versions": {"from": "1.2.0", "to": "1.3.0"}},
    }))
    .unwrap()
}

fn hooks(announcement: &Announcement, policies: &[(&str, BackupPolicySpec)]) -> Vec<String> {
    let policies: Vec<Policy<'_>> = policies.iter().map(|(name, spec)| Policy { name, spec }).collect();
    plan(announcement, &policies).into_iter().map(|hook| hook.name).collect()
}

#[test]
fn a_policy_is_about_what_its_subjects_and_phases_say() {
    let upgrade = announcement("pre-upgrade", "c");
    let matches = |change: Value| hooks(&upgrade, &[("p", policy(&change))]).len() == 1;
    assert!(matches(json!({})));
    for (subjects, is) in [
        (json!({"apiGroup": "charts.example.com", "kind": "Shop", "name": "eu"}), true),
        (json!({"apiGroup": "charts.example.com", "kind": "Shop", "name": "us"}), false),
        (json!({"apiGroup": "charts.example.com", "kind": "Shops"}), false),
        (json!({"kind": "Shop"}), false),
        (
            json!({"apiGroup": "charts.example.com", "kind": "Shop", "selector": {"matchLabels": {"tier": "gold"}}}),
            true,
        ),
        (
            json!({"apiGroup": "charts.example.com", "kind": "Shop", "selector": {"matchLabels": {"tier": "iron"}}}),
            false,
        ),
        (json!({"apiGroup": "charts.example.com", "kind": "Shop", "selector": {}}), true),
    ] {
        assert_eq!(matches(json!({"subjects": [subjects.clone()]})), is, "{subjects}");
    }
    assert!(!matches(json!({"phases": ["pre-delete"]})));
    assert!(matches(json!({"phases": ["pre-delete", "pre-upgrade"]})));
    assert!(!matches(json!({"phases": []})));
}

#[test]
fn several_policies_of_one_subject_all_apply_by_weight_and_name() {
    let upgrade = announcement("pre-upgrade", "c");
    let policies = [
        ("b", policy(&json!({}))),
        ("z", policy(&json!({"weight": -1}))),
        ("a", policy(&json!({}))),
        ("other", policy(&json!({"phases": ["post-upgrade"]}))),
    ];
    assert_eq!(hooks(&upgrade, &policies), ["z", "a", "b"]);
    let spec = policy(&json!({"onFailure": "Ignore", "approval": true, "timeout": "2h", "retries": 5}));
    let hook = plan(&upgrade, &[Policy { name: "p", spec: &spec }]).remove(0);
    assert_eq!((hook.on_failure, hook.approval, hook.retries), (FailurePolicy::Ignore, true, 0));
    assert!(
        hook.timeout > std::time::Duration::from_secs(7_200),
        "the backup ends by itself before the hook is given up"
    );
}

fn seen(object: &Value, status: Value) -> BackupSeen {
    BackupSeen {
        deleting: false,
        spec: serde_json::from_value(object["spec"].clone()).unwrap(),
        status: serde_json::from_value(status).unwrap(),
    }
}

fn artefact(change: &str) -> Value {
    json!({"uri": "s3://bucket/k", "key": "k", "size": 1, "sha256": "0".repeat(64), "format": "mariadb-sql",
        "subject": {"apiVersion": "charts.example.com/v1", "kind": "Shop", "name": "eu"}, "change": change,
        "subjectVersion": "1.2.0", "takenAt": "2026-01-01T00:00:00Z"})
}

/// Plans and carries on to the creation of the `Backup`.
fn created(upgrade: &Announcement, spec: &BackupPolicySpec) -> (Value, Value) {
    let hook = plan(upgrade, &[Policy { name: "p", spec }]).remove(0);
    let Move::Create(object) = run(upgrade, &hook.parameters, &Seen::default()) else {
        panic!("nothing is created")
    };
    (hook.parameters, object)
}

#[test]
fn a_change_waits_for_its_verified_backup_and_gets_its_artefact() {
    let upgrade = announcement("pre-upgrade", "c-1");
    let (parameters, object) = created(&upgrade, &policy(&json!({})));
    let name = object["metadata"]["name"].as_str().unwrap();
    assert_eq!(name, backup_name("p", &upgrade));
    assert_eq!(object["spec"]["origin"]["change"], "c-1");
    assert_eq!(object["spec"]["subjectVersion"], "1.2.0");
    let step = |status: Value| {
        let backup = Some(seen(&object, status));
        run(&upgrade, &parameters, &Seen { begun: true, backup, ..Seen::default() })
    };
    let Move::Pending { kind, name: waits_for, .. } = step(json!({"phase": "Running"})) else {
        panic!("not pending")
    };
    assert_eq!((kind, waits_for.as_str()), (names::BACKUP, name));
    let done = json!({"phase": "Completed", "verified": true, "artifact": artefact("c-1")});
    let Move::Done(artefacts) = step(done) else { panic!("not done") };
    let record: Record = serde_json::from_value(artefacts[0].clone()).unwrap();
    assert_eq!((record.backup.as_str(), record.artefact.key.as_str()), (name, "k"));
    let unverified = json!({"phase": "Completed", "verified": false, "artifact": artefact("c-1")});
    assert!(matches!(step(unverified), Move::Failed { reason: "NotVerified", .. }));
    assert!(matches!(step(json!({"phase": "Completed", "verified": true})), Move::Failed { .. }));
    let Move::Failed { message, .. } = step(json!({"phase": "Failed", "message": "no space"})) else {
        panic!()
    };
    assert!(message.contains("no space"));
}

#[test]
fn the_same_change_has_the_same_backup_and_another_change_another() {
    let name = |phase: &str, change: &str| backup_name("p", &announcement(phase, change));
    assert_eq!(name("pre-upgrade", "c"), name("pre-upgrade", "c"));
    assert_ne!(name("pre-upgrade", "c"), name("pre-upgrade", "d"));
    assert_ne!(name("pre-upgrade", "c"), name("pre-delete", "c"));
    let anew = Announcement {
        announced_at: "2026-01-02T00:00:00Z".parse().unwrap(),
        ..announcement("pre-upgrade", "c")
    };
    assert_ne!(name("pre-upgrade", "c"), backup_name("p", &anew), "its data may be another meanwhile");
    let (parameters, object) = created(&announcement("pre-upgrade", "c"), &policy(&json!({})));
    let done = json!({"phase": "Completed", "verified": true, "artifact": artefact("d")});
    let backup = Some(seen(&object, done));
    let other =
        run(&announcement("pre-upgrade", "d"), &parameters, &Seen { begun: true, backup, ..Seen::default() });
    assert!(
        matches!(other, Move::Failed { reason: "NameTaken", .. }),
        "somebody else's backup is not taken for ours"
    );
}

#[test]
fn what_failed_before_the_hook_began_makes_way_and_what_failed_since_is_its_failure() {
    let upgrade = announcement("pre-upgrade", "c");
    let (parameters, object) = created(&upgrade, &policy(&json!({})));
    let step = |begun: bool, deleting: bool, phase: &str| {
        let backup = BackupSeen { deleting, ..seen(&object, json!({"phase": phase})) };
        run(&upgrade, &parameters, &Seen { begun, backup: Some(backup), ..Seen::default() })
    };
    assert!(matches!(step(false, false, "Failed"), Move::Replace { kind: names::BACKUP, .. }));
    assert!(matches!(step(false, true, "Failed"), Move::Pending { begun: false, .. }));
    assert!(matches!(step(true, false, "Failed"), Move::Failed { reason: "BackupFailed", .. }));
    assert!(matches!(step(false, false, "Running"), Move::Pending { begun: true, .. }), "it is taken over");
}

#[test]
fn a_policy_that_is_edited_meanwhile_changes_nothing() {
    let upgrade = announcement("pre-upgrade", "c");
    let (parameters, object) = created(&upgrade, &policy(&json!({"retries": 9})));
    assert_eq!(object["spec"]["plan"]["retries"], 9);
    let Move::Create(again) = run(&upgrade, &parameters, &Seen::default()) else { panic!() };
    assert_eq!(again, object);
}

/// The announcement of a rollback, with what the upgrade's backup left.
fn rollback(phase: &str, undoes: &str, spec: &BackupPolicySpec) -> Announcement {
    let upgrade = announcement("pre-upgrade", "c-1");
    let (parameters, object) = created(&upgrade, spec);
    let backup = seen(&object, json!({"phase": "Completed", "verified": true, "artifact": artefact("c-1")}));
    let Move::Done(artefacts) =
        run(&upgrade, &parameters, &Seen { begun: true, backup: Some(backup), ..Seen::default() })
    else {
        panic!()
    };
    let artefacts =
        artefacts.into_iter().map(|artefact| RecordedArtefact { hook: "p".to_owned(), artefact }).collect();
    let details = json!({"versions": {"from": "1.3.0", "to": "1.2.0"}});
    Announcement { undoes: Some(undoes.to_owned()), artefacts, details, ..announcement(phase, "c-2") }
}

#[test]
fn a_rollback_puts_back_the_artefact_of_the_change_it_undoes_even_without_the_policy() {
    let spec = policy(&json!({}));
    assert_eq!(hooks(&rollback("post-rollback", "c-1", &spec), &[]), ["restore:p"]);
    assert_eq!(hooks(&rollback("pre-rollback", "c-1", &spec), &[]), Vec::<String>::new());
    let back = rollback("post-rollback", "c-1", &spec);
    let hook = plan(&back, &[]).remove(0);
    let Move::Create(object) = run(&back, &hook.parameters, &Seen::default()) else {
        panic!("nothing is created")
    };
    let (spec, name) = (&object["spec"], object["metadata"]["name"].as_str().unwrap());
    assert_eq!(
        (&spec["artifact"]["key"], &spec["setAside"], &spec["targetVersion"]),
        (&json!("k"), &json!(true), &json!("1.2.0"))
    );
    assert_eq!(name, restore_name("p", &back));
    let restore = |phase: RestoreState| {
        let status = backup_api::RestoreStatus { phase, ..backup_api::RestoreStatus::default() };
        let restore = Some(RestoreSeen {
            deleting: false,
            spec: serde_json::from_value(spec.clone()).unwrap(),
            status,
        });
        run(&back, &hook.parameters, &Seen { begun: true, restore, ..Seen::default() })
    };
    assert!(matches!(restore(RestoreState::Restoring), Move::Pending { kind: names::RESTORE, .. }));
    assert_eq!(restore(RestoreState::Completed), Move::Done(Vec::new()));
    assert!(matches!(restore(RestoreState::Failed), Move::Failed { reason: "RestoreFailed", .. }));
}

#[test]
fn a_backup_that_is_still_there_is_restored_by_its_name() {
    let back = rollback("post-rollback", "c-1", &policy(&json!({})));
    let hook = plan(&back, &[]).remove(0);
    let Move::Create(object) = run(&back, &hook.parameters, &Seen::default()) else { panic!() };
    assert!(object["spec"].get("backupRef").is_none());
    let upgrade = announcement("pre-upgrade", "c-1");
    let (_, backup) = created(&upgrade, &policy(&json!({})));
    let there = seen(&backup, json!({"phase": "Completed", "verified": true, "artifact": artefact("c-1")}));
    let seen = Seen { backup: Some(there), ..Seen::default() };
    let Move::Create(object) = run(&back, &hook.parameters, &seen) else { panic!() };
    assert_eq!(
        object["spec"]["backupRef"],
        json!({"name": backup_name("p", &upgrade), "sha256": "0".repeat(64)})
    );
    assert!(object["spec"].get("artifact").is_none() && object["spec"].get("job").is_none());
}

#[test]
fn the_artefact_of_another_change_is_never_put_back() {
    let back = rollback("post-rollback", "c-0", &policy(&json!({})));
    let hook = plan(&back, &[]).remove(0);
    assert!(matches!(
        run(&back, &hook.parameters, &Seen::default()),
        Move::Failed { reason: "OtherChange", .. }
    ));
    let back = Announcement {
        outcome: Some(Outcome::Failed),
        ..rollback("post-rollback", "c-1", &policy(&json!({})))
    };
    assert!(matches!(
        run(&back, &hook.parameters, &Seen::default()),
        Move::Failed { reason: "RollbackFailed", .. }
    ));
}

#[test]
fn when_a_backup_is_put_back_is_the_policys_to_say() {
    let at = |change: Value| {
        let spec = policy(&change);
        ["pre-rollback", "post-rollback"].map(|phase| hooks(&rollback(phase, "c-1", &spec), &[]).len())
    };
    assert_eq!(at(json!({})), [0, 1]);
    assert_eq!(at(json!({"restore": {"phase": "pre-rollback"}})), [1, 0]);
    assert_eq!(at(json!({"restore": {"phase": "never"}})), [0, 0]);
    assert_eq!(at(json!({"strategy": {"job": {"preset": "redis"}}})), [0, 1]);
    let volume = json!({"job": {"preset": "volume", "parameters": {"claim": "c"}}});
    assert_eq!(at(json!({"strategy": volume})), [0, 0], "nobody has stopped the server by then");
    assert_eq!(at(json!({"strategy": volume, "restore": {"phase": "pre-rollback"}})), [1, 0]);
}

#[test]
fn a_backup_before_a_rollback_comes_before_the_restore() {
    let spec =
        policy(&json!({"phases": ["pre-rollback"], "restore": {"phase": "pre-rollback"}, "weight": 7}));
    let mut back = rollback("pre-rollback", "c-1", &policy(&json!({"restore": {"phase": "pre-rollback"}})));
    assert_eq!(hooks(&back, &[("p", spec)]), ["p", "restore:p"]);
    back.artefacts.push(RecordedArtefact { hook: "x".to_owned(), artefact: json!({"of": "another plugin"}) });
    assert_eq!(hooks(&back, &[]), ["restore:p"]);
}

#[test]
fn a_restore_is_given_as_long_as_its_three_parts_may_take() {
    let hour = policy(&json!({"timeout": "1h"}));
    let hook = plan(&rollback("post-rollback", "c-1", &hour), &[]).remove(0);
    assert!(hook.timeout > std::time::Duration::from_secs(3 * 3600 + 1200), "{:?}", hook.timeout);
}

#[test]
fn a_policy_that_cannot_be_read_is_about_what_can_be_read_of_it() {
    let may = |spec: &Value, phase: &str| may_guard(spec, &announcement(phase, "c"));
    let shops = json!([{"apiGroup": "charts.example.com", "kind": "Shop"}]);
    for (spec, is) in [
        (json!({"subjects": shops, "timeout": "ages"}), true),
        (json!({"subjects": "all", "phases": 7}), true),
        (json!({"subjects": [{"kind": 7}]}), true),
        (json!({"subjects": [{"kind": "Service"}], "timeout": "ages"}), false),
        (json!({"subjects": shops, "phases": ["pre-delete"]}), false),
    ] {
        assert_eq!(may(&spec, "pre-upgrade"), is, "{spec}");
    }
    assert!(!may(&json!({"subjects": shops}), "post-rollback"), "what is put back does not wait for it");
}

/// A `Restore` after a rollback of this database, that ended in this minute.
fn restored(phase: &str, database: &str, minute: u32) -> (String, RestoreSeen) {
    let target = json!({"apiVersion": "charts.example.com/v1", "kind": "Shop", "name": "eu"});
    let job = json!({"preset": "mariadb", "parameters": {"host": "db", "database": database}});
    let plan = json!({"strategy": {"job": job}, "target": target, "aside": {"strategy": {"job": job}}});
    let status =
        json!({"phase": phase, "plan": plan, "completedAt": format!("2026-01-01T00:{minute:02}:00Z")});
    let spec = json!({"backupRef": {"name": "b"}, "target": target, "origin": {"kind": "Lifecycle"}});
    let seen = RestoreSeen {
        deleting: false,
        spec: serde_json::from_value(spec).unwrap(),
        status: serde_json::from_value(status).unwrap(),
    };
    (format!("{phase}-{database}"), seen)
}

#[test]
fn data_is_put_back_by_a_later_restore_of_the_same_database_alone() {
    let next = announcement("pre-upgrade", "c-3");
    let failed = restored("Failed", "rows", 1);
    let way = |others: &[(String, RestoreSeen)]| {
        in_the_way(&next, &[std::slice::from_ref(&failed), others].concat(), &[])
    };
    let still = Some(InTheWay::Failed("Failed-rows".to_owned()));
    assert_eq!(way(&[]), still);
    assert_eq!(way(&[restored("Completed", "keys", 2)]), still, "that is another database");
    assert_eq!(way(&[restored("Completed", "rows", 0)]), still, "that was before");
    assert_eq!(way(&[restored("Completed", "rows", 2)]), None);
    let mut whole = restored("Completed", "", 2);
    let plan = whole.1.status.plan.as_mut().unwrap();
    plan.strategy.job.as_mut().unwrap().parameters.database = None;
    assert_eq!(way(&[whole]), None, "with the server comes the database");
    assert_eq!(way(&[restored("Restoring", "keys", 2)]), Some(InTheWay::AtWork("Restoring-keys".to_owned())));
}

#[test]
fn a_rollback_that_did_not_come_to_a_restore_holds_the_next_upgrade_up() {
    let next = announcement("pre-upgrade", "c-3");
    let hook = plan(&rollback("post-rollback", "c-1", &policy(&json!({}))), &[]).remove(0);
    let run = |state: &str, reason: &str, uid: &str| {
        json!({
            "metadata": {"name": "run"},
            "spec": {"phase": "post-rollback", "subject": {"kind": "Shop", "name": "eu", "uid": uid}},
            "status": {"hooks": [{"name": "restore.p", "parameters": hook.parameters, "state": state, "reason": reason,
                "message": "it is gone", "finishedAt": "2026-01-01T00:01:00Z"}]},
        })
    };
    let way = |run: &Value, restores: &[(String, RestoreSeen)]| {
        in_the_way(&next, restores, std::slice::from_ref(run))
    };
    let found = way(&run("Failed", "NoStorage", "u-1"), &[]);
    let Some(InTheWay::NotBegun { run: name, hook: of, why }) = found else { panic!("{found:?}") };
    assert_eq!((name.as_str(), of.as_str(), why.as_str()), ("run", "restore.p", "NoStorage: it is gone"));
    assert_eq!(
        way(&run("Skipped", "SkippedByHand", "u-1"), &[]),
        None,
        "somebody says that the data is as it should be"
    );
    assert_eq!(
        way(&run("Failed", "RestoreFailed", "u-1"), &[]),
        None,
        "the Restore tells of it, or was deleted"
    );
    assert_eq!(
        way(&run("Failed", "RollbackFailed", "u-1"), &[]),
        None,
        "the version is not the old one either"
    );
    assert_eq!(way(&run("Failed", "NoStorage", "u-0"), &[]), None, "that was another object of the name");
    let mut whole = restored("Completed", "", 2);
    whole.1.status.plan.as_mut().unwrap().strategy.job.as_mut().unwrap().parameters.database = None;
    assert_eq!(way(&run("Failed", "NoStorage", "u-1"), &[whole]), None);
}
