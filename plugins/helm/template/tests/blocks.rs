//! What templates do, for machines without Go: one statement of the language each.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use helm_template::{Execution, Functions, List, Map, MissingKey, TemplateSet, Value};

fn data() -> Value {
    let table = Map::from_iter([("b", Value::from(2.0)), ("a", "one".into()), ("n", Value::Nil)]);
    Value::Map(Map::from_iter([
        ("str", Value::from("text")),
        ("int", 3.into()),
        ("list", List::new(vec!["x".into(), Value::Nil, 2.into()]).into()),
        ("words", List::strings(["u", "v", "w"]).into()),
        ("map", table.into()),
        ("empty", Map::new().into()),
    ]))
}

#[track_caller]
fn renders(template: &str, wanted: &str) {
    let mut set = TemplateSet::new("root", Functions::new());
    set.parse("t", template).unwrap();
    let out = set.execute("t", data(), &Execution::default()).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), wanted, "{template}");
}

#[track_caller]
fn fails(template: &str, wanted: &str) {
    let mut set = TemplateSet::new("root", Functions::new());
    let error = match set.parse("t", template) {
        Err(error) => error.to_string(),
        Ok(()) => set.execute("t", data(), &Execution::default()).unwrap_err().to_string(),
    };
    assert_eq!(error, wanted, "{template}");
}

#[test]
fn text_is_copied_and_actions_are_printed() {
    renders(
        "a {{ .str }} b {{ .int }} {{ 1.5 }} {{ true }} {{ .list }} {{ .map }}",
        "a text b 3 1.5 true [x <nil> 2] map[a:one b:2 n:<nil>]",
    );
}

#[test]
fn whitespace_is_trimmed_up_to_the_next_text() {
    renders("a \n {{- 1 -}} \n b {{- /* c */ -}} c", "a1bc");
    renders("a {{-1}} b", "a -1 b");
}

#[test]
fn what_is_missing_prints_no_value() {
    renders(
        "{{ .missing }} {{ .missing.deeper }} {{ .map.n }} {{ print .missing }}",
        "<no value> <no value> <no value> <nil>",
    );
}

#[test]
fn a_missing_key_is_what_the_option_says() {
    let mut set = TemplateSet::new("root", Functions::new());
    set.parse("t", "{{ .missing }}").unwrap();
    let how = |missing_key| Execution { missing_key, ..Execution::default() };
    assert_eq!(set.execute("t", data(), &how(MissingKey::Zero)).unwrap(), b"<no value>");
    let error = set.execute("t", data(), &how(MissingKey::Error)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template: t:1:3: executing \"t\" at <.missing>: map has no entry for key \"missing\""
    );
    set.parse("t", "{{ .missing.x }}").unwrap();
    let error = set.execute("t", data(), &how(MissingKey::Zero)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template: t:1:11: executing \"t\" at <.missing.x>: nil pointer evaluating interface {}.x"
    );
}

#[test]
fn if_takes_the_first_branch_that_is_true() {
    renders("{{ if .empty }}1{{ else if .str }}2{{ else }}3{{ end }}", "2");
    renders("{{ if 0 }}1{{ else if \"\" }}2{{ else }}3{{ end }}{{ if .missing }}4{{ end }}", "3");
}

#[test]
fn with_moves_the_cursor_and_dollar_stays() {
    renders(
        "{{ with .map }}{{ .a }}{{ $.str }}{{ end }}{{ with .empty }}no{{ else with .str }}{{ . }}{{ end }}",
        "onetexttext",
    );
}

