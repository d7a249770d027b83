//! `template --dry-run=server` on a real API server.

use pilothouse_testbed::Cluster;

use super::{Place, place};

/// What is refused, after `Error: `.
fn refused(place: &Place, cluster: &Cluster, template: &str, flags: &[&str]) -> Result<(), String> {
    place.write("web/templates/config.yaml", template);
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let arguments = [&["template", "rel", "./web", "--dry-run=server", &kubeconfig], flags].concat();
    let output = place.run(&arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(told.trim_start_matches("Error: ").trim().to_owned()) }
}

#[test]
fn objects_are_held_against_the_cluster() {
    let Some(place) = place() else { return };
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        return eprintln!("SKIPPED: PILOTHOUSE_NO_CLUSTER is set");
    }
    let cluster = Cluster::shared().unwrap();
    let check = |template: &str, flags: &[&str]| refused(&place, cluster, template, flags);
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    assert_eq!(check(config_map, &[]), Ok(()));
    let unknown = |name: &str| {
        format!(
            "resource mapping not found for name: \"{name}\" namespace: \"\" from \"\": no matches for kind \"Foo\" in version \
             \"x.y/v1\"\nensure CRDs are installed first"
        )
    };
    let foo = |name: &str| format!("apiVersion: x.y/v1\nkind: Foo\nmetadata: {{name: {name}}}\n");
    let build = "unable to build kubernetes objects from release manifest: ";
    assert_eq!(check(&foo("a"), &[]), Err(format!("{build}{}", unknown("a"))));
    assert_eq!(
        check(&format!("{}---\n{}", foo("a"), foo("b")), &[]),
        Err(format!("{build}[{}, {}]", unknown("a"), unknown("b")))
    );
    assert_eq!(
        check("metadata: {name: a}\n", &[]),
        Err(format!(
            "{build}error validating \"\": error validating data: [apiVersion not set, kind not set]"
        ))
    );
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    let foreign = check(namespace, &[]).unwrap_err();
    let want = "unable to continue with install: Namespace \"default\" in namespace \"\" exists and cannot be imported into the \
                current release: invalid ownership metadata; label validation error: missing key \
                \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; ";
    assert!(foreign.starts_with(want), "{foreign}");
    assert_eq!(check(namespace, &["--take-ownership"]), Ok(()));
    assert_eq!(check(namespace, &["--is-upgrade"]), Ok(()));
    let offline = check("greeting: hello\n", &["--dry-run=client"]);
    assert_eq!(offline, Ok(()), "without a cluster nothing is held against it");
}

#[test]
fn lookups_without_a_namespace_find_what_helm_finds() {
    let Some(place) = place() else { return };
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        return eprintln!("SKIPPED: PILOTHOUSE_NO_CLUSTER is set");
    }
    let cluster = Cluster::shared().unwrap();
    let template = r#"
one: {{ lookup "v1" "ConfigMap" "" "extension-apiserver-authentication" | toJson }}
none: {{ lookup "v1" "ConfigMap" "kube-system" "nobody" | toJson }}
all: {{ (lookup "v1" "ConfigMap" "" "").kind }}
{{- range (lookup "v1" "ConfigMap" "" "").items }}
{{- if eq .metadata.name "extension-apiserver-authentication" }}
in: {{ .metadata.namespace }}
{{- end }}
{{- end }}
wide: {{ (lookup "v1" "Namespace" "nowhere" "kube-system").metadata.name }}
"#;
    let configured = format!(
        "{{{{- if false }}}}{{{{ end }}}}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:{}",
        template.replace('\n', "\n  ")
    );
    place.write("web/templates/config.yaml", &configured);
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let arguments = ["template", "rel", "./web", "--dry-run=server", &kubeconfig];
    let ours = place.run(&arguments);
    let mut helm = cluster.helm_command().unwrap();
    let theirs = helm.current_dir(place.path()).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!((text(&ours.stdout), text(&ours.stderr)), (text(&theirs.stdout), text(&theirs.stderr)));
    let said = text(&ours.stdout);
    assert!(
        said.contains("one: {}") && said.contains("in: kube-system") && said.contains("all: ConfigMapList"),
        "{said}"
    );
}
