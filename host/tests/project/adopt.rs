//! `pilothouse adopt`.

use std::fs;
use std::path::Path;

use super::{Place, kubectl, listing, place};

/// The real project of operator-sdk 1.11, copied.
fn playerstats() -> Option<Place> {
    let place = place()?;
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/playerstats-operator");
    if !corpus.is_dir() {
        pilothouse_testbed::skip("no ../shared/corpus/playerstats-operator beside the checkout");
        return None;
    }
    for (path, bytes) in listing(&corpus) {
        let target = place.project().join(path);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
    Some(place)
}

#[test]
fn a_real_project_is_shown_then_changed_then_left_as_it_is() {
    let Some(place) = playerstats() else { return };
    let before = listing(&place.project());
    let shown =
        place.printed(&["adopt", "--dry-run", ".", "--operator-image", "registry.example/helm-operator:v1"]);
    assert_eq!(listing(&place.project()), before, "a dry run changes nothing");
    assert!(shown.contains("-FROM quay.io/operator-framework/helm-operator:v1.11.0\n+FROM registry.example/helm-operator:v1\n"), "{shown}");
    assert!(shown.contains("-      - name: kube-rbac-proxy\n"), "{shown}");
    let adopt = ["adopt", ".", "--operator-image", "registry.example/helm-operator:v1"];
    let told = place.printed(&adopt);
    assert!(told.contains("changed Dockerfile\n") && !told.contains("left alone"), "{told}");
    let manager = place.text("config/manager/manager.yaml");
    assert!(
        manager.contains("terminationGracePeriodSeconds: 30") && !manager.contains("cpu: 200m"),
        "{manager}"
    );
    let crd = place.text("config/crd/bases/charts.quay.io_player-stats.yaml");
    assert!(
        crd.contains("additionalPrinterColumns:")
            && crd.contains("x-kubernetes-preserve-unknown-fields: true"),
        "{crd}"
    );
    let role = place.text("config/rbac/role.yaml");
    assert!(role.contains("  - ingresses\n") && role.contains("  - customresourcedefinitions\n"), "{role}");
    let after = listing(&place.project());
    assert!(place.printed(&adopt).contains("nothing to change"));
    assert_eq!(listing(&place.project()), after);
    let Some(kubectl) = kubectl() else { return };
    let all = place.built(&kubectl, "config/default");
    assert!(all.contains("- --metrics-require-rbac\n") && !all.contains("kube-rbac-proxy"), "{all}");
}

#[test]
fn a_kind_can_be_added_to_a_project_that_came_over() {
    let Some(place) = playerstats() else { return };
    place.printed(&["adopt"]);
    place.printed(&["create", "api", "--helm-chart", "../web"]);
    let watches = place.text("watches.yaml");
    assert!(watches.contains("kind: Player-stats") && watches.contains("kind: Web"), "{watches}");
    assert!(place.text("config/samples/kustomization.yaml").contains("- charts_v1alpha1_web.yaml\n"));
}

#[test]
fn what_is_no_project_and_what_cannot_be_read_is_said() {
    let Some(place) = place() else { return };
    let (code, said) = place.refused(&["adopt"]);
    assert_eq!((code, said.contains("watches.yaml: ")), (Some(1), true), "{said}");
    place.write(
        "shop-operator/watches.yaml",
        "- group: a.example.com\n  version: v1\n  kind: Web\n  chart: helm-charts/none\n  chrat: x\n",
    );
    place.write("shop-operator/Dockerfile", "FROM quay.io/operator-framework/helm-operator:v1.11.0\n");
    place.write("shop-operator/config/rbac/role.yaml", "rules: {broken\n");
    let output = place.run(&["adopt"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("changed Dockerfile\n"), "{told}");
    assert!(told.contains("left alone config/rbac/role.yaml\n"), "{told}");
    assert!(told.contains("watches.yaml:5:3: ") && told.contains("chrat"), "{told}");
    assert_eq!(place.text("config/rbac/role.yaml"), "rules: {broken\n");
}