#[test]
fn range_goes_through_lists_maps_in_key_order_and_numbers() {
    renders("{{ range .words }}{{ . }}{{ end }}", "uvw");
    renders("{{ range $i, $w := .words }}{{ $i }}{{ $w }}{{ end }}", "0u1v2w");
    renders("{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "a=one;b=2;n=<no value>;");
    renders("{{ range 3 }}{{ . }}{{ end }}{{ range $i := .int }}{{ $i }}{{ end }}", "012012");
}

#[test]
fn range_over_nothing_renders_the_else_branch() {
    for nothing in [".empty", ".missing", "slice .words 3", "0", ".map.n"] {
        renders(&format!("{{{{ range {nothing} }}}}x{{{{ else }}}}none{{{{ end }}}}"), "none");
    }
}

#[test]
fn break_and_continue_leave_the_blocks_inside_of_the_loop() {
    renders(
        "{{ range .words }}{{ with 1 }}{{ if eq $.str \"text\" }}{{ continue }}{{ end }}{{ end }}x{{ end }}{{ .str }}",
        "text",
    );
    renders(
        "{{ range .words }}{{ . }}{{ with . }}{{ if eq . \"v\" }}{{ break }}{{ end }}{{ end }}{{ end }}{{ .str }}",
        "uvtext",
    );
    renders("{{ range .words }}{{ range $.words }}{{ break }}{{ end }}{{ . }}{{ end }}", "uvw");
}

#[test]
fn variables_live_until_the_end_of_their_block() {
    renders("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ $x := 3 }}{{ $x }}{{ end }}{{ $x }}", "32");
    renders("{{ $x := 1 }}{{ if false }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}", "1");
    fails(
        "{{ if false }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}",
        "template: t:1:40: executing \"t\" at <$x>: undefined variable: $x",
    );
    fails("{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}", "template: t:1: undefined variable \"$x\"");
}

#[test]
fn a_loop_goes_over_the_map_as_it_was_when_the_loop_began() {
    let map = Map::from_iter([("a", 1), ("b", 2)]);
    let mut set = TemplateSet::new("root", Functions::new());
    set.parse("t", "{{ range $k, $v := . }}{{ $k }}{{ $v }}{{ end }}").unwrap();
    assert_eq!(set.execute("t", Value::Map(map), &Execution::default()).unwrap(), b"a1b2");
}

#[test]
fn templates_are_invoked_with_their_own_variables() {
    renders(
        "{{ define \"x\" }}[{{ . }}{{ $ }}]{{ end }}{{ $y := 1 }}{{ template \"x\" .str }}{{ template \"x\" }}",
        "[texttext][<no value><no value>]",
    );
    renders("{{ block \"x\" .map }}{{ .a }}{{ end }}", "one");
    fails("{{ $y := 1 }}{{ define \"x\" }}{{ $y }}{{ end }}", "template: t:1: undefined variable \"$y\"");
    fails(
        "{{ template \"x\" }}",
        "template: t:1:12: executing \"t\" at <{{template \"x\"}}>: template \"x\" not defined",
    );
}

#[test]
fn an_empty_redefinition_does_not_replace() {
    let mut set = TemplateSet::new("root", Functions::new());
    set.parse("a", "{{ define \"x\" }}first{{ end }}").unwrap();
    set.parse("b", "{{ define \"x\" }} {{/* nothing */}} {{ end }}").unwrap();
    set.parse("t", "{{ template \"x\" }}").unwrap();
    assert_eq!(set.execute("t", Value::Nil, &Execution::default()).unwrap(), b"first");
    set.parse("c", "{{ define \"x\" }}second{{ end }}").unwrap();
    assert_eq!(set.execute("t", Value::Nil, &Execution::default()).unwrap(), b"second");
    fails(
        "{{ define \"x\" }}1{{ end }}{{ define \"x\" }}2{{ end }}",
        "template: t:1: template: multiple definition of template \"x\"",
    );
}

#[test]
fn and_and_or_stop_where_it_is_decided() {
    renders("{{ and 1 0 2 }}{{ or 0 \"\" 3 }}{{ and 1 2 }}{{ or 0 \"\" }}", "032");
    renders(
        "{{ and .empty (index .list 99) }}{{ or .str (index .list 99) }}{{ .str | and 1 }}",
        "map[]texttext",
    );
}

#[test]
fn pipelines_hand_on_the_last_argument() {
    renders("{{ .str | printf \"%s-%s\" \"a\" | printf \"%q\" }}{{ (.map).a | len }}", "\"a-text\"3");
    fails("{{ .str | 1 }}", "template: t:1: non executable command in pipeline stage 2");
}

#[test]
fn errors_tell_line_and_column_of_the_expression() {
    fails(
        "one\n  {{ .str.x }}",
        "template: t:2:9: executing \"t\" at <.str.x>: can't evaluate field x in type interface {}",
    );
    fails(
        "{{ (.str).x }}",
        "template: t:1:4: executing \"t\" at <.str>: can't evaluate field x in type string",
    );
    fails(
        "{{ index .list 9 }}",
        "template: t:1:3: executing \"t\" at <index .list 9>: error calling index: index out of range: 9",
    );
    fails("a\n{{ if }}", "template: t:2: missing value for if");
    fails("{{ nope }}", "template: t:1: function \"nope\" not defined");
    fails("{{ \"x\n\" }}", "template: t:1: unterminated quoted string");
}

#[test]
fn text_that_is_no_utf8_passes_through() {
    let mut set = TemplateSet::new("root", Functions::new());
    set.parse("t", b"\xff{{ . }}\xfe{{ printf \"%q\" . }}".to_vec()).unwrap();
    let out = set.execute("t", Value::String(b"\xc3("[..].into()), &Execution::default()).unwrap();
    assert_eq!(out, b"\xff\xc3(\xfe\"\\xc3(\"");
}
