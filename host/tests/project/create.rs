//! `pilothouse create api`.

use std::fs;
use std::process::Command;

use axum::Router;
use axum::routing::get;

use super::{Place, bare, kubectl, paths, place};

fn project() -> Option<Place> {
    let place = place()?;
    place.printed(&["init", "--domain", "example.com"]);
    Some(place)
}

fn archive(place: &Place, chart: &str) -> Vec<u8> {
    let packed = Command::new("tar").args(["cz", chart]).current_dir(place.path()).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

#[test]
fn a_kind_is_added_and_another_one_beside_it_and_neither_twice() {
    let Some(place) = project() else { return };
    let flags =
        ["create", "api", "--group", "apps", "--version", "v1", "--kind", "Shop", "--helm-chart", "../web"];
    let told = place.printed(&flags);
    assert!(told.contains("apps.example.com, Kind=Shop is there"), "{told}");
    assert!(
        told.contains("  new      helm-charts/web/\n") && told.contains("  changed  PROJECT\n"),
        "{told}"
    );
    let (code, said) = place.refused(&flags);
    assert_eq!(
        (code, said.contains("apps.example.com/v1, Kind=Shop is in this project already")),
        (Some(1), true),
        "{said}"
    );
    let (_, said) = place.refused(&[
        "create",
        "api",
        "--group",
        "apps",
        "--version",
        "v2",
        "--kind",
        "Shop",
        "--helm-chart",
        "../web",
    ]);
    assert!(said.contains("reconciled twice"), "{said}");
    // The same chart behind another kind is the same directory.
    place.printed(&["create", "api", "--group", "other", "--kind", "Shop", "--helm-chart", "../web"]);
    let watches = place.text("watches.yaml");
    assert_eq!(watches.matches("chart: helm-charts/web\n").count(), 2, "{watches}");
    assert!(paths(&place.project()).iter().any(|path| path == "config/rbac/other-shop_editor_role.yaml"));
    let Some(kubectl) = kubectl() else { return };
    let all = place.built(&kubectl, "config/default");
    assert!(
        all.contains("name: shops.apps.example.com") && all.contains("name: shops.other.example.com"),
        "{all}"
    );
}

#[test]
fn rights_and_sample_come_from_the_chart_with_what_hides_behind_conditions() {
    let Some(place) = project() else { return };
    place.printed(&["create", "api", "--helm-chart", "../web"]);
    let role = place.text("config/rbac/role.yaml");
    assert!(role.contains("  - deployments\n") && role.contains("  - ingresses\n"), "{role}");
    assert!(role.contains("# web/templates/ingress.yaml"), "{role}");
    assert!(role.ends_with("#+kubebuilder:scaffold:rules\n"), "{role}");
    let sample = place.text("config/samples/charts_v1alpha1_web.yaml");
    assert!(sample.contains("\n  # How many.\n  replicaCount: 1\n"), "{sample}");
}

#[test]
fn another_chart_of_the_same_name_is_not_overwritten_unless_asked_to() {
    let Some(place) = project() else { return };
    place.printed(&["create", "api", "--helm-chart", "../web"]);
    place.write("other/Chart.yaml", "apiVersion: v2\nname: web\nversion: 2.0.0\n");
    let flags = ["create", "api", "--kind", "Other", "--helm-chart", "../other"];
    let (_, said) = place.refused(&flags);
    assert!(said.contains("helm-charts/web is there already, with another content"), "{said}");
    place.printed(&[&flags[..], &["--force"]].concat());
    assert!(place.text("helm-charts/web/Chart.yaml").contains("2.0.0"));
    assert!(!place.project().join("helm-charts/web/templates").exists());
}

#[test]
fn without_a_chart_there_is_one_to_begin_with() {
    let Some(place) = project() else { return };
    place.printed(&["create", "api", "--group", "apps", "--version", "v1alpha1", "--kind", "AppService"]);
    assert!(place.text("helm-charts/appservice/Chart.yaml").contains("name: appservice\n"));
    assert!(place.text("watches.yaml").contains("  chart: helm-charts/appservice\n"));
    assert!(
        paths(&place.project())
            .iter()
            .any(|path| path == "config/crd/bases/apps.example.com_appservices.yaml")
    );
}

#[test]
fn an_archive_is_unpacked_and_charts_beside_a_chart_are_fetched() {
    let Some(place) = project() else { return };
    fs::write(place.path().join("web-1.0.0.tgz"), archive(&place, "web")).unwrap();
    place.printed(&["create", "api", "--helm-chart", "../web-1.0.0.tgz"]);
    assert!(place.text("helm-charts/web/values.yaml").contains("replicaCount"));
    place.write(
        "shop/Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- name: web\n  version: ^1\n  repository: file://../web\n",
    );
    place.printed(&["create", "api", "--helm-chart", "../shop"]);
    assert!(place.project().join("helm-charts/shop/charts/web-1.0.0.tgz").is_file());
    assert!(!place.path().join("shop/charts").exists(), "the original stays as it was");
    assert!(place.text("config/rbac/role.yaml").contains("Kind: Shop"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_comes_from_a_repository_by_name_version_and_url() {
    let Some(place) = project() else { return };
    let (bytes, again) = (archive(&place, "web"), archive(&place, "web"));
    let index =
        "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.0.0\n    urls: [web-1.0.0.tgz]\n";
    let router = Router::new()
        .route("/index.yaml", get(move || async move { index }))
        .route("/web-1.0.0.tgz", get(move || async move { bytes }))
        .route("/other.tgz", get(move || async move { again }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let from = ["create", "api", "--helm-chart", "web", "--helm-chart-repo", &url];
    let (_, said) = place.refused(&[&from[..], &["--helm-chart-version", "2"]].concat());
    assert!(said.contains("chart \"web\" version \"2\" not found"), "{said}");
    place.printed(&[&from[..], &["--helm-chart-version", "^1"]].concat());
    assert!(place.text("helm-charts/web/Chart.yaml").contains("1.0.0"));
    place.printed(&["create", "api", "--kind", "Direct", "--helm-chart", &format!("{url}/other.tgz")]);
    place.write("repositories.yaml", &format!("repositories:\n- name: my\n  url: {url}\n"));
    place.write("cache/my-index.yaml", index);
    let named = ["--repository-config=../repositories.yaml", "--repository-cache=../cache"];
    place.printed(&[&["create", "api", "--kind", "Named", "--helm-chart", "my/web"], &named[..]].concat());
    assert_eq!(place.text("PROJECT").matches("  kind: ").count(), 3);
}

#[test]
fn there_has_to_be_a_project_of_charts() {
    let place = bare();
    let create = ["create", "api", "--kind", "A", "--version", "v1"];
    let (code, said) = place.refused(&create);
    assert_eq!((code, said.contains("is no project: it has no PROJECT file")), (Some(1), true), "{said}");
    fs::write(place.project().join("PROJECT"), "layout:\n- go.kubebuilder.io/v4\nversion: \"3\"\n").unwrap();
    let (code, said) = place.refused(&create);
    assert_eq!((code, said.contains("go.kubebuilder.io/v4")), (Some(1), true), "{said}");
    let (code, said) = place.refused(&["create", "api", "--controller"]);
    assert_eq!((code, said.contains("watches.yaml")), (Some(2), true), "{said}");
    let (code, _) = place.refused(&["create", "webhook"]);
    assert_eq!(code, Some(2));
}
