use super::*;
use crate::testing::{chart, values};

fn report(schema: &str, given: &str) -> String {
    let chart = chart("s", &[("values.schema.json", schema)]);
    SchemaCache::default().validate(&chart, &values(given)).err().map(|error| error.0).unwrap_or_default()
}

#[test]
fn every_kind_of_fault_is_worded_as_helm_words_it() {
    let schema = r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["x","y"],
        "properties":{
            "a":{"type":["string","boolean"]},"b":{"$ref":"#/definitions/n"},"big":{"minimum":123456789},
            "small":{"maximum":0},"e":{"enum":["a",1,null,2.5,true]},
            "l":{"uniqueItems":true,"items":{"type":"string"},"minItems":1234},
            "m":{"additionalProperties":false,"properties":{"z":{}}},"str":{"const":"q'\"x"},
            "f":{"type":"integer"},"neg":{"exclusiveMinimum":100000.5},"long":{"minLength":12345,"pattern":"^\\d+'$"}},
        "anyOf":[{"required":["k"]},{"properties":{"a":{"oneOf":[{"type":"string"},{"enum":[[1]]}]}}}],
        "allOf":[{"properties":{"a":{"multipleOf":0.3}}},{"properties":{"f":{"oneOf":[{},{}]}}}],
        "not":{"required":["a"]},"propertyNames":{"maxLength":4},"minProperties":2000,
        "dependencies":{"a":["q1","q2"]},"definitions":{"n":{"type":"number"}}}"##;
    let given = "a: 1\nb: x\nbig: 12345678\nsmall: 0.00000123\ne: zz\nl: [1, 2, 1]\nm: {p: 1, q: 2}\nstr: s\nf: 1.5\nneg: -1234.5\nlong: abc\n";
    let report = report(schema, given);
    let mut lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.remove(0), "s:");
    let mut want = vec![
        r"- at '': minProperties: got 11, want 2,000",
        r"- at '': missing properties 'x', 'y'",
        r"- at '': properties 'q1', 'q2' required, if 'a' exists",
        r"- at '/long': validation failed",
        r"  - at '/long': minLength: got 3, want 12,345",
        r"  - at '/long': 'abc' does not match pattern '^\\d+\'$'",
        r"- at '/f': got number, want integer",
        r"- at '/a': got number, want boolean or string",
        r"- at '/neg': exclusiveMinimum: got -1,234.5, want 100,000.5",
        r"- at '/small': maximum: got 1.23×10⁻⁰⁶, want 0",
        r"- at '/m': additional properties 'p', 'q' not allowed",
        r"- at '/e': value must be one of 'a', 1, <nil>, 2.5, true",
        r"- at '/l': validation failed",
        r"  - at '/l': minItems: got 3, want 1,234",
        r"  - at '/l': items at 0 and 2 are equal",
        r"  - at '/l/0': got number, want string",
        r"  - at '/l/1': got number, want string",
        r"  - at '/l/2': got number, want string",
        r#"- at '/str': value must be 'q\'"x'"#,
        r"- at '/b': got string, want number",
        r"- at '/big': minimum: got 1.2345678×10⁰⁷, want 1.23456789×10⁰⁸",
        r"- at '': invalid propertyName 'small'",
        r"  - at '': maxLength: got 5, want 4",
        r"- at '': 'not' failed",
        r"- at '': 'allOf' failed",
        r"  - at '/a': multipleOf: got 1, want 0.3",
        r"  - at '/f': 'oneOf' failed, subschemas 0, 1 matched",
        r"- at '': 'anyOf' failed",
        r"  - at '': missing property 'k'",
        r"  - at '/a': 'oneOf' failed, none matched",
        r"    - at '/a': got number, want string",
        r"    - at '/a': 'enum' failed",
    ];
    // Go goes through properties in random order, so only the lines can be compared.
    lines.sort_unstable();
    want.sort_unstable();
    assert_eq!(lines, want);
}

#[test]
fn values_that_fit_are_accepted_whole_floats_as_integers() {
    let schema =
        r#"{"properties":{"a":{"type":"integer"},"b":{"type":"null"},"c":{"type":"array","maxItems":2}}}"#;
    assert_eq!(report(schema, "a: 1.0\nb: null\nc: [1, {x: 2}]"), "");
}

#[test]
fn dependencies_are_checked_with_their_own_schema_and_values() {
    let child = "apiVersion: v2\nname: child\nversion: 1.0.0\n";
    let strings = r#"{"properties":{"a":{"type":"string"}}}"#;
    let chart = chart(
        "top",
        &[
            ("values.schema.json", strings),
            ("charts/child/Chart.yaml", child),
            ("charts/child/values.schema.json", strings),
        ],
    );
    let mut cache = SchemaCache::default();
    let error = cache.validate(&chart, &values("a: 1\nchild: {a: 2}")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "values don't meet the specifications of the schema(s) in the following chart(s):\ntop:\n- at '/a': got number, want string\nchild:\n- at '/a': got number, want string\n"
    );
    assert!(cache.validate(&chart, &values("a: x\nchild: null")).is_ok());
    let error = cache.validate(&chart, &values("child: [1]")).unwrap_err();
    assert_eq!(error.0, "child:\ninvalid type for values: expected object (map), got []interface {}\n");
}

#[test]
fn a_schema_that_is_none_is_an_error_and_remote_ones_are_not_loaded() {
    assert!(report("{", "a: 1").starts_with("s:\n"));
    assert!(report(r#"{"type":"nothing"}"#, "a: 1").starts_with("s:\n"));
    let remote = report(r#"{"$ref":"https://example.com/schema.json"}"#, "a: 1");
    assert_eq!(
        remote,
        "s:\nfailing loading \"https://example.com/schema.json\": HTTP request failed for https://example.com/schema.json: schemas are only loaded from the chart itself"
    );
    assert_eq!(report(r#"{"$ref":"urn:example:x"}"#, "a: 1"), "");
}

#[test]
fn faults_of_one_branch_stay_together_in_it() {
    let schema = r#"{"allOf":[{"properties":{"b":{"type":"null"}},"not":{}}]}"#;
    assert_eq!(
        report(schema, "b: {}"),
        "s:\n- at '': 'allOf' failed\n  - at '': validation failed\n    - at '/b': got object, want null\n    - at '': 'not' failed\n"
    );
    let deeper = r#"{"allOf":[{"properties":{"b":{"minLength":3,"pattern":"x"}}}]}"#;
    assert_eq!(
        report(deeper, "b: a"),
        "s:\n- at '': 'allOf' failed\n  - at '/b': validation failed\n    - at '/b': minLength: got 1, want 3\n    - at '/b': 'a' does not match pattern 'x'\n"
    );
}
