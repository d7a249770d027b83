//! Small charts with dependencies, values, definitions, files and hooks.

use super::lines::tables;
use super::pipelines::Pipelines;
use super::{chart_oddities, idioms, metadata, schemas};
use crate::{Question, Random};

/// What templates of charts print: everything that dependencies and values decide on.
const BODIES: [&str; 8] = [
    "{{ .Values | toJson }}",
    "{{ toYaml .Values | nindent 2 }}",
    "{{ .Chart | toJson }}",
    "{{ .Subcharts | toJson | len }}{{ range $name, $_ := .Subcharts }} {{ $name }}{{ end }}",
    "{{ include \"who\" . }} {{ .Template.Name }} {{ .Template.BasePath }}",
    "{{ .Files.Get \"conf/a.txt\" | quote }} {{ (.Files.Glob \"conf/*\").AsConfig | toJson }}",
    "{{ .Values.global | toJson }} {{ .Values.a }}",
    "{{ $_ := set .Values \"seen\" true }}{{ .Values | toJson }}",
];

/// A question about a chart.
pub(super) fn question(random: &mut Random) -> Question {
    let mut parts = Vec::new();
    let depth = if random.one_in(4) { 3 } else { 2 };
    chart(random, "", "top", depth, &mut parts);
    if random.one_in(3) {
        chart_oddities::add(random, &mut parts);
    }
    parts.push(("values".to_owned(), values(random)));
    Question {
        op: "chart".to_owned(),
        parts: parts.into_iter().map(|(name, text)| (name, text.into_bytes())).collect(),
    }
}

fn values(random: &mut Random) -> String {
    match random.below(6) {
        0 => String::new(),
        1..4 => tables(random),
        _ => idioms::values(random),
    }
}

fn chart(random: &mut Random, prefix: &str, name: &str, depth: usize, parts: &mut Vec<(String, String)>) {
    let mut put = |path: &str, text: String| parts.push((format!("file:{prefix}{path}"), text));
    let kids: Vec<&str> = if depth == 0 {
        Vec::new()
    } else {
        ["kid", "a", "lib"].into_iter().filter(|_| random.one_in(2)).collect()
    };
    // Charts v1 have their dependencies elsewhere.
    let (metadata, dependencies) = (metadata::chart(random, name), metadata::dependencies(random, &kids));
    if random.one_in(5) {
        put("Chart.yaml", metadata.replace("apiVersion: v2\n", random.pick(&["apiVersion: v1\n", ""])));
        put("requirements.yaml", dependencies);
        if random.one_in(3) {
            put("requirements.lock", "dependencies: []\ndigest: x\n".to_owned());
        }
    } else {
        put("Chart.yaml", metadata + &dependencies);
    }
    if !random.one_in(4) {
        let more = if random.one_in(8) { format!("---\n{}", values(random)) } else { String::new() };
        put("values.yaml", values(random) + &more);
    }
    for file in 0..1 + random.below(2) {
        put(&format!("templates/t{file}.yaml"), template(random));
    }
    let helpers = if random.one_in(5) { "" } else { idioms::HELPERS };
    put("templates/_h.tpl", format!("{{{{ define \"who\" }}}}{name}{{{{ end }}}}{helpers}"));
    put("templates/_part.yaml", "part: {{ .Values | toJson }} {{ .Template.Name }}\n".to_owned());
    if random.one_in(3) {
        put("conf/a.txt", "text of {{ .Chart.Name }}\n".to_owned());
        put(
            "conf/lines.txt",
            random.pick(&["", "one", "one\n", "one\n\ntwo\r\n", "\n", "é\n\n\n"]).to_owned(),
        );
        put("conf/deep/b.json", "{\"a\": [1,\n 2]}".to_owned());
        put("conf/raw.bin", "\u{0}\u{1} \u{7f}\u{feff}x  \n".to_owned());
    }
    if random.one_in(4) {
        put("templates/NOTES.txt", random.pick(&BODIES).to_owned());
    }
    if random.one_in(5) {
        let schema = if random.one_in(3) { schema(random).to_owned() } else { schemas::schema(random) };
        put("values.schema.json", schema);
    }
    if random.one_in(6) {
        put("crds/c.yaml", "kind: CustomResourceDefinition\nmetadata: {name: c}\n".to_owned());
    }
    for kid in kids {
        if !random.one_in(8) {
            chart(random, &format!("{prefix}charts/{kid}/"), kid, depth - 1, parts);
        }
    }
}

fn template(random: &mut Random) -> String {
    let mut out = String::new();
    for document in 0..1 + random.below(3) {
        let kind = random.pick(&[
            "ConfigMap",
            "Service",
            "Deployment",
            "Namespace",
            "Foo",
            "Secret",
            "Role",
            "List",
            "MutatingWebhookConfiguration",
            "CustomResourceDefinition",
            "IngressClass",
            "APIService",
            "Job",
        ]);
        if document > 0 || random.one_in(4) {
            out.push_str(random.pick(&["---\n", "--- \n", "---\n# comment\n", "\n---\n\n"]));
        }
        out.push_str(&format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: n{document}\n"));
        if random.one_in(3) {
            let events =
                random.pick(&["pre-install", "post-install,pre-upgrade", "test", "none", "crd-install", ""]);
            out.push_str(&format!("  annotations:\n    helm.sh/hook: \"{events}\"\n"));
            if random.one_in(3) {
                out.push_str(random.pick(&[
                    "    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n",
                    "    helm.sh/hook-delete-policy: never\n",
                    "    helm.sh/resource-policy: keep\n",
                ]));
            }
            if random.one_in(2) {
                out.push_str(&format!(
                    "    helm.sh/hook-weight: \"{}\"\n",
                    random.pick(&["1", "-5", "x", "007", " 2"])
                ));
            }
        }
        let body = match random.below(6) {
            0 => Pipelines::over_values().shown(random),
            1 | 2 => random.pick(&BODIES).to_owned(),
            _ => idioms::body(random),
        };
        let quoted = body.replace("}}\n", "}}");
        out.push_str(&format!("data: {quoted}\n"));
    }
    out
}

fn schema(random: &mut Random) -> &'static str {
    random.pick(&[
        "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}, \"b\": {\"type\": \"object\"}}}",
        "{\"required\": [\"a\", \"b\"], \"properties\": {\"c\": {\"minimum\": 2, \"enum\": [1, \"x\"]}}}",
        "{\"additionalProperties\": false, \"properties\": {\"global\": {}, \"a\": {\"const\": 1}}}",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"properties\": {\"name\": {\"pattern\": \"^[a-z]+$\"}}}",
        "{\"anyOf\": [{\"required\": [\"a\"]}, {\"required\": [\"d\"]}], \"not\": {\"required\": [\"enabled\"]}}",
        "{",
    ])
}
