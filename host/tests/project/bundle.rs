//! `pilothouse bundle`.

use std::fs;

use super::{kubectl, paths, place};

#[test]
fn a_bundle_is_made_of_what_kubectl_puts_together_and_again_over_itself() {
    let Some(place) = place() else { return };
    let Some(kubectl) = kubectl() else { return };
    place.printed(&["init", "--domain", "example.com", "--helm-chart", "../web"]);
    let program = format!("{} kustomize", kubectl.display());
    let flags = ["bundle", "--version", "1.2.3", "--channels", "alpha,stable", "--kustomize", &program];
    let told = place.printed(&flags);
    assert!(told.contains("bundle/manifests/shop-operator.clusterserviceversion.yaml"), "{told}");
    let bundle = place.project().join("bundle");
    assert_eq!(
        paths(&bundle),
        [
            "manifests/charts.example.com_webs.yaml",
            "manifests/shop-operator-controller-manager-metrics-service_v1_service.yaml",
            "manifests/shop-operator-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "manifests/shop-operator-web-admin-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "manifests/shop-operator-web-editor-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "manifests/shop-operator-web-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
            "manifests/shop-operator.clusterserviceversion.yaml",
            "metadata/annotations.yaml",
            "tests/scorecard/config.yaml",
        ]
    );
    let csv = place.text("bundle/manifests/shop-operator.clusterserviceversion.yaml");
    for part in [
        "name: shop-operator.v1.2.3\n",
        "capabilities: Seamless Upgrades\n",
        "\"kind\": \"Web\"",
        "clusterPermissions:",
    ] {
        assert!(csv.contains(part), "{part}: {csv}");
    }
    assert!(place.text("bundle/tests/scorecard/config.yaml").contains("olm-bundle-validation"));
    assert!(place.text("bundle.Dockerfile").contains("channels.v1=alpha,stable\n"));
    fs::write(bundle.join("manifests/old.yaml"), "").unwrap();
    assert!(place.printed(&flags).contains("bundle/manifests/old.yaml is not of this project any more"));
    let (code, said) = place.refused(&[&flags[..], &["--overwrite=false"]].concat());
    assert_eq!((code, said.contains("bundle is there already")), (Some(2), true), "{said}");
}

#[test]
fn a_bundle_cannot_be_made_of_nothing() {
    let Some(place) = place() else { return };
    let (_, said) = place.refused(&["bundle"]);
    assert!(said.contains("is no project"), "{said}");
    place.printed(&["init", "--domain", "example.com"]);
    place.write("objects.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n");
    for (arguments, words) in [
        (&["bundle", "--input", "../objects.yaml"][..], "no ClusterServiceVersion"),
        (&["bundle", "--input", "../none.yaml"], "../none.yaml: "),
        (&["bundle", "--input", "../objects.yaml", "--version", "v1"], "version \"v1\" is none"),
        (&["bundle", "--input", "../objects.yaml", "--package", "A_B"], "project name \"A_B\""),
        (&["bundle", "--input", "../objects.yaml", "--output-dir", "../out"], "below the project"),
        (&["bundle", "--kustomize", "no-such-program build"], "there is no program no-such-program"),
    ] {
        let (_, said) = place.refused(arguments);
        assert!(said.contains(words), "{arguments:?} {said}");
    }
}
