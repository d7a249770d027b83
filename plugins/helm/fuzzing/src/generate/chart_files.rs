//! Small charts with dependencies, values, definitions, files and hooks.

use super::lines::tables;
use super::pipelines::Pipelines;
use super::{idioms, schemas};
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
    chart(random, "", "top", 2, &mut parts);
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
    put("Chart.yaml", chart_yaml(random, name, &kids));
    if !random.one_in(4) {
        put("values.yaml", values(random));
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

fn chart_yaml(random: &mut Random, name: &str, kids: &[&str]) -> String {
    let mut out = format!(
        "apiVersion: v2\nname: {name}\nversion: {}\n",
        random.pick(&["1.0.0", "0.1.2", "1.2.3-rc.1+b"])
    );
    if name == "lib" {
        out.push_str("type: library\n");
    }
    if random.one_in(8) {
        out.push_str(&format!(
            "kubeVersion: '{}'\n",
            random.pick(&[">=1.20", "<1.20", "^1.0.0-0", "bad", ">= 1.30.0-0 < 2"])
        ));
    }
    if random.one_in(6) {
        out.push_str(random.pick(&[
            "appVersion: 1.10\n",
            "appVersion: \"v2\"\n",
            "deprecated: true\n",
            "keywords: [a]\n",
            "annotations: {x: \"1\"}\n",
            "icon: http://x\nhome: h\n",
        ]));
    }
    if kids.is_empty() || random.one_in(5) {
        return out;
    }
    out.push_str("dependencies:\n");
    for kid in kids {
        for _ in 0..1 + random.below(5) / 4 {
            dependency(random, kid, &mut out);
        }
    }
    out
}

fn dependency(random: &mut Random, kid: &str, out: &mut String) {
    out.push_str(&format!(
        "- name: {kid}\n  version: '{}'\n",
        random.pick(&["*", ">=0.0.0-0", "1.0.0", "^0.1", "~1", "bad"])
    ));
    if random.one_in(3) {
        out.push_str(&format!("  alias: {}\n", random.pick(&["b", "other", "kid"])));
    }
    if random.one_in(2) {
        let condition = random.pick(&[
            "enabled",
            "kid.enabled",
            "a.enabled,b.enabled",
            "global.enabled",
            "c.d",
            "none",
            " a.b , c",
        ]);
        out.push_str(&format!("  condition: '{condition}'\n"));
    }
    if random.one_in(3) {
        out.push_str(random.pick(&["  tags: [front]\n", "  tags: [a, b]\n", "  tags: [enabled]\n"]));
    }
    if random.one_in(3) {
        out.push_str("  import-values:\n");
        for _ in 0..1 + random.below(2) {
            out.push_str(random.pick(&[
                "  - a\n",
                "  - d\n",
                "  - {child: a, parent: b}\n",
                "  - {child: global, parent: .}\n",
                "  - {child: ., parent: c}\n",
                "  - {child: b.c, parent: a.d}\n",
                "  - none\n",
            ]));
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
        ]);
        if document > 0 || random.one_in(4) {
            out.push_str(random.pick(&["---\n", "--- \n", "---\n# comment\n", "\n---\n\n"]));
        }
        out.push_str(&format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: n{document}\n"));
        if random.one_in(3) {
            let events =
                random.pick(&["pre-install", "post-install,pre-upgrade", "test", "none", "crd-install", ""]);
            out.push_str(&format!("  annotations:\n    helm.sh/hook: \"{events}\"\n"));
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
