//! `Chart.yaml` and the dependencies in it.

use crate::Random;

/// Lines of `Chart.yaml` beside those that all have, some of the wrong kind.
const FIELDS: &[&str] = &[
    "appVersion: 1.10\n",
    "appVersion: \"v2\"\n",
    "appVersion: 2024-01-01\n",
    "deprecated: true\n",
    "deprecated: \"true\"\n",
    "keywords: [a]\n",
    "keywords: a\n",
    "annotations: {x: \"1\"}\n",
    "annotations: {x: 1}\n",
    "icon: http://x\nhome: h\n",
    "maintainers: [{name: m, email: e, url: u}]\n",
    "maintainers: [{email: e}]\n",
    "maintainers: [null]\n",
    "sources: [a, b]\n",
    "description: |\n  several\n  lines\n",
    "tags: front\n",
    "condition: a.enabled\n",
    "unknown: {a: 1}\n",
    "type: application\n",
    "Version: 9.9.9\n",
];

/// Without dependencies.
pub(super) fn chart(random: &mut Random, name: &str) -> String {
    let mut out = format!(
        "apiVersion: v2\nname: {name}\nversion: {}\n",
        random.pick(&["1.0.0", "0.1.2", "1.2.3-rc.1+b", "1.0.0", "v2.0", "'1.0'"])
    );
    if name == "lib" {
        out.push_str("type: library\n");
    }
    if random.one_in(8) {
        let constraint =
            random.pick(&[">=1.20", "<1.20", "^1.0.0-0", "bad", ">= 1.30.0-0 < 2", "1.x || >=2", ""]);
        out.push_str(&format!("kubeVersion: '{constraint}'\n"));
    }
    if random.one_in(3) {
        out.push_str(random.pick(FIELDS));
    }
    out
}

/// `dependencies:` with the charts of `charts/` in it, mostly.
pub(super) fn dependencies(random: &mut Random, kids: &[&str]) -> String {
    if kids.is_empty() || random.one_in(5) {
        return String::new();
    }
    let mut out = "dependencies:\n".to_owned();
    for kid in kids {
        for _ in 0..1 + random.below(5) / 4 {
            dependency(random, kid, &mut out);
        }
    }
    if random.one_in(30) {
        out.push_str(random.pick(&[
            "- null\n",
            "- {name: gone, version: 1.0.0}\n",
            "- {version: 1.0.0}\n",
            "- {name: 'a b'}\n",
        ]));
    }
    out
}

fn dependency(random: &mut Random, kid: &str, out: &mut String) {
    let version = random.pick(&["*", ">=0.0.0-0", "1.0.0", "^0.1", "~1", "bad", "", "1 - 3", "=1.2.3-rc.1"]);
    out.push_str(&format!("- name: {kid}\n  version: '{version}'\n"));
    if random.one_in(3) {
        out.push_str(&format!("  alias: {}\n", random.pick(&["b", "other", "kid", "kid-two", "a"])));
    }
    if random.one_in(6) {
        out.push_str(random.pick(&[
            "  repository: https://x\n",
            "  repository: file://../kid\n",
            "  enabled: false\n",
        ]));
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
            "kid-two.enabled",
            "",
            ",",
            "text",
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
                "  - {child: exports.a, parent: global.x}\n",
                "  - {child: list, parent: list}\n",
                "  - none\n",
                "  - {parent: b}\n",
                "  - 5\n",
            ]));
        }
    }
}
