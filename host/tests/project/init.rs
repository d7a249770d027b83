//! `pilothouse init`.

use std::fs;
use std::process::Command;

use super::{bare, kubectl, listing, paths, place};

#[test]
fn a_project_without_a_kind_has_every_file_and_can_be_put_together() {
    let place = bare();
    let told = place.printed(&["init", "--plugins", "helm", "--domain", "example.com"]);
    assert!(told.contains("$ pilothouse create api"), "{told}");
    let mut expected: Vec<&str> = include_str!("../../src/project/skeleton/listing.txt").lines().collect();
    expected.insert(4, "PROJECT");
    assert_eq!(paths(&place.project()), expected);
    assert!(place.text("PROJECT").contains("projectName: shop-operator\n"));
    assert!(place.text("Dockerfile").contains("\nFROM pilothouse.dev/helm-operator:v"));
    let Some(kubectl) = kubectl() else { return };
    let all = place.built(&kubectl, "config/default");
    assert!(all.contains("name: shop-operator-controller-manager\n"), "{all}");
}

#[test]
fn a_project_from_a_chart_is_whole_at_once() {
    let Some(place) = place() else { return };
    let told = place.printed(&["init", "--domain", "example.com", "--helm-chart", "../web"]);
    assert!(told.contains("charts.example.com, Kind=Web is there"), "{told}");
    assert!(told.contains("kubectl apply -f config/samples/charts_v1alpha1_web.yaml"), "{told}");
    let paths = paths(&place.project());
    for path in [
        "helm-charts/web/Chart.yaml",
        "helm-charts/web/templates/ingress.yaml",
        "config/crd/bases/charts.example.com_webs.yaml",
        "config/samples/charts_v1alpha1_web.yaml",
        "config/rbac/web_admin_role.yaml",
        "config/rbac/web_editor_role.yaml",
        "config/rbac/web_viewer_role.yaml",
    ] {
        assert!(paths.iter().any(|has| has == path), "{path}: {paths:?}");
    }
    assert!(place.text("watches.yaml").contains("kind: Web\n  chart: helm-charts/web\n"));
    let Some(kubectl) = kubectl() else { return };
    for directory in [
        "crd",
        "rbac",
        "manager",
        "default",
        "prometheus",
        "scorecard",
        "samples",
        "manifests",
        "network-policy",
    ] {
        let built = place.built(&kubectl, &format!("config/{directory}"));
        assert!(built.contains("apiVersion: "), "{directory}: {built}");
    }
    let all = place.built(&kubectl, "config/default");
    assert!(
        all.contains("kind: CustomResourceDefinition") && all.contains("name: webs.charts.example.com"),
        "{all}"
    );
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_written() {
    let place = bare();
    for (arguments, said) in [
        (&["init", "--domain", "Example.com"][..], "domain \"Example.com\" cannot be"),
        (&["init", "--project-name", "My_Operator"], "project name \"My_Operator\" cannot be"),
        (&["init", "--version", "1", "--kind", "A"], "version \"1\" cannot be"),
        (&["init", "--version", "v1", "--kind", "lower"], "kind \"lower\" cannot be"),
        (&["init", "--group", "a_b", "--version", "v1", "--kind", "A"], "group \"a_b\" cannot be"),
        (&["init", "--group", "apps"], "either --kind or --helm-chart is needed"),
        (
            &["init", "--kind", "A", "--helm-chart-repo", "https://x"],
            "--helm-chart-repo can only be used with",
        ),
        (&["init", "--plugins", "go/v4"], "plugin-authoring"),
        (&["init", "--project-version", "2"], "[possible values: 3]"),
        (&["init", "--crd-version", "v1beta1"], "Kubernetes 1.22"),
        (&["init", "--repo", "github.com/x/y"], "--helm-chart-repo"),
        (&["init", "--bogus"], "unexpected argument '--bogus'"),
    ] {
        let (code, words) = place.refused(arguments);
        assert_eq!(code, Some(2), "{arguments:?} {words}");
        assert!(words.contains(said), "{arguments:?} {words}");
    }
}

#[test]
fn a_project_that_is_there_and_files_of_somebody_else_are_not_overwritten() {
    let place = bare();
    fs::write(place.project().join("Makefile"), "mine:\n").unwrap();
    fs::write(place.project().join("README.md"), "mine\n").unwrap();
    let (code, said) = place.refused(&["init"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("these files are there already: Makefile; nothing was written"), "{said}");
    place.printed(&["init", "--force"]);
    assert!(place.text("Makefile").contains("docker-build"));
    assert_eq!(place.text("README.md"), "mine\n");
    let (code, said) = place.refused(&["init"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("is a project already"), "{said}");
}

#[test]
fn where_nobody_may_write_nothing_is_begun() {
    let place = bare();
    // Root may write everywhere but where the kernel says no.
    let output = place.command(&["init", "--project-name", "a"]).current_dir("/proc/self").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("pilothouse: /proc/"), "{said}");
}

#[test]
fn a_chart_that_is_not_to_be_had_leaves_no_half_a_project() {
    let Some(place) = place() else { return };
    place.write("broken/Chart.yaml", "name: [\n");
    place.write("no-archive.tgz", "<html>");
    fs::create_dir(place.path().join("empty")).unwrap();
    for chart in [
        "../none",
        "none",
        "nowhere/none",
        "../empty",
        "../broken",
        "../no-archive.tgz",
        "http://127.0.0.1:1/x.tgz",
    ] {
        let (code, said) = place.refused(&["init", "--helm-chart", chart]);
        assert_eq!(code, Some(1), "{chart}: {said}");
        assert!(said.starts_with("pilothouse: "), "{said}");
    }
    assert!(listing(&place.project()).is_empty());
}

#[test]
fn make_writes_the_image_where_kustomize_looks_for_it() {
    let place = bare();
    place.printed(&["init"]);
    let make = |image: &str| {
        let image = format!("IMG={image}");
        Command::new("make").args(["set-image", &image]).current_dir(place.project()).output()
    };
    let Ok(first) = make("registry.example:5000/shop/operator:1.0") else {
        pilothouse_testbed::skip("no make");
        return;
    };
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let images = |place: &super::Place| {
        let text = place.text("config/manager/kustomization.yaml");
        text.split_once("images:\n").unwrap().1.to_owned()
    };
    let one = "- name: controller\n  newName: registry.example:5000/shop/operator\n  newTag: \"1.0\"\n";
    assert_eq!(images(&place), one);
    assert!(make("controller:latest").unwrap().status.success());
    assert_eq!(images(&place), one, "without IMG it stays");
    make("registry.example/a@sha256:00").unwrap();
    assert_eq!(images(&place), "- name: controller\n  newName: registry.example/a\n  digest: sha256:00\n");
    fs::write(place.project().join("config/manager/kustomization.yaml"), "resources:\n- manager.yaml\n")
        .unwrap();
    let said = String::from_utf8(make("a:b").unwrap().stderr).unwrap();
    assert!(said.contains("no entry with newName"), "{said}");
    assert_eq!(place.text("config/manager/kustomization.yaml"), "resources:\n- manager.yaml\n");
}
