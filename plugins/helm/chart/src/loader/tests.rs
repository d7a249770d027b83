use super::*;
use crate::testing::{chart, shown};
use flate2::{Compression, write::GzEncoder};

const CHILD: &str = "apiVersion: v2\nname: child\nversion: 1.0.0\n";

fn load(files: &[(&str, &str)]) -> Result<(Chart, Warnings), String> {
    let mut warnings = Warnings::new();
    let files = files.iter().map(|(path, text)| File::new(*path, text)).collect();
    let chart = load_directory(files, &mut warnings).map_err(|error| error.to_string())?;
    Ok((chart, warnings))
}

fn tgz(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("dir/{path}"), *data).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn names(files: &[File]) -> Vec<&str> {
    files.iter().map(|file| &*file.name).collect()
}

#[test]
fn files_go_where_they_belong() {
    let chart = chart(
        "demo",
        &[
            ("values.yaml", "a: 1"),
            ("values.schema.json", "{}"),
            ("templates/b.yaml", "b"),
            ("templates/a/c.yaml", "c"),
            ("crds/crd.yaml", "crd"),
            ("README.md", "read me"),
            ("Chart.lock", "digest: x"),
            ("charts/child/Chart.yaml", CHILD),
            ("charts/child.tgz.prov", "signature"),
            ("charts/_off/Chart.yaml", "broken: ["),
            ("charts/.off", ""),
        ],
    );
    assert_eq!(shown(chart.values.as_ref().unwrap()), "{a:1}");
    assert_eq!(names(&chart.templates), ["templates/a/c.yaml", "templates/b.yaml"]);
    assert_eq!(names(&chart.files), ["README.md", "charts/child.tgz.prov", "crds/crd.yaml"]);
    assert_eq!(chart.lock.as_ref().unwrap().digest, "x");
    assert_eq!(chart.schema.as_deref(), Some(&b"{}"[..]));
    assert_eq!(chart.dependencies.len(), 1);
    assert_eq!(chart.raw.len(), 12);
}

#[test]
fn ignored_files_are_left_out() {
    let chart = chart(
        "demo",
        &[
            (".helmignore", "*.bak\nci/\n"),
            ("templates/.hidden.yaml", "x"),
            ("templates/a.yaml", "a"),
            ("templates/a.yaml.bak", "x"),
            ("ci/values.yaml", "x"),
        ],
    );
    assert_eq!(names(&chart.templates), ["templates/a.yaml"]);
    assert_eq!(names(&chart.files), [".helmignore"]);
}

#[test]
fn charts_v1_take_their_dependencies_from_requirements_yaml() {
    let requirements = ("requirements.yaml", "dependencies: [{name: child, version: '1'}]");
    let (chart, warnings) = load(&[
        ("Chart.yaml", "name: demo\nversion: 1.0.0"),
        requirements,
        ("requirements.lock", "digest: z"),
    ])
    .unwrap();
    assert_eq!(chart.metadata.api_version, "v1");
    assert_eq!(chart.metadata.dependencies().next().unwrap().name, "child");
    assert_eq!(chart.lock.as_ref().unwrap().digest, "z");
    assert_eq!(names(&chart.files), ["requirements.lock", "requirements.yaml"]);
    assert!(warnings.is_empty());

    let (chart, warnings) =
        load(&[("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0"), requirements]).unwrap();
    assert_eq!(chart.metadata.dependencies().count(), 1);
    assert!(chart.files.is_empty());
    assert!(
        warnings[0]
            .to_string()
            .starts_with("Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\".")
    );
}

#[test]
fn archives_in_charts_are_unpacked_and_loaded() {
    let inner = tgz(&[("Chart.yaml", CHILD.as_bytes()), ("templates/a.yaml", b"a")]);
    let outer = tgz(&[
        ("Chart.yaml", b"apiVersion: v2\nname: top\nversion: 1.0.0\n"),
        ("charts/child-1.0.0.tgz", &inner),
    ]);
    let chart = load_archive(&outer, &mut Warnings::new()).unwrap();
    assert_eq!(chart.dependencies[0].name(), "child");
    assert_eq!(names(&chart.dependencies[0].templates), ["templates/a.yaml"]);
}

#[test]
fn values_files_may_have_several_documents() {
    let chart = chart("demo", &[("values.yaml", "a: {x: 1, w: 1}\n---\na: {w: 2}\n--- # more\nb: 3\n")]);
    assert_eq!(shown(chart.values.as_ref().unwrap()), "{a:{w:2,x:1},b:3}");
}

