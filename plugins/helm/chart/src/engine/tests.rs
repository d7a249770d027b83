use super::*;
use crate::{
    file::File,
    testing::{chart, values},
};
use helm_template::Value;

fn settings() -> RenderSettings {
    RenderSettings::new(Release::install("rel", "demo"))
}

fn render(files: &[(&str, &str)], given: &str) -> Result<Rendered, RenderError> {
    ParsedChart::new(chart("top", files)).render(&values(given), &settings())
}

/// What the one template `templates/a.yaml` writes.
fn written(template: &str, given: &str) -> String {
    let rendered = render(&[("templates/a.yaml", template)], given).unwrap();
    rendered.manifests.into_iter().map(|manifest| manifest.content).collect()
}

fn failure(template: &str, given: &str) -> String {
    render(&[("templates/a.yaml", template)], given).unwrap_err().to_string()
}

const CHILD: &str = "apiVersion: v2\nname: child\nversion: 0.1.0\n";

#[test]
fn templates_see_release_chart_values_capabilities_and_themselves() {
    let template = "a: {{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Revision }} {{ .Release.IsInstall }} {{ .Release.Service }}
b: {{ .Chart.Name }} {{ .Chart.Version }} {{ .Chart.IsRoot }}
c: {{ .Values.x.z }} {{ $.Values.m }}
d: {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has \"apps/v1\" }} {{ .Capabilities.HelmVersion.Version }}
e: {{ .Template.Name }} {{ .Template.BasePath }}
";
    assert_eq!(
        written(template, "x: {z: 1}\nm: 2"),
        "a: rel demo 1 true Helm\nb: top 1.0.0 true\nc: 1 2\nd: 37 v1.37.0 true v4.3.1\ne: top/templates/a.yaml top/templates\n"
    );
}

#[test]
fn types_are_named_as_in_helm_4() {
    let template = "{{ printf \"%T %T %T %T %T\" . .Values .Chart .Files .Capabilities }}: 1";
    let want = "common.Values common.Values map[string]interface {} engine.files *common.Capabilities: 1";
    assert_eq!(written(template, "{}"), want);
}

#[test]
fn missing_values_print_nothing() {
    assert_eq!(written("a: {{ .Values.none }}{{ tpl \"{{ .Values.none }}\" . }}.", "{}"), "a: .");
}

#[test]
fn files_are_read_globbed_and_encoded() {
    let template = r#"get: {{ .Files.Get "conf/a.txt" | printf "%q" }} {{ .Files.Get "none" | printf "%q" }}
lines: {{ range .Files.Lines "conf/a.txt" }}<{{ . }}>{{ end }}
glob:{{ range $path, $_ := .Files.Glob "conf/**.txt" }} {{ $path }}{{ end }}
{{ (.Files.Glob "conf/*").AsConfig }}
{{ (.Files.Glob "conf/a*").AsSecrets }}
"#;
    let files = [
        ("templates/NOTES.txt", template),
        ("conf/a.txt", "one\ntwo\n"),
        ("conf/sub/b.txt", "b"),
        ("conf/c", "c"),
    ];
    let rendered = render(&files, "{}").unwrap();
    assert_eq!(
        rendered.notes,
        "get: \"one\\ntwo\\n\" \"\"\nlines: <one><two>\nglob: conf/a.txt conf/sub/b.txt\na.txt: |\n  one\n  two\nc: c\na.txt: b25lCnR3bwo=\n"
    );
}

#[test]
fn tpl_sees_the_charts_templates_and_keeps_its_own_to_itself() {
    let files = [
        ("templates/_h.tpl", "{{ define \"n\" }}[{{ .Release.Name }}]{{ end }}"),
        (
            "templates/a.yaml",
            "a: {{ tpl .Values.t . }}\nb: {{ tpl \"{{ define `own` }}x{{ end }}{{ include `own` . }}{{ tpl `{{ include \\\"own\\\" . }}` . }}\" . }}",
        ),
    ];
    let rendered = render(&files, "t: '{{ include \"n\" . }}'").unwrap();
    assert_eq!(rendered.manifests[0].content, "a: [rel]\nb: xx");
    let error = failure("{{ tpl \"{{ define `own` }}{{ end }}\" . }}{{ include \"own\" . }}", "{}");
    assert_eq!(
        error,
        "top/templates/a.yaml:1:44\n  executing \"top/templates/a.yaml\" at <include \"own\" .>:\n    error calling include:\ntemplate: no template \"own\" associated with template \"gotpl\""
    );
}

#[test]
fn broken_tpl_texts_are_shown_with_the_text() {
    assert_eq!(
        failure("{{ tpl \"{{ nope }}\" . }}", "{}"),
        "template: top/templates/a.yaml:1:3: executing \"top/templates/a.yaml\" at <tpl \"{{ nope }}\" .>: error calling tpl: cannot parse template \"{{ nope }}\": template: gotpl:1: function \"nope\" not defined"
    );
    assert_eq!(
        failure("{{ tpl \"{{ .Values.x.y.z }}\" . }}", "x: {}"),
        "template: top/templates/a.yaml:1:3: executing \"top/templates/a.yaml\" at <tpl \"{{ .Values.x.y.z }}\" .>: error calling tpl: error during tpl function execution for \"{{ .Values.x.y.z }}\": template: gotpl:1:10: executing \"gotpl\" at <.Values.x.y.z>: nil pointer evaluating interface {}.z"
    );
}

#[test]
fn required_and_fail_end_with_their_message() {
    for template in ["{{ required \"give\\nit\" .Values.x }}", "{{ fail \"give\\nit\" }}"] {
        let at = "execution error at (top/templates/a.yaml:1:3): give\nit";
        assert_eq!(failure(template, "x: ''"), at);
        assert_eq!(failure(template, "{}"), at);
    }
    assert_eq!(
        written("a: {{ required \"x\" .Values.x }}{{ required \"x\" .Values.z }}", "x: false\nz: 0"),
        "a: false0"
    );
}

#[test]
fn a_template_may_not_include_itself_for_ever() {
    let files = [
        ("templates/_h.tpl", "{{ define \"loop\" }}{{ include \"loop\" . }}{{ end }}"),
        ("templates/a.yaml", "{{ include \"loop\" . }}"),
    ];
    let error = render(&files, "{}").unwrap_err().to_string();
    assert!(
        error.contains("rendering template has a nested reference name: loop: unable to execute template"),
        "{error}"
    );
}

#[test]
fn a_parents_definition_replaces_that_of_its_dependency() {
    let files = [
        ("templates/_h.tpl", "{{ define \"who\" }}parent{{ end }}"),
        ("templates/a.yaml", "a: {{ include \"who\" . }}"),
        ("charts/child/Chart.yaml", CHILD),
        ("charts/child/templates/_h.tpl", "{{ define \"who\" }}child{{ end }}"),
        (
            "charts/child/templates/a.yaml",
            "a: {{ include \"who\" . }} {{ .Chart.Name }} {{ .Values.x }} {{ .Values.global.g }}",
        ),
        ("charts/child/values.yaml", "x: 1"),
    ];
    let rendered = render(&files, "child: {x: 2}\nglobal: {g: 3}").unwrap();
    let contents: Vec<_> = rendered.manifests.iter().map(|m| (&*m.path, &*m.content)).collect();
    assert_eq!(
        contents,
        [("top/charts/child/templates/a.yaml", "a: parent child 2 3"), ("top/templates/a.yaml", "a: parent"),]
    );
}

#[test]
fn parents_reach_into_their_subcharts_and_share_their_values() {
    let files = [
        (
            "templates/a.yaml",
            "a: {{ .Subcharts.child.Chart.Name }} {{ .Subcharts.child.Values.x }} {{ eq .Subcharts.child.Values.x .Values.child.x }}",
        ),
        ("charts/child/Chart.yaml", CHILD),
        ("charts/child/values.yaml", "x: 5"),
    ];
    assert_eq!(render(&files, "{}").unwrap().manifests[0].content, "a: child 5 true");
}

#[test]
fn a_library_gives_definitions_only() {
    let files = [
        ("templates/a.yaml", "a: {{ include \"lib\" . }}"),
        ("charts/child/Chart.yaml", "apiVersion: v2\nname: child\nversion: 0.1.0\ntype: library\n"),
        ("charts/child/templates/_h.tpl", "{{ define \"lib\" }}given{{ end }}"),
        ("charts/child/templates/b.yaml", "{{ broken"),
    ];
    let rendered = render(&files, "{}").unwrap();
    assert_eq!(rendered.manifests.len(), 1);
    assert_eq!(rendered.manifests[0].content, "a: given");
}

#[test]
fn notes_are_taken_out_and_those_of_dependencies_shown_on_demand() {
    let files = [
        ("templates/NOTES.txt", "hello {{ .Release.Name }}"),
        ("templates/sub/NOTES.txt", "never"),
        ("charts/child/Chart.yaml", CHILD),
        ("charts/child/templates/NOTES.txt", "from the child"),
    ];
    let rendered = render(&files, "{}").unwrap();
    assert_eq!(rendered.notes, "hello rel");
    assert!(rendered.manifests.is_empty());
    let chart = ParsedChart::new(chart("top", &files));
    let rendered = chart.render(&Map::new(), &RenderSettings { sub_notes: true, ..settings() }).unwrap();
    assert_eq!(rendered.notes, "from the child\nhello rel\nnever");
}

#[test]
fn parse_errors_name_the_place() {
    assert_eq!(
        failure("a: 1\n{{ nope }}", "{}"),
        "parse error at (top/templates/a.yaml:2): function \"nope\" not defined"
    );
    assert_eq!(failure("{{ if }}", "{}"), "parse error at (top/templates/a.yaml:1): missing value for if");
}

#[test]
fn the_chart_may_ask_for_a_version_of_kubernetes() {
    let with = |range: &str| {
        let yaml = format!("apiVersion: v2\nname: top\nversion: 1.0.0\nkubeVersion: '{range}'\n");
        render(&[("Chart.yaml", &yaml)], "{}").map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with(">=1.20.0"), Ok(()));
    assert_eq!(
        with("<1.20.0").unwrap_err(),
        "chart requires kubeVersion: <1.20.0 which is incompatible with Kubernetes v1.37.0"
    );
}

#[derive(Debug)]
struct Cluster;

impl Lookup for Cluster {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Map>, String> {
        match kind {
            "Secret" => {
                Ok(Some([("found", format!("{api_version} {namespace} {name}"))].into_iter().collect()))
            }
            "ConfigMap" => Ok(None),
            other => Err(format!("unable to get apiresource from unstructured: {other}")),
        }
    }
}

#[test]
fn lookup_asks_the_cluster_it_is_given_and_finds_nothing_without_one() {
    let template = "a: {{ (lookup \"v1\" \"Secret\" \"ns\" \"n\").found }}{{ len (lookup \"v1\" \"ConfigMap\" \"\" \"\") }}";
    let chart = ParsedChart::new(chart("top", &[("templates/a.yaml", template)]));
    let asked = RenderSettings { lookup: Some(Rc::new(Cluster)), ..settings() };
    assert_eq!(chart.render(&Map::new(), &asked).unwrap().manifests[0].content, "a: v1 ns n0");
    assert_eq!(chart.render(&Map::new(), &settings()).unwrap().manifests[0].content, "a: 0");
    let broken = ParsedChart::new(super::super::testing::chart(
        "top",
        &[("templates/a.yaml", "{{ lookup \"v1\" \"X\" \"\" \"\" }}")],
    ));
    let error = broken.render(&Map::new(), &asked).unwrap_err().to_string();
    assert!(
        error.ends_with("error calling lookup: unable to get apiresource from unstructured: X"),
        "{error}"
    );
}

#[test]
fn one_parsed_chart_renders_again_with_other_values_and_other_dependencies() {
    let yaml = "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: child, version: '*', condition: child.enabled, alias: kid}]\n";
    let files = [
        ("Chart.yaml", yaml),
        ("templates/a.yaml", "a: {{ .Values.x }}"),
        ("charts/child/Chart.yaml", CHILD),
        ("charts/child/templates/b.yaml", "b: {{ .Chart.Name }}{{ .Values.z }}"),
        ("charts/child/values.yaml", "z: 1"),
    ];
    let chart = ParsedChart::new(chart("top", &files));
    let render = |given: &str| {
        let rendered = chart.render(&values(given), &settings()).unwrap();
        rendered.manifests.iter().map(|m| format!("{} {}", m.path, m.content)).collect::<Vec<_>>()
    };
    let with = |x: u8, z: u8| {
        vec![format!("top/charts/kid/templates/b.yaml b: kid{z}"), format!("top/templates/a.yaml a: {x}")]
    };
    assert_eq!(render("x: 1"), with(1, 1));
    assert_eq!(render("x: 2\nkid: {z: 5}"), with(2, 5));
    assert_eq!(render("x: 3\nchild: {enabled: false}"), ["top/templates/a.yaml a: 3"]);
    assert_eq!(render("x: 1"), with(1, 1));
    assert_eq!(chart.prepared.borrow().len(), 2);
}

#[test]
fn what_a_rendering_changes_is_gone_in_the_next() {
    let values = values("x: 1");
    let chart = ParsedChart::new(chart(
        "top",
        &[("templates/a.yaml", "a: {{ .Values.x }}"), ("values.yaml", "d: {k: 1}")],
    ));
    let first = chart.render(&values, &settings()).unwrap();
    first.values.insert("x", 2);
    if let Some(Value::Map(table)) = first.values.get("d") {
        table.insert("k", 2);
    }
    let second = chart.render(&values, &settings()).unwrap();
    assert_eq!(second.manifests[0].content, "a: 1");
    assert_eq!(crate::testing::shown(&second.values), "{d:{k:1},x:1}");
}

#[test]
fn output_that_is_no_text_is_no_yaml() {
    let mut files = vec![File::new("Chart.yaml", "apiVersion: v2\nname: top\nversion: 1.0.0\n")];
    files.push(File::new("templates/a.yaml", b"a: \xff\n"));
    files.push(File::new("templates/NOTES.txt", b"\xff"));
    let chart = crate::loader::load_directory(files, &mut Warnings::new()).unwrap();
    let error = ParsedChart::new(chart).render(&Map::new(), &settings()).unwrap_err();
    assert!(error.to_string().starts_with("YAML parse error on top/templates/a.yaml: "), "{error}");
}
