//! Every field of the spec is carried out or refused, in whatever order it changes.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use etcd_api::{
        CompactionMode, Defragmentation, EtcdClusterSpec, EtcdOptions, Fragment, ManagedTls, PodPolicy,
        QuorumRecovery, Repair, StaticTls, TlsPolicy,
    };
    use etcd_simulation::{
        Order, Play, Scene, Step,
        fields::{Effect, fields},
        mutation::{differences, every_field, fingerprint, sequence},
        scene::spec,
    };
    use serde_json::Value;

    fn play(scene: &Scene) -> Play {
        let mut play = Play::new(scene, Order::Fixed, Vec::new()).traced();
        play.run(scene);
        play
    }

    /// Paths of fields, two levels below `pod`, `TLS` and `options`, one elsewhere. A field that is new has to be written here, or this
    /// does not compile.
    fn paths() -> BTreeSet<String> {
        let text = || "x".to_owned();
        let one = || BTreeMap::from([(text(), text())]);
        let pod = PodPolicy {
            labels: one(),
            annotations: one(),
            node_selector: one(),
            affinity: Some(Fragment::new()),
            anti_affinity: true,
            tolerations: vec![Value::Null],
            resources: Some(Fragment::new()),
            security_context: Some(Fragment::new()),
            etcd_env: vec![Value::Null],
            persistent_volume_claim_spec: Some(Fragment::new()),
            busybox_image: text(),
            dns_timeout_in_second: 1,
        };
        let options = EtcdOptions {
            auto_compaction_mode: Some(CompactionMode::Periodic),
            auto_compaction_retention: Some(text()),
            quota_backend_bytes: Some(1),
            snapshot_count: Some(1),
            heartbeat_interval_ms: Some(1),
            election_timeout_ms: Some(1),
            max_request_bytes: Some(1),
        };
        let tls = TlsPolicy { fixed: Some(StaticTls::default()), managed: Some(ManagedTls::default()) };
        let defragmentation = Defragmentation { schedule: text(), time_zone: None, minimum_free_bytes: 0 };
        let spec = EtcdClusterSpec {
            size: 1,
            repository: text(),
            version: text(),
            paused: true,
            pod: Some(pod),
            tls: Some(tls),
            options: Some(options),
            defragmentation: Some(defragmentation),
            repair: Some(Repair::default()),
            quorum_recovery: Some(QuorumRecovery::default()),
        };
        let spec = serde_json::to_value(spec).unwrap();
        let mut paths = BTreeSet::new();
        for (name, value) in spec.as_object().unwrap() {
            if ["pod", "TLS", "options"].contains(&name.as_str()) {
                paths.extend(value.as_object().unwrap().keys().map(|field| format!("{name}.{field}")));
            } else {
                paths.insert(name.clone());
            }
        }
        paths
    }

    #[test]
    fn every_field_of_the_definition_is_tried() {
        let tried: BTreeSet<String> = fields().iter().map(|field| field.path.to_owned()).collect();
        assert_eq!(tried, paths());
    }

    #[test]
    fn every_field_changes_what_it_is_said_to_change_and_back() {
        for claims in [false, true] {
            for (field, scene) in every_field(claims) {
                if field.effect == Effect::Fixed || (field.path.contains("persistent") && claims) {
                    continue;
                }
                let there = Scene { steps: scene.steps[..1].to_vec(), ..scene.clone() };
                let before = fingerprint(&play(&Scene { steps: Vec::new(), ..scene.clone() }));
                let after = play(&there);
                after.verdict().unwrap_or_else(|wrong| panic!("{}: {wrong}\n{}", field.path, after.story()));
                let same = before == fingerprint(&after);
                let none = field.effect == Effect::Behaviour || field.path.contains("persistent");
                assert_eq!(same, none, "{} (claims: {claims})", field.path);
                let back = play(&scene);
                back.verdict().unwrap_or_else(|wrong| panic!("{}: {wrong}\n{}", field.path, back.story()));
                assert_eq!(before, fingerprint(&back), "{} and back", field.path);
            }
        }
    }

    #[test]
    fn a_volume_grows_and_is_not_passed_over_when_it_should_shrink() {
        let field = fields().iter().find(|field| field.path.contains("persistent")).unwrap();
        let scene =
            |steps: Vec<Step>| Scene { name: "volumes".to_owned(), spec: spec(3, "3.6.16", true), steps };
        let grown = play(&scene(vec![field.change(1)]));
        grown.verdict().unwrap();
        assert!(grown.world.objects.claims.values().all(|claim| claim.seen.storage == "2Gi"));
        let back = play(&scene(vec![field.change(1), field.change(0)]));
        let standing = format!("{:?}", back.world.standing);
        assert!(standing.contains("VolumeTooLarge") && standing.contains("2Gi"), "{standing}");
        assert!(back.world.violations.is_empty());
    }

    #[test]
    fn a_wrong_value_is_refused_with_a_sentence_and_costs_nothing() {
        for field in fields() {
            let Some(wrong) = field.wrong else { continue };
            let scene = |steps: Vec<Step>| Scene {
                name: field.path.to_owned(),
                spec: spec(3, "3.6.16", true),
                steps,
            };
            let play = play(&scene(vec![Step::Spec(field.path, wrong)]));
            let standing = format!("{:?}", play.world.standing);
            assert!(standing.contains("InvalidSpec"), "{}: {standing}", field.path);
            assert!(!play.world.status.as_ref().unwrap().reason.is_empty(), "{}", field.path);
            assert!(play.world.conditions["Available"].0, "{}", field.path);
            assert_eq!(play.world.status.as_ref().unwrap().members.ready.len(), 3, "{}", field.path);
            assert_eq!(play.world.creations(), 6, "{}: objects were made", field.path);
            assert!(play.world.violations.is_empty(), "{:?}", play.world.violations);
        }
    }

    #[test]
    fn whatever_is_asked_for_in_between_the_end_is_that_of_a_new_cluster() {
        let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(150);
        let mut failed = Vec::new();
        for seed in 0..runs {
            let (scene, journey) = sequence(seed);
            let play = journey.play(&scene, false);
            let wrong =
                play.world.violations.clone().into_iter().chain(differences(&play)).collect::<Vec<_>>();
            if !wrong.is_empty() {
                if failed.len() < 3 {
                    let story = journey.play(&scene, true).story();
                    println!("{seed}: {:?}\n{wrong:#?}\n{story}\n", scene.steps);
                }
                failed.push(format!("seed {seed}: {:?}: {}", scene.steps, wrong[0]));
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
