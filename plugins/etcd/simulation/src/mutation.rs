//! Sequences of changes of the spec: every field, to and fro, before the last change is done, and to what is refused.
//!
//! At the end the cluster has to be what a new one of the last spec is.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::{
    accident::Journey,
    fields::{Effect, Field, fields},
    play::{Order, Play},
    scene::{Scene, Step},
};

/// A sequence by seed: the scene, and how it is played.
pub fn sequence(seed: u64) -> (Scene, Journey) {
    let mut rng = Rng::with_seed(seed ^ 0xac70);
    let all = fields();
    let claims = rng.bool();
    let mut scene = Scene { name: format!("sequence {seed}"), ..Scene::of(rng.i32(1..=3), "3.6.16", claims) };
    // Whether there is TLS stays as it is for life; with it, certificates may be others.
    let secured = rng.u32(0..3) == 0;
    if let Some(tls) = all.iter().find(|field| secured && field.effect == Effect::Fixed) {
        let [first, _] = tls.values;
        first(&mut scene.spec);
    }
    let steps = &mut scene.steps;
    for _ in 0..rng.usize(1..4) {
        let field = rng.usize(0..all.len());
        let Some(field) = all.get(field).filter(|field| secured || field.effect != Effect::Fixed) else {
            continue;
        };
        if field.path == "pod.persistentVolumeClaimSpec" {
            // Volumes grow and never shrink.
            steps.push(field.change(1));
            continue;
        }
        match rng.u32(0..4) {
            0 => steps.extend([field.change(0), field.change(1), field.change(0)]),
            1 => steps.extend([field.change(1), field.change(0)]),
            2 => steps.extend(
                field.wrong.map(|wrong| Step::Spec(field.path, wrong)).into_iter().chain([field.change(1)]),
            ),
            _ => steps.push(field.change(rng.usize(0..2))),
        }
    }
    steps.push(Step::Spec("not paused", |spec| spec.paused = false));
    let journey = Journey { seed, accidents: Vec::new(), hasty: rng.bool(), shuffled: rng.bool() };
    (scene, journey)
}

/// Every field on its own: there, and back.
pub fn every_field(claims: bool) -> Vec<(&'static Field, Scene)> {
    let all = fields().iter().map(|field| {
        let name = format!("{} there and back", field.path);
        let steps = vec![field.change(1), field.change(0)];
        (field, Scene { name, steps, ..Scene::of(3, "3.6.16", claims) })
    });
    all.collect()
}

/// What a spec amounts to, whatever members are called and however often they were made.
pub fn fingerprint(play: &Play) -> BTreeSet<String> {
    let objects = &play.world.objects;
    let pods = objects.pods.values().map(|pod| {
        format!("a pod of {} {} {} in claim {}", pod.seen.digest, pod.seen.image, pod.seen.version, pod.claim)
    });
    let claims = objects
        .claims
        .values()
        .map(|claim| format!("a claim of {} with {}", claim.seen.digest, claim.seen.storage));
    let services = objects.services.iter().map(|(name, selector)| format!("{name} selects {selector:?}"));
    // Certificates that were made for the cluster stay until it is deleted.
    let tls = objects.owner.as_ref().and_then(|owner| owner.spec.tls.as_ref());
    let managed = tls.is_some_and(|tls| tls.managed.is_some());
    let secrets = objects
        .secrets
        .iter()
        .filter(|_| managed)
        .map(|(name, secret)| format!("{name} for {}", secret.made_for));
    let other = [
        format!("{} members", objects.pods.len()),
        format!("{} claims", objects.claims.len()),
        format!("at least {:?} available", objects.min_available),
        format!("standing: {:?}", play.world.standing.as_ref().map(std::mem::discriminant)),
    ];
    pods.chain(claims).chain(services).chain(secrets).chain(other).collect()
}

/// How the cluster differs from a new one of the same spec.
pub fn differences(play: &Play) -> Vec<String> {
    let Some(owner) = &play.world.objects.owner else { return Vec::new() };
    let scene = Scene { name: String::new(), spec: (*owner.spec).clone(), steps: Vec::new() };
    let mut fresh = Play::new(&scene, Order::Fixed, Vec::new());
    fresh.world.missing_images.clone_from(&play.world.missing_images);
    fresh.run(&scene);
    let (is, should) = (fingerprint(play), fingerprint(&fresh));
    let more = is.difference(&should).map(|what| format!("there is {what}"));
    let less = should.difference(&is).map(|what| format!("there is not {what}"));
    more.chain(less).collect()
}
