use super::*;
use crate::{Hook, Progress, Stage, fit::tests::noise};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn stored() -> Stored {
    let mut release =
        Release { name: "web".into(), namespace: "shop".into(), version: 2, ..Release::default() };
    release.set_status(Status::PendingUpgrade, "Preparing upgrade");
    let marks = Marks {
        inputs: Some("sha256:1".into()),
        progress: Some(Progress::start(Stage::Pre)),
        ..Marks::default()
    };
    Stored::new(release, marks, [("team".to_owned(), "a".to_owned())].into())
}

#[test]
fn a_new_secret_has_the_name_type_and_labels_that_helm_looks_for() {
    let secret = stored().secrets(at(1000)).unwrap().record;
    assert_eq!(secret["metadata"]["name"], "sh.helm.release.v1.web.v2");
    assert_eq!(secret["metadata"]["namespace"], "shop");
    assert_eq!(secret["type"], "helm.sh/release.v1");
    assert_eq!(
        secret["metadata"]["labels"],
        json!({"team": "a", "name": "web", "owner": "helm", "status": "pending-upgrade", "version": "2",
               "createdAt": "1000"})
    );
    assert_eq!(
        secret["metadata"]["annotations"],
        json!({"helm.pilothouse.dev/inputs": "sha256:1", "helm.pilothouse.dev/progress": "pre/0/0"})
    );
}

#[test]
fn a_secret_is_read_as_it_was_written_and_keeps_what_others_put_into_its_metadata() {
    let mut answer = stored().secrets(at(1000)).unwrap().record;
    answer["metadata"]["resourceVersion"] = json!("17");
    answer["metadata"]["annotations"]["else/where"] = json!("x");
    let mut read = Stored::read(&answer).unwrap();
    assert!(!read.is_new());
    assert_eq!(read.release, stored().release);
    assert_eq!(read.labels(), stored().labels());
    read.release.set_status(Status::Deployed, "Upgrade complete");
    read.marks.progress = None;
    let again = read.secrets(at(2000)).unwrap().record;
    assert_eq!(again["metadata"]["resourceVersion"], "17");
    assert_eq!(
        again["metadata"]["annotations"],
        json!({"helm.pilothouse.dev/inputs": "sha256:1", "else/where": "x"})
    );
    let entry = Entry::read(&again).unwrap();
    assert_eq!((entry.revision, entry.status), (2, Status::Deployed));
    assert_eq!(entry.touched, Some(at(2000)));
    assert_eq!(entry.marks, read.marks);
    assert_eq!(entry.resource_version, "17");
}

#[test]
fn the_controller_of_a_secret_is_told_from_its_other_owners() {
    let mut secret = stored().secrets(at(1)).unwrap().record;
    assert_eq!(Entry::read(&secret).unwrap().controller, None);
    let owner = |name: &str| json!({"apiVersion": "a/v1", "kind": "App", "name": name, "uid": "u"});
    let mut second = owner("second");
    second["controller"] = json!(true);
    secret["metadata"]["ownerReferences"] = json!([owner("first"), second]);
    assert_eq!(Entry::read(&secret).unwrap().controller.unwrap().name, "second");
}

#[test]
fn what_is_no_release_secret_is_refused_by_name() {
    let secret = json!({"metadata": {"name": "x", "labels": {"version": "one"}}});
    assert_eq!(
        Entry::read(&secret).unwrap_err().to_string(),
        "Secret \"x\" has no label \"version\" with the number of a revision"
    );
    assert_eq!(Stored::read(&secret).unwrap_err().to_string(), "Secret \"x\" holds no release record");
    let secret = json!({"metadata": {"name": "x"}, "data": {"release": "JSU="}});
    assert!(
        Stored::read(&secret).unwrap_err().to_string().starts_with("Secret \"x\": the release record is not")
    );
}

/// A revision whose objects alone are larger than a Secret.
fn large() -> Stored {
    let mut large = stored();
    large.release.manifest = noise(2_500_000);
    large.release.info.notes = "look".into();
    large.release.hooks =
        vec![Hook { name: "backup".into(), manifest: "kind: Job".into(), ..Hook::default() }];
    large
}

/// What the cluster holds after a write.
fn written(large: &mut Stored) -> (Value, Vec<Value>) {
    let Secrets { mut record, chunks } = large.secrets(at(1000)).unwrap();
    record["metadata"]["resourceVersion"] = json!("1");
    large.written(&record);
    (record, chunks)
}