#[test]
fn broken_charts_are_refused_in_helms_words() {
    const GOOD: (&str, &str) = ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n");
    for (files, want) in [
        (vec![("values.yaml", "a: 1")], "Chart.yaml file is missing"),
        (vec![("Chart.yaml", "apiVersion: v3\nname: a")], "validation: chart.metadata.version is required"),
        (vec![("Chart.yaml", "apiVersion: v9\nname: a\nversion: 1.0.0")], "unsupported chart version"),
        (vec![("Chart.yaml", "apiVersion: v9\nname: [a]")], "unsupported chart version"),
        (vec![("Chart.yaml", "APIversion: 2")], "unsupported chart version"),
        (vec![(".helmignore", "["), ("Chart.yaml", "apiVersion: v9")], "unsupported chart version"),
        (vec![(".helmignore", "Chart.yaml"), ("Chart.yaml", "apiVersion: v9")], "unsupported chart version"),
        (vec![(".helmignore", "Chart.yaml"), GOOD], "Chart.yaml file is missing"),
        (
            vec![("Chart.yaml", "[a]")],
            "cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type loader.chartBase",
        ),
        (
            vec![("Chart.yaml", "apiVersion: [1]")],
            "cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .apiVersion of type string",
        ),
        (
            vec![
                ("Chart.yaml", "apiVersion: v3\nname: a\nversion: 1.0.0"),
                ("Chart.lock", "dependencies: [5]"),
            ],
            "cannot load Chart.lock: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into .dependencies.0 of type v3.Dependency",
        ),
        (
            vec![GOOD, ("Chart.lock", "dependencies: [5]")],
            "cannot load Chart.lock: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into .dependencies.0 of type v2.Dependency",
        ),
        (
            vec![("Chart.yaml", "apiVersion: v2\nversion: 1.0.0")],
            "validation: chart.metadata.name is required",
        ),
        (
            vec![GOOD, ("values.yaml", "[1]")],
            "cannot load values.yaml: cannot unmarshal yaml document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            vec![GOOD, ("values.yaml", "a: 1\n--- b: 2\n")],
            "cannot load values.yaml: error reading yaml document: invalid Yaml document separator: b: 2",
        ),
        (
            vec![GOOD, ("charts/README.md", "text")],
            "error unpacking subchart README.md in demo: Chart.yaml file is missing",
        ),
        (
            vec![GOOD, ("charts/c.tgz", "text that is no archive")],
            "error unpacking subchart c.tgz in demo: gzip: invalid header",
        ),
        (vec![GOOD, ("charts/c.tgz", "text")], "error unpacking subchart c.tgz in demo: unexpected EOF"),
        (vec![GOOD, ("charts/c.tgz", "")], "error unpacking subchart c.tgz in demo: EOF"),
        (
            vec![GOOD, ("charts/c.tgz/Chart.yaml", "text")],
            "error unpacking subchart tar in demo: expected c.tgz, got c.tgz/Chart.yaml",
        ),
        (vec![GOOD, (".helmignore", "a/**")], "double-star (**) syntax is not supported"),
    ] {
        assert_eq!(load(&files).err().as_deref(), Some(want), "{files:?}");
    }
}

#[test]
fn charts_inside_charts_end_somewhere() {
    let mut data = tgz(&[("Chart.yaml", CHILD.as_bytes())]);
    for _ in 0..=MAX_CHART_DEPTH {
        data = tgz(&[("Chart.yaml", CHILD.as_bytes()), ("charts/c.tgz", &data)]);
    }
    let error = load_archive(&data, &mut Warnings::new()).unwrap_err().to_string();
    assert!(error.ends_with("charts are nested deeper than 64"), "{error}");
}

#[test]
fn release_names_follow_kubernetes() {
    for name in ["rel", "a", "a-b.c", "0", &"x".repeat(53)] {
        assert!(validate_release_name(name).is_ok(), "{name}");
    }
    for name in ["-a", "a-", "A", "a_b", "a..b", &"x".repeat(54)] {
        let error = validate_release_name(name).unwrap_err().to_string();
        assert!(error.contains("invalid release name, must match regex"), "{name}");
    }
    let error = validate_release_name("").unwrap_err().to_string();
    assert_eq!(error, "release name check failed: release name \"\": no name provided");
}

#[test]
fn charts_v3_are_loaded_with_what_is_within_but_know_no_requirements() {
    let chart = chart(
        "demo",
        &[
            ("Chart.yaml", "apiVersion: v3\nname: demo\nversion: 1.0.0\n"),
            ("requirements.yaml", "dependencies: [{name: gone, version: 1.0.0}]\n"),
            ("charts/kid/Chart.yaml", "name: kid\nversion: 1.0.0\n"),
        ],
    );
    assert_eq!(chart.metadata.dependencies, None);
    assert_eq!(names(&chart.files), ["requirements.yaml"]);
    assert_eq!(chart.dependencies[0].metadata.api_version, "v3");
}
