//! What lies in the directories of charts beside what everybody has.

use crate::Random;

/// Files and what is in them, as often as not read by nobody.
const FILES: &[(&str, &[&str])] = &[
    (
        ".helmignore",
        &[
            "*.txt\n",
            "templates/t1.yaml\n!templates\n",
            "conf/\n",
            "/conf/*\n!conf/a.txt\n",
            "charts/kid\n",
            "charts/*/templates/\n",
            "Chart.yaml\n",
            "*.json\nvalues.yaml\n",
            "**\n",
            "[\n",
            "\u{feff}*.bin\r\n# comment\n\n",
            "templates/deep\n",
            "*\n",
        ],
    ),
    (
        "Chart.lock",
        &[
            "dependencies: []\ndigest: x\n",
            "generated: 2020-01-01T00:00:00Z\n",
            "generated: tomorrow\n",
            "dependencies: {}\n",
            "[\n",
            "",
            "digest: 1\n",
        ],
    ),
    ("charts/README.md", &["read me {{ .Values }}"]),
    ("charts/kid.prov", &["signature"]),
    ("charts/kid/signed.prov", &["signature"]),
    ("charts/_off/Chart.yaml", &["broken: ["]),
    ("charts/.off/Chart.yaml", &["broken: ["]),
    ("charts/none/values.yaml", &["a: 1"]),
    ("charts/bare/Chart.yaml", &["name: bare\nversion: 0.0.1\n", "", "[]", "version: 1"]),
    ("charts/twin/Chart.yaml", &["name: kid\nversion: 1.0.0\n", "name: twin\nversion: v1\ntype: library\n"]),
    ("charts/twin/templates/t.yaml", &["kind: Twin\ndata: {{ .Values | toJson }}\n"]),
    ("charts/bare/crds/x/y.yaml", &["kind: CustomResourceDefinition\n---\nkind: Other\n"]),
    ("templates/.hidden.yaml", &["kind: Hidden\n"]),
    ("templates/deep/er/t.yaml", &["kind: Deep\nname: {{ .Template.Name }} {{ .Template.BasePath }}\n"]),
    ("templates/deep/NOTES.txt", &["deep notes of {{ .Chart.Name }}"]),
    ("templates/notes.txt", &["notes: {{ .Release.Name }}"]),
    ("templates/empty.yaml", &["", "\n", " \t\n---\n", "# nothing\n", "{{ if false }}{{ end }}"]),
    (
        "templates/windows.yaml",
        &["kind: A\r\nname: a\r\n---\r\nkind: B\r\n", "a: 1\r\n--- \r\n\r\n---\r\nb: 2"],
    ),
    ("templates/other.tpl", &["kind: Tpl\n", "{{ define \"who\" }}other{{ end }}"]),
    ("templates/tests/t.yaml", &["kind: Pod\nmetadata:\n  annotations:\n    helm.sh/hook: test\n"]),
    ("tests/t.yaml", &["kind: Pod\n"]),
    ("README.md", &["{{ .Files.Get \"README.md\" }}"]),
    ("values.yml", &["a: not read"]),
    ("Values.yaml", &["a: not read"]),
    (
        "requirements.yaml",
        &["dependencies:\n- name: kid\n  version: 1.0.0\n", "", "- a\n", "name: renamed\n"],
    ),
];

/// Some of them, in front of what is put in their place.
pub(super) fn add(random: &mut Random, parts: &mut Vec<(String, String)>) {
    for _ in 0..random.below(4) {
        let (path, texts) = FILES[random.below(FILES.len())];
        put(parts, &format!("file:{path}"), random.pick(texts));
    }
    if random.one_in(8) {
        let odd = random.below(parts.len());
        parts[odd].1.insert(0, '\u{feff}');
    }
    if random.one_in(12) {
        let (name, text) = &mut parts[0];
        if name == "file:Chart.yaml" {
            *text = text.replace(
                "apiVersion: v2",
                random.pick(&["apiVersion: v3", "apiVersion: v9", "apiVersion: 2", "apiversion: v1"]),
            );
        }
    }
}

/// A path has one text only.
fn put(parts: &mut Vec<(String, String)>, name: &str, text: &str) {
    match parts.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => text.clone_into(known),
        None => parts.push((name.to_owned(), text.to_owned())),
    }
}
