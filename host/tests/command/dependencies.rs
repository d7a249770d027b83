//! `template --dependency-update`.

use std::fs;

use super::{Place, manifest, place, repository};

/// A chart that needs `web`.
fn shop(place: &Place, repository: &str, version: &str) {
    place.write(
        "shop/Chart.yaml",
        &format!(
            "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- name: web\n  version: '{version}'\n  \
             repository: '{repository}'\n"
        ),
    );
    place.write("shop/templates/own.yaml", "own: 1\n");
}

fn rendered() -> String {
    manifest("hello", "rel", "default").replace("web/templates", "shop/charts/web/templates")
        + "\n---\n# Source: shop/templates/own.yaml\nown: 1\n"
}

const UPDATE: [&str; 4] = ["template", "rel", "./shop", "--dependency-update"];

#[test]
fn a_chart_beside_is_packed_locked_and_rendered_and_the_next_time_nothing_is_missing() {
    let Some(place) = place() else { return };
    shop(&place, "file://../web", "^1");
    assert!(
        place.refused(&["template", "rel", "./shop"]).ends_with("missing in charts/ directory: web"),
        "without the flag nothing is fetched"
    );
    place.write("shop/charts/old-1.0.0.tgz", "");
    fs::write(place.path().join("shop/charts/old-1.0.0.tgz"), old_chart(&place)).unwrap();
    assert_eq!(place.printed(&UPDATE), format!("Saving 1 charts\nDeleting outdated charts\n{}", rendered()));
    let charts: Vec<_> = fs::read_dir(place.path().join("shop/charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(charts, ["web-1.0.0.tgz"]);
    let lock = fs::read_to_string(place.path().join("shop/Chart.lock")).unwrap();
    let want = "dependencies:\n- name: web\n  repository: file://../web\n  version: 1.0.0\ndigest: sha256:";
    assert!(lock.starts_with(want), "{lock}");
    assert_eq!(place.printed(&UPDATE), rendered());
    fs::remove_dir_all(place.path().join("shop/charts")).unwrap();
    place.printed(&UPDATE);
    let again = fs::read_to_string(place.path().join("shop/Chart.lock")).unwrap();
    assert_eq!(again, lock, "a lock that says the same stays");
}

fn old_chart(place: &Place) -> Vec<u8> {
    place.write("old/Chart.yaml", "apiVersion: v2\nname: old\nversion: 1.0.0\n");
    let packed =
        std::process::Command::new("tar").args(["cz", "old"]).current_dir(place.path()).output().unwrap();
    packed.stdout
}

#[test]
fn what_cannot_be_had_is_told() {
    let Some(place) = place() else { return };
    for (repository, version, said) in [
        ("file://../none", "1.0.0", "/none not found"),
        (
            "file://../web",
            "^2",
            "can't get a valid version for 1 subchart(s): \"web\" (repository \"file://../web\", version \"^2\"). Make sure a \
             matching chart version exists in the repo, or change the version constraint in Chart.yaml",
        ),
        (
            "file://../web",
            "one",
            "dependency \"web\" has an invalid version/constraint format: improper constraint: \"one\"",
        ),
        ("@unknown", "1.0.0", "no repository definition for @unknown. Please add them via 'helm repo add'"),
        ("", "1.0.0", "/shop/charts/web not found"),
    ] {
        shop(&place, repository, version);
        let refused = place.refused(&UPDATE);
        assert!(refused.ends_with(said), "{repository} {version}: {refused}");
    }
    assert!(!place.path().join("shop/Chart.lock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_is_fetched_from_repositories_that_are_known_and_unknown() {
    let Some(place) = place() else { return };
    let url = repository(place.archive("web-1.0.0.tgz"), "").await;
    let flags = ["--repository-config=repositories.yaml", "--repository-cache=cache"];
    let update = [&UPDATE[..], &flags].concat();
    shop(&place, &url, ">=1.0.0");
    let saved = format!("Saving 1 charts\nDownloading web from repo {url}\nDeleting outdated charts\n");
    assert_eq!(
        place.printed(&update),
        format!(
            "Getting updates for unmanaged Helm repositories...\n...Successfully got an update from the {url:?} chart \
             repository\n{saved}{}",
            rendered()
        )
    );
    fs::remove_dir_all(place.path().join("shop")).unwrap();
    place.write("repositories.yaml", &format!("repositories:\n- name: my\n  url: {url}\n"));
    shop(&place, "@my", "1.x");
    assert_eq!(
        place.printed(&update),
        format!(
            "Hang tight while we grab the latest from your chart repositories...\n...Successfully got an update from the \
             \"my\" chart repository\nUpdate Complete. ⎈Happy Helming!⎈\n{saved}{}",
            rendered()
        )
    );
    let lock = fs::read_to_string(place.path().join("shop/Chart.lock")).unwrap();
    assert!(lock.contains(&format!("repository: {url}\n  version: 1.0.0\n")), "{lock}");
    fs::remove_dir_all(place.path().join("shop/charts")).unwrap();
    shop(&place, "@my", "2.x");
    assert!(place.refused(&update).contains("can't get a valid version for 1 subchart(s): \"web\""));
}
