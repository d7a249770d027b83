//! Every verdict beside that of kstatus; `data/README.md` says where these come from.

use helm_health::{Health, health};
use serde_json::Value;

fn name(health: &Health) -> &'static str {
    match health {
        Health::Current => "Current",
        Health::InProgress(_) => "InProgress",
        Health::Failed(_) => "Failed",
        Health::Terminating => "Terminating",
        Health::Unknown => "Unknown",
    }
}

#[test]
fn each_object_is_judged_as_kstatus_judges_it() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for line in include_str!("data/kstatus.tsv").lines() {
        let (verdict, object) = line.split_once('\t').expect("a verdict and an object");
        let object: Value = serde_json::from_str(object).expect("an object");
        let ours = health(&object);
        if name(&ours) != verdict {
            wrong.push(format!("kstatus: {verdict}, ours: {ours:?}: {object}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{} of {seen} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(seen > 900, "only {seen} objects were compared");
}

#[test]
fn every_sentence_begins_with_the_kind_and_says_something() {
    for line in include_str!("data/kstatus.tsv").lines() {
        let (_, object) = line.split_once('\t').expect("a verdict and an object");
        let object: Value = serde_json::from_str(object).expect("an object");
        if let Some(sentence) = health(&object).sentence() {
            let kind = object["kind"].as_str().unwrap_or("Object");
            let rest = sentence.strip_prefix(kind).and_then(|rest| rest.strip_prefix(": "));
            assert!(rest.is_some_and(|rest| rest.len() > 3), "{sentence:?} of {object}");
        }
    }
}
