//! What is printed for several charts, as the real helm 4.3.1 prints it.

use super::*;

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

fn directory(files: &[(&str, &str)]) -> Directory {
    let files = files.iter().map(|(name, text)| File::new(*name, text)).collect();
    Directory { path: "/work/c".to_owned(), files, ..Directory::default() }
}

fn options(flags: &str) -> LintOptions {
    let has = |flag: &str| flags.contains(flag);
    super::super::options::parse(
        &serde_json::json!({
            "charts": [], "namespace": "default", "kubeVersion": "", "strict": has("strict"), "quiet": has("quiet"),
            "withSubcharts": false, "skipSchemaValidation": false, "values": {},
        })
        .to_string(),
    )
    .unwrap()
}

fn printed(charts: Vec<Named>, flags: &str) -> (String, Option<String>) {
    let mut answer = CommandAnswer::default();
    let settings = LintSettings::default();
    let failure = told(charts, &Map::new(), &settings, &options(flags), &mut answer).err();
    (String::from_utf8(answer.output).unwrap(), failure)
}

fn fine() -> Named {
    let files = [("Chart.yaml", CHART), ("values.yaml", ""), ("templates/a.yaml", "")];
    ("fine".to_owned(), Ok(directory(&files)))
}

fn warned() -> Named {
    ("warned".to_owned(), Ok(directory(&[("Chart.yaml", CHART), ("values.yaml", "")])))
}

fn missing() -> Named {
    ("./gone/".to_owned(), with_chart_yaml("./gone/", directory(&[])))
}

#[test]
fn charts_are_told_one_after_the_other_and_counted() {
    let (out, failure) = printed(vec![fine(), warned(), missing()], "");
    assert_eq!(
        out,
        "==> Linting fine\n[INFO] Chart.yaml: icon is recommended\n\n==> Linting warned\n[INFO] Chart.yaml: icon is recommended\n[WARNING] templates/: directory does not exist\n\n==> Linting ./gone/\nError unable to check Chart.yaml file in chart: stat gone/Chart.yaml: no such file or directory\n\n"
    );
    assert_eq!(failure.as_deref(), Some("3 chart(s) linted, 1 chart(s) failed"));
}

#[test]
fn a_warning_is_a_failure_only_when_strict() {
    let (out, failure) = printed(vec![warned()], "");
    assert!(out.ends_with("exist\n\n1 chart(s) linted, 0 chart(s) failed\n"), "{out}");
    assert_eq!(failure, None);
    let (out, failure) = printed(vec![warned()], "strict");
    assert!(out.ends_with("exist\n\n"), "{out}");
    assert_eq!(failure.as_deref(), Some("1 chart(s) linted, 1 chart(s) failed"));
}

#[test]
fn quiet_tells_warnings_and_errors_only() {
    assert_eq!(printed(vec![fine()], "quiet"), (String::new(), None));
    let (out, failure) = printed(vec![fine(), warned()], "quiet");
    assert_eq!(
        out,
        "==> Linting warned\n[WARNING] templates/: directory does not exist\n\n2 chart(s) linted, 0 chart(s) failed\n"
    );
    assert_eq!(failure, None);
}

#[test]
fn charts_inside_are_found_at_any_depth_in_the_order_of_the_walk() {
    let parent = directory(&[
        ("Chart.yaml", CHART),
        ("charts/q/charts/r/Chart.yaml", CHART),
        ("charts/q/charts/b.tar.gz", "no archive at all"),
        ("charts/q/Chart.yaml", CHART),
        ("charts/q/values.yaml", "a: 1"),
        ("charts/a.tgz", "no"),
        ("charts/MyChart.yaml", "no chart"),
        ("Xcharts/x/Chart.yaml", CHART),
    ]);
    let found = subcharts("./z/", &parent);
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["z/charts/a.tgz", "z/charts/q", "z/charts/q/charts/b.tar.gz", "z/charts/q/charts/r"]);
    let outcome = |at: usize| found.get(at).map(|(_, outcome)| outcome.as_ref().map_err(String::as_str));
    assert_eq!(outcome(0).unwrap().unwrap_err(), "unable to extract tarball: unexpected EOF");
    assert_eq!(outcome(2).unwrap().unwrap_err(), "unable to extract tarball: gzip: invalid header");
    let inner = outcome(1).unwrap().unwrap();
    assert_eq!(inner.path, "/work/c/charts/q");
    let files: Vec<_> = inner.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["charts/r/Chart.yaml", "charts/b.tar.gz", "Chart.yaml", "values.yaml"]);
}

#[test]
fn a_version_of_kubernetes_that_is_none_is_refused() {
    let asked = LintOptions { kube_version: "x".to_owned(), ..options("") };
    let refused = settings(&asked).unwrap_err();
    assert_eq!(refused, "invalid kube version 'x': could not parse \"x\" as version");
}