#[test]
fn what_is_too_large_is_read_back_out_of_its_chunks() {
    let mut large = large();
    let (record, chunks) = written(&mut large);
    assert_eq!(chunks_of(&record).unwrap().count(), chunks.len());
    assert!(chunks.len() > 1, "{}", chunks.len());
    let read = Stored::read_with(&record, &chunks).unwrap();
    assert_eq!(read.release, large.release);
    assert_eq!(read.marks, large.marks);
    assert_eq!(read.chunks(), chunks_of(&record));
    let entry = Entry::read(&record).unwrap();
    assert_eq!((entry.revision, entry.chunks), (2, chunks_of(&record)));
}

#[test]
fn helm_cannot_take_what_is_left_of_it_for_a_release() {
    let (record, _) = written(&mut large());
    assert_eq!(record["data"].get("release"), None);
    assert_eq!(record["metadata"]["labels"]["owner"], "helm", "its number stays taken");
    let head = STANDARD.decode(record["data"]["head"].as_str().unwrap()).unwrap();
    assert!(head.len() < 2000, "{}", head.len());
}

#[test]
fn what_changes_of_it_is_written_without_the_chunks() {
    let mut large = large();
    let (_, chunks) = written(&mut large);
    large.release.set_status(Status::Deployed, "Upgrade complete");
    large.release.hooks[0].last_run.phase = crate::HookPhase::Succeeded;
    let again = large.secrets(at(2000)).unwrap();
    assert!(again.chunks.is_empty());
    let read = Stored::read_with(&again.record, &chunks).unwrap();
    assert_eq!(read.release, large.release);
    // Hooks that were taken off stay off.
    large.release.hooks.clear();
    let bare = large.secrets(at(2000)).unwrap();
    assert!(Stored::read_with(&bare.record, &chunks).unwrap().release.hooks.is_empty());
}

#[test]
fn chunks_that_are_not_all_there_or_were_changed_are_told() {
    let (record, chunks) = written(&mut large());
    let told = |chunks: &[Value]| Stored::read_with(&record, chunks).unwrap_err().to_string();
    assert!(
        told(&chunks[1..]).contains("a chunk of the release record is missing"),
        "{}",
        told(&chunks[1..])
    );
    let mut changed = chunks.clone();
    changed[0]["data"]["chunk"] = json!("AAAA");
    assert!(matches!(Stored::read_with(&record, &changed).unwrap_err(), SecretError::Chunk(_)));
    assert!(matches!(Stored::read(&record).unwrap_err(), SecretError::Chunk(_)));
}

#[test]
fn a_listing_tells_revisions_from_chunks_and_finds_those_that_nobody_has() {
    let (record, chunks) = written(&mut large());
    let mut other = large();
    other.release.manifest.push('x');
    let mut strays = written(&mut other).1;
    strays[0]["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "a/v1", "kind": "App", "name": "web", "uid": "u", "controller": true}]);
    let nameless = json!({"metadata": {"name": "x", "labels": {"owner": "helm"}}});
    let all: Vec<Value> = [record, nameless].into_iter().chain(chunks).chain(strays.clone()).collect();
    let listed = Listed::read(&all);
    assert_eq!(listed.entries.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [2]);
    assert_eq!(listed.unreadable.len(), 1);
    let names: Vec<_> = listed.strays.iter().map(|(name, _)| json!(name)).collect();
    let expected: Vec<_> = strays.iter().map(|stray| stray["metadata"]["name"].clone()).collect();
    assert_eq!(names, expected);
    assert_eq!(listed.strays[0].1.as_ref().unwrap().name, "web");
}

#[test]
fn files_that_were_left_out_are_noted_for_people() {
    let mut stored = stored();
    let chart = json!({"metadata": {"name": "site"}, "files": [{"name": "a", "data": noise(1_500_000)}]});
    stored.release.chart = Some(serde_json::value::to_raw_value(&chart).unwrap());
    let (record, chunks) = written(&mut stored);
    assert!(chunks.is_empty());
    assert_eq!(record["metadata"]["annotations"]["helm.pilothouse.dev/left-out"], "files");
    let read = Stored::read(&record).unwrap();
    assert_eq!(read.release.chart_name().unwrap().name, "site");
}
