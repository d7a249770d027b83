use super::*;
use crate::{
    hook::HookEvent,
    order::{INSTALL_ORDER, UNINSTALL_ORDER},
};

fn documents(stream: &str) -> Vec<&str> {
    split_manifests(stream).collect()
}

#[test]
fn streams_split_at_dashes_in_the_first_column() {
    for (stream, want) in [
        ("a: 1\n---\nb: 2\n", vec!["a: 1\n", "b: 2\n"]),
        ("---\na: 1\n---\n---\n  \n---\nb: 2", vec!["a: 1\n", "b: 2"]),
        ("\n\n  a: 1\n", vec!["a: 1\n"]),
        ("--- \t\na: 1\n", vec!["a: 1\n"]),
        ("---apiVersion: v1\nkind: X\n", vec!["apiVersion: v1\nkind: X\n"]),
        ("--- # comment\na: 1\n", vec!["# comment\na: 1\n"]),
        ("----\na: 1\n", vec!["-\na: 1\n"]),
        ("a: 1\n------\nb: 2\n", vec!["a: 1\n", "---\nb: 2\n"]),
        ("------", vec!["---"]),
        ("a: |\n  ---\nb: x---\n", vec!["a: |\n  ---\nb: x---\n"]),
        ("a: 1\r\n---\r\nb: 2\r\n", vec!["a: 1\r\n", "b: 2\r\n"]),
        ("", vec![]),
        (" \n---\n", vec![]),
    ] {
        assert_eq!(documents(stream), want, "{stream:?}");
    }
}

fn sorted(files: &[(&str, &str)]) -> Sorted {
    sort_manifests(files.iter().copied(), INSTALL_ORDER, &mut Vec::new()).unwrap()
}

fn kinds(manifests: &[Manifest]) -> Vec<&str> {
    manifests.iter().map(|manifest| &*manifest.head.kind).collect()
}

#[test]
fn manifests_are_sorted_by_kind_then_by_path_and_place() {
    let files = [
        ("c/templates/z.yaml", "kind: Deployment\nmetadata: {name: z}"),
        ("c/templates/b.yaml", "kind: Zoo\n---\nkind: Service\n---\nkind: Ape\n---\nkind: Deployment"),
        ("c/templates/_partial.yaml", "kind: Never"),
        ("c/templates/empty.yaml", "  \n"),
        ("c/templates/a.yaml", "kind: Namespace"),
    ];
    let sorted = sorted(&files);
    assert_eq!(kinds(&sorted.manifests), ["Namespace", "Service", "Deployment", "Deployment", "Ape", "Zoo"]);
    assert_eq!(sorted.manifests[2].path, "c/templates/b.yaml");
    assert_eq!(sorted.manifests[3].head.name, "z");
    let reverse = sort_manifests(files, UNINSTALL_ORDER, &mut Vec::new()).unwrap();
    assert_eq!(kinds(&reverse.manifests), ["Service", "Deployment", "Deployment", "Namespace", "Ape", "Zoo"]);
}

#[test]
fn a_document_of_comments_is_kept_as_it_stands() {
    let sorted = sorted(&[("c/templates/a.yaml", "# only a remark\n")]);
    assert_eq!(sorted.manifests[0].content, "# only a remark\n");
    assert_eq!(sorted.manifests[0].head, Head::default());
}

#[test]
fn hooks_are_read_from_annotations_of_any_scalar_type() {
    let manifest = r#"
kind: Job
metadata:
  name: h
  annotations:
    helm.sh/hook: Pre-Install, test-success
    helm.sh/hook-weight: -5
    helm.sh/hook-delete-policy: "Hook-Succeeded ,before-hook-creation"
    helm.sh/hook-output-log-policy: hook-failed
    other: true
"#;
    let sorted = sorted(&[("c/templates/h.yaml", manifest)]);
    assert!(sorted.manifests.is_empty());
    let hook = &sorted.hooks[0];
    assert_eq!((&*hook.name, &*hook.kind, hook.weight), ("h", "Job", -5));
    assert_eq!(hook.events, [HookEvent::PreInstall, HookEvent::Test]);
    assert_eq!(hook.delete_policies, ["hook-succeeded", "before-hook-creation"]);
    assert_eq!(hook.output_log_policies, ["hook-failed"]);
    assert!(hook.runs_at(HookEvent::Test) && !hook.runs_at(HookEvent::PostInstall));
}

#[test]
fn a_weight_that_is_no_number_counts_as_zero() {
    let manifest = "metadata: {annotations: {helm.sh/hook: test, helm.sh/hook-weight: heavy}}";
    assert_eq!(sorted(&[("a", manifest)]).hooks[0].weight, 0);
}

#[test]
fn a_hook_with_an_unknown_event_is_dropped_and_reported() {
    let mut warnings = Vec::new();
    let manifest = "metadata: {annotations: {helm.sh/hook: 'pre-install,crd-install'}}";
    let sorted = sort_manifests([("a", manifest)], INSTALL_ORDER, &mut warnings).unwrap();
    assert_eq!(sorted, Sorted::default());
    assert_eq!(warnings, ["skipping unknown hooks hookTypes=pre-install,crd-install"]);
}

#[test]
fn broken_documents_are_refused_with_their_path() {
    for (content, want) in [
        (
            "kind: [a]",
            "YAML parse error on c/a.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .kind of type string",
        ),
        (
            "[1, 2]",
            "YAML parse error on c/a.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type util.SimpleHead",
        ),
        (
            "metadata: {annotations: {a: {}}}",
            "YAML parse error on c/a.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go struct field .metadata.annotations.a of type string",
        ),
        (
            "a: b: c",
            "YAML parse error on c/a.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
        ),
    ] {
        let error = sort_manifests([("c/a.yaml", content)], INSTALL_ORDER, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}
