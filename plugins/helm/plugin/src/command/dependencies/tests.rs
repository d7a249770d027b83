use super::*;
use helm_chart::{File, load_directory};

fn chart(files: &[(&str, &str)]) -> Chart {
    load_directory(files.iter().map(|(path, text)| File::new(*path, *text)).collect(), &mut Vec::new())
        .unwrap()
}

#[test]
fn the_digest_of_a_lock_is_helms() {
    let chart = chart(&[(
        "Chart.yaml",
        "apiVersion: v2\nname: one\nversion: 1.0.0\ndependencies:\n- name: lib\n  version: \">=1.0.0 <2\"\n  \
         repository: file://../lib\n  alias: al\n  condition: al.enabled\n  tags: [t]\n  \
         import-values: [{child: x, parent: y}, data]\n",
    )]);
    let requirements: Vec<Dependency> = chart.metadata.dependencies().cloned().collect();
    let locked = Dependency {
        name: "lib".into(),
        version: "1.2.3".into(),
        repository: "file://../lib".into(),
        ..Dependency::default()
    };
    // As `helm template --dependency-update` of 4.3.1 wrote it.
    let want = "sha256:67105c4d886ea8be7de5a81e7031e329ed69904093841f58d1ae230846e55994";
    assert_eq!(digest(&requirements, &[locked]).unwrap(), want);
}

#[test]
fn a_packed_chart_is_the_chart() {
    let chart = chart(&[
        ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("values.yaml", "a: 1 # kept\n"),
        ("templates/a.yaml", "a: {{ .Values.a }}\n"),
        ("README.md", "r"),
        ("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 2.0.0\n"),
    ]);
    let mut files = Vec::new();
    collect(&chart, "", &mut files).unwrap();
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "web/Chart.yaml",
            "web/values.yaml",
            "web/templates/a.yaml",
            "web/README.md",
            "web/charts/db/Chart.yaml"
        ]
    );
    let packed = write_archive(&files, 0).unwrap();
    let again = helm_chart::load_archive(&packed, &mut Vec::new()).unwrap();
    assert_eq!(again.metadata, chart.metadata);
    assert_eq!(again.templates, chart.templates);
    assert_eq!(again.dependencies[0].metadata.version, "2.0.0");
}
