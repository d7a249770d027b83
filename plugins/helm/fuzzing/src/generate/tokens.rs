//! Templates out of tokens in any order: most are none, and what is said about them has to be Go's.

use crate::{Question, Random};

/// What is within an action.
const TOKENS: &[&str] = &[
    ".",
    "$",
    ".a",
    ".a.b",
    "$.a",
    "$x",
    "$x.y",
    "$x := 1",
    "$x = 2",
    "$k, $v := .a",
    "$i, $e =",
    ":=",
    "=",
    ",",
    "|",
    "(",
    ")",
    "1",
    "-1",
    "0x1f",
    "1e3",
    "1_000",
    "'a'",
    "'\\n'",
    "''",
    "\"s\"",
    "\"\\\"\"",
    "\"\\q\"",
    "`raw`",
    "`a\nb`",
    "\"open",
    "`open",
    "'open",
    "true",
    "nil",
    "if",
    "else",
    "else if",
    "end",
    "range",
    "with",
    "else with",
    "define \"d\"",
    "template \"d\"",
    "template \"e\" .",
    "block \"b\" .",
    "break",
    "continue",
    "include \"d\" .",
    "printf \"%v\" .a",
    "len .a",
    "not",
    "and 1 0",
    "nope",
    "print",
    "nil.x",
    "1.x",
    "\"s\".x",
    "(.a).b",
    "(print 1)2",
    "..",
    ".a..b",
    "$.",
    "$$",
    "@",
    "#",
    "{",
    "}",
    "\\",
    "é",
    "éa",
    ".é",
    "_a",
    "1a",
    "0b2",
    "+1",
    "1+1",
    "&",
    "!",
    ";",
    "/* c */",
    "/*",
    "*/",
    "- ",
    " -",
    "\t",
    "\n",
    "\r\n",
    "index .a 0",
    "eq 1 1",
    "call .f",
    "range .a",
    "if .a",
    "with $y := .a",
    "range $i := .a",
    "range $i, $v := .a",
    "range $i, $v, $w := .a",
    "define d",
    "define",
    "template",
    "block \"c\"",
    "tpl \"x\" .",
    "0",
    "\"d\"",
];

/// What is between actions.
const TEXTS: &[&str] = &["", "", "x", " ", "\n", " \n\t ", "}}", "{", "{ {", "é", "\u{feff}", "\r\n", "-"];

/// Whole actions, so that now and then something fits.
const WHOLE: &[&str] = &[
    "{{ end }}",
    "{{ else }}",
    "{{- end -}}",
    "{{ if .a }}",
    "{{ range $i, $e := .list }}",
    "{{ with .a }}",
    "{{/* c */}}",
    "{{- /* c */ -}}",
    "{{/* c }}",
    "{{ /* c */ }}",
    "{{-/* c */-}}",
    "{{ define \"d\" }}",
    "{{ block \"b\" . }}",
    "{{- .a -}}",
    "{{-3}}",
    "{{- 3}}",
    "{{3 -}}",
    "{{3-}}",
    "{{}}",
    "{{ }}",
    "{{-}}",
    "{{- -}}",
    "{{",
    "{{-",
    "{{ break }}",
    "{{ continue }}",
    "{{ else if .b }}",
    "{{ else with .b }}",
    "{{ else range .b }}",
    "{{ end }}{{ end }}",
    "{{ template \"d\" . }}",
    "{{ $x := 1 }}",
    "{{ $x }}",
];

/// A template with values to execute it with where it is one.
pub(super) fn question(random: &mut Random) -> Question {
    let mut text = String::new();
    for _ in 0..=random.below(5) {
        text.push_str(random.pick(TEXTS));
        if random.one_in(2) {
            text.push_str(random.pick(WHOLE));
            continue;
        }
        text.push_str(random.pick(&["{{", "{{ ", "{{- ", "{{-", "{{\n"]));
        for _ in 0..=random.below(3) {
            text.push_str(random.pick(TOKENS));
            text.push_str(random.pick(&[" ", " ", " ", "", "  ", "\n"]));
        }
        text.push_str(random.pick(&["}}", " }}", " -}}", "-}}", "\n}}", "}", ""]));
    }
    text.push_str(random.pick(TEXTS));
    // Whoever reads a chart takes this off; the oracle gets its template from nowhere.
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    let values = b"a: {b: 1}\nlist: [1, 2]\n";
    if random.one_in(4) {
        // What `tpl` says is wrapped in more than what is said of a file.
        let quoted = helm_template::fmt::quote(text.as_bytes());
        text = format!("{{{{ tpl {quoted} .Values }}}}");
    }
    Question::new("template", [("text", text.as_bytes()), ("values", values.as_slice())])
}
