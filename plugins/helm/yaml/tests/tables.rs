//! What the formats look like, and what is said about mistakes: known answers of Go's libraries.

#![expect(clippy::unwrap_used, reason = "this is nothing but tests and their helpers")]

use helm_template::{List, Map, Str, Value};
use helm_yaml::json::{from_json_list, from_json_map, to_json, to_json_pretty, to_json_raw};
use helm_yaml::{
    Duplicates, from_yaml, from_yaml_exact, from_yaml_list, from_yaml_map, from_yaml_map_as, to_yaml,
    to_yaml_pretty, yaml_to_json_text,
};

fn read(document: &str) -> String {
    let text = yaml_to_json_text(document.as_bytes(), Duplicates::LastWins);
    String::from_utf8(text.unwrap()).unwrap()
}

fn complaint(document: &[u8]) -> String {
    from_yaml(document, Duplicates::LastWins).unwrap_err().to_string()
}

fn written(value: impl Into<Value>) -> String {
    String::from_utf8(to_yaml(&value.into()).unwrap()).unwrap()
}

fn pretty(value: impl Into<Value>) -> String {
    String::from_utf8(to_yaml_pretty(&value.into()).unwrap()).unwrap()
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Map {
    Map::from_iter(entries)
}

#[test]
fn scalars_mean_what_yaml_1_1_gives_them() {
    assert_eq!(
        read("[yes, off, 0777, 0o777, 0x1F, 1_000, 1:30, 1e3, 2001-01-01, ~, '1', 18446744073709551615]"),
        r#"[true,false,511,511,31,1000,"1:30",1000,"2001-01-01",null,"1",18446744073709551615]"#
    );
}

#[test]
fn keys_become_strings() {
    assert_eq!(read("{1: a, 1.5: b, no: c}"), r#"{"1":"a","1.5":"b","false":"c"}"#);
}

#[test]
fn a_merge_counts_where_it_stands() {
    assert_eq!(
        read("b: {<<: {k: 1, l: 1}, k: 2}\nc: {k: 2, <<: {k: 1, l: 1}}\n"),
        r#"{"b":{"k":2,"l":1},"c":{"k":1,"l":1}}"#
    );
}

#[test]
fn every_number_of_values_is_a_float() {
    let values = from_yaml_map(b"a: 1\n", Duplicates::LastWins).unwrap();
    assert_eq!(values.get("a"), Some(Value::from(1.0)));
    let exact = from_yaml_exact(b"1\n", Duplicates::LastWins).unwrap();
    assert_eq!(exact, Value::int(1));
}

#[test]
fn an_alias_gives_a_value_of_its_own() {
    let values = from_yaml_map(b"a: &a {x: 1}\nb: *a\n", Duplicates::LastWins).unwrap();
    values.get("a").unwrap().as_map().unwrap().insert("x", 2.0);
    assert_eq!(values.get("b").unwrap().as_map().unwrap().get("x"), Some(Value::from(1.0)));
}

#[test]
fn nothing_is_an_empty_map_and_an_empty_list() {
    for nothing in ["", "null", "# comment\n", "---\n"] {
        assert!(from_yaml_map(nothing.as_bytes(), Duplicates::LastWins).unwrap().is_empty());
        assert!(from_yaml_list(nothing.as_bytes(), Duplicates::LastWins).unwrap().is_empty());
    }
}

#[test]
fn mistakes_are_reported_with_go_yamls_lines() {
    for (document, text) in [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: [1, 2\nb: 3\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("a:\n\tb: 1", "yaml: line 2: found character that cannot start any token"),
        ("a: \"x", "yaml: found unexpected end of stream"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: \u{7f}", "yaml: control characters are not allowed"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("~: 1", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 1"),
        ("[a]: 1", "yaml: invalid map key: []interface {}{\"a\"}"),
    ] {
        assert_eq!(
            complaint(document.as_bytes()),
            format!("error converting YAML to JSON: {text}"),
            "{document}"
        );
    }
    assert_eq!(complaint(b"a: \xFF"), "error converting YAML to JSON: yaml: invalid leading UTF-8 octet");
}

#[test]
fn a_document_of_another_kind_is_named_in_gos_words() {
    let text = |kind: &str, target: &str| {
        format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type {target}"
        )
    };
    let map = |document: &[u8]| from_yaml_map(document, Duplicates::LastWins).unwrap_err().to_string();
    assert_eq!(map(b"- a"), text("array", "map[string]interface {}"));
    assert_eq!(map(b"1"), text("number", "map[string]interface {}"));
    let named = from_yaml_map_as(b"text", Duplicates::LastWins, "common.Values").unwrap_err();
    assert_eq!(named.to_string(), text("string", "common.Values"));
    let list = from_yaml_list(b"a: 1", Duplicates::LastWins).unwrap_err();
    assert_eq!(list.to_string(), text("object", "[]interface {}"));
}

#[test]
fn a_key_set_twice_is_refused_only_where_that_is_asked_for() {
    let document = b"a: 1\nb: {c: 1, c: 2}\na: 3\n";
    assert_eq!(from_yaml_map(document, Duplicates::LastWins).unwrap().get("a"), Some(Value::from(3.0)));
    assert_eq!(
        from_yaml_map(document, Duplicates::Refuse).unwrap_err().to_string(),
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: key \"c\" already set in map\n  line 3: key \"a\" already set in map"
    );
}

#[test]
fn lists_in_maps_are_not_indented_but_in_version_3() {
    let value =
        map([("b", vec![Value::from("x"), vec![Value::from("y")].into()].into()), ("a", Map::new().into())]);
    assert_eq!(written(value.clone()), "a: {}\nb:\n- x\n- - \"y\"\n");
    assert_eq!(pretty(value), "a: {}\nb:\n  - x\n  - - \"y\"\n");
}

#[test]
fn whole_numbers_stay_whole_but_in_version_3() {
    assert_eq!(written(1_000_000.0), "1000000\n");
    assert_eq!(pretty(1_000_000.0), "1e+06\n");
    assert_eq!(written(123_456_789.5), "1.234567895e+08\n");
    assert_eq!(written(1e20), "1e+20\n");
    assert_eq!(written(-0.0), "0\n");
}

#[test]
fn strings_get_the_style_they_need() {
    for (text, yaml) in [
        ("plain text", "plain text\n"),
        ("", "\"\"\n"),
        ("yes", "\"yes\"\n"),
        ("1:30", "\"1:30\"\n"),
        ("0o17", "\"0o17\"\n"),
        ("a: b", "'a: b'\n"),
        ("it's: so", "'it''s: so'\n"),
        ("a\tb", "\"a\\tb\"\n"),
        ("😀", "\"\\U0001F600\"\n"),
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\nb\n", "|\n  a\n  b\n"),
        ("a\n\n", "|+\n  a\n\n"),
        (" a\nb", "|2-\n   a\n  b\n"),
        ("a \nb", "\"a \\nb\"\n"),
        ("<<", "<<\n"),
        ("2001-01-01", "\"2001-01-01\"\n"),
    ] {
        assert_eq!(written(text), yaml, "{text:?}");
    }
}

#[test]
fn long_lines_are_folded_behind_the_eightieth_column() {
    let text = "word ".repeat(20).trim_end().to_owned();
    let folded = format!("k: {}\n  {}\n", "word ".repeat(16).trim_end(), "word ".repeat(4).trim_end());
    assert_eq!(written(map([("k", Value::from(&text))])), folded);
    assert_eq!(pretty(map([("k", Value::from(&text))])), format!("k: {text}\n"));
}

#[test]
fn a_text_that_goyaml_does_not_read_back_cannot_be_written() {
    let refused = |text: &str| to_yaml(&Value::from(text)).unwrap_err().to_string();
    assert_eq!(refused("\u{7f}"), "yaml: control characters are not allowed");
    let long = "k".repeat(1023);
    assert_eq!(
        to_yaml(&map([(&long, Value::Nil)]).into()).unwrap_err().to_string(),
        "yaml: did not find expected ',' or '}'"
    );
}

#[test]
fn bytes_that_are_no_text_are_replaced_but_in_version_3() {
    let half = Value::String(Str::from_bytes(b"h\xC3"));
    assert_eq!(written(half.clone()), "h\u{FFFD}\n");
    assert_eq!(pretty(half), "!!binary aMM=\n");
}

#[test]
fn a_map_that_contains_itself_is_an_error() {
    let value = Map::new();
    value.insert("l", List::new(vec![Value::from(1.0), value.clone().into()]));
    let value = Value::Map(value);
    let text = "json: unsupported value: encountered a cycle via map[string]interface {}";
    assert_eq!(to_json(&value).unwrap_err().to_string(), text);
    assert_eq!(to_yaml(&value).unwrap_err().to_string(), format!("error marshaling into JSON: {text}"));
    assert_eq!(to_yaml_pretty(&value), None);
    value.as_map().unwrap().remove("l");
}

#[test]
fn json_is_written_with_and_without_html_escapes_and_indented() {
    let value =
        Value::from(map([("b", vec![Value::from("<&>"), Value::Nil].into()), ("a", Map::new().into())]));
    assert_eq!(to_json(&value).unwrap(), br#"{"a":{},"b":["\u003c\u0026\u003e",null]}"#);
    assert_eq!(to_json_raw(&value).unwrap(), br#"{"a":{},"b":["<&>",null]}"#);
    assert_eq!(
        to_json_pretty(&value).unwrap(),
        b"{\n  \"a\": {},\n  \"b\": [\n    \"\\u003c\\u0026\\u003e\",\n    null\n  ]\n}"
    );
    assert_eq!(to_json(&Value::from(f64::NAN)).unwrap_err().to_string(), "json: unsupported value: NaN");
}

#[test]
fn json_that_is_partly_wrong_is_partly_read() {
    let (map, error) = from_json_map(br#"{"a":1e999,"b":2}"#);
    assert_eq!(
        error.unwrap().to_string(),
        "json: cannot unmarshal number 1e999 into Go struct field .a of type float64"
    );
    assert_eq!((map.get("a"), map.get("b")), (Some(Value::from(0.0)), Some(Value::from(2.0))));
    let (list, error) = from_json_list(b"[1, 2");
    assert_eq!(error.unwrap().to_string(), "unexpected end of JSON input");
    assert!(list.is_empty());
}
