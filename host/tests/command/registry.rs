//! Charts of a real registry.

use pilothouse_testbed::registry::{PASSWORD, Registry, USER};

use super::{Place, manifest, place};

/// The chart in two versions, pushed.
fn pushed(place: &Place, registry: &Registry) {
    for version in ["1.0.0", "1.1.0+b", "2.0.0-rc.1"] {
        place.write("web/Chart.yaml", &format!("apiVersion: v2\nname: web\nversion: {version}\n"));
        place.write("web/values.yaml", &format!("greeting: {version}\n"));
        let name = format!("web-{version}.tgz");
        place.archive(&name);
        registry.push(&place.path().join(name)).unwrap();
    }
}

#[test]
fn a_chart_comes_from_a_registry_by_tag_version_range_and_digest() {
    let Some(place) = place() else { return };
    let registry = Registry::open(&place.path().join("registry")).unwrap();
    pushed(&place, &registry);
    let chart = format!("{}/web", registry.repository());
    let render = |reference: &str, flags: &[&str]| {
        let arguments = [&["template", "rel", reference, "--plain-http"], flags].concat();
        let output = place.run(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (printed, told) = render(&chart, &[]);
    assert_eq!(printed, manifest("1.1.0+b", "rel", "default"));
    let digest = told.lines().find_map(|line| line.strip_prefix("Digest: ")).unwrap().to_owned();
    assert!(told.contains(&format!("Pulled: {}:1.1.0_b\n", chart.trim_start_matches("oci://"))), "{told}");
    for (reference, flags, version) in [
        (format!("{chart}:1.0.0"), &[][..], "1.0.0"),
        (chart.clone(), &["--version", "1.0.0"], "1.0.0"),
        (chart.clone(), &["--version", "~1.0"], "1.0.0"),
        (chart.clone(), &["--devel"], "2.0.0-rc.1"),
        (format!("{chart}@{digest}"), &[], "1.1.0+b"),
    ] {
        assert_eq!(render(&reference, flags).0, manifest(version, "rel", "default"), "{reference} {flags:?}");
    }
    for (reference, flags, said) in [
        (chart.clone(), &["--version", "3.x"][..], "could not locate a version matching"),
        (chart.clone(), &["--version", "3.0.0"], "404 Not Found: manifest unknown"),
        (format!("{chart}:1.0.0"), &["--version", "1.1.0"], "chart reference and version mismatch"),
        (format!("{chart}er"), &[], "404 Not Found"),
    ] {
        let refused = place.refused(&[&["template", "rel", &reference, "--plain-http"], flags].concat());
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_registry_lets_in_whom_it_knows() {
    let Some(place) = place() else { return };
    let registry = Registry::guarded(&place.path().join("registry")).unwrap();
    pushed(&place, &registry);
    place.write("ca.crt", &registry.certificate().unwrap());
    let chart = format!("{}/web", registry.repository());
    let arguments = ["template", "rel", &chart, "--ca-file", "ca.crt", "--username", USER];
    let printed = place.printed(&[&arguments[..], &["--password", PASSWORD]].concat());
    assert_eq!(printed, manifest("1.1.0+b", "rel", "default"));
    let refused = place.refused(&[&arguments[..], &["--password", "wr0ng"]].concat());
    assert!(refused.contains("401 Unauthorized") && !refused.contains("wr0ng"), "{refused}");
    assert!(place.refused(&["template", "rel", &chart]).contains("certificate"));
}
