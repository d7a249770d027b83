use super::*;
use serde_json::json;

/// What the library says of the value under `a`, `None` for a schema that it refuses.
fn library(schema: &Json, value: &Value) -> Option<bool> {
    let (schemas, index) = super::super::compile(schema).ok()?;
    Some(schemas.validate(&super::super::to_json(value), index).is_ok())
}

fn values() -> Vec<Value> {
    [
        "null",
        "true",
        "0",
        "3",
        "-3",
        "3.0",
        "3.5",
        "1e300",
        "9007199254740993",
        "''",
        "abc",
        "äöü",
        "'3'",
        "[]",
        "[1]",
        "[a, 1]",
        "[1, 2, 3]",
        "{}",
        "{a: 1}",
        "{a: x}",
        "{b: 1}",
        "{a: 1, b: 2}",
        "{a: {a: 1}}",
        "{a: {a: x}, c: []}",
        "{a: null}",
    ]
    .map(|text| {
        let given = crate::testing::values(&format!("given: {text}"));
        given.get("given").unwrap_or_default()
    })
    .into()
}

fn schemas() -> Vec<Json> {
    let pieces = [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "integer"}),
        json!({"type": "number", "minimum": 0, "maximum": 3.25}),
        json!({"type": ["string", "null"]}),
        json!({"type": "nothing"}),
        json!({"type": ["string", "string"]}),
        json!({"enum": ["abc", 3, null, true]}),
        json!({"enum": [[1], {"a": 1}]}),
        json!({"enum": []}),
        json!({"const": 3.0}),
        json!({"const": {"a": 1}}),
        json!({"minimum": "0"}),
        json!({"maximum": 9_007_199_254_740_993_u64}),
        json!({"minLength": 3, "maxLength": 3}),
        json!({"minLength": -1}),
        json!({"minItems": 1, "maxItems": 2, "items": {"type": "integer"}}),
        json!({"items": [{"type": "string"}]}),
        json!({"items": false}),
        json!({"required": ["a"]}),
        json!({"required": ["a", "a"]}),
        json!({"properties": {"a": {"type": "integer"}}}),
        json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": 1}}),
        json!({"properties": {"z": {"type": "nothing"}}}),
        json!({"title": 1}),
        json!({"form": true, "sliderMin": 1}),
        json!({"pattern": "^[a-c]{1,3}$"}),
        json!({"pattern": "^\\d$"}),
        json!({"pattern": "("}),
        json!({"pattern": "ä|3", "type": "string"}),
        json!({"format": "uri"}),
        json!({"not": {"type": "string"}}),
        json!({"default": 1, "examples": [1], "$comment": "x"}),
        json!({"$anchor": "x"}),
    ];
    let mut all: Vec<Json> = pieces.to_vec();
    for (index, piece) in pieces.iter().enumerate() {
        let other = &pieces[(index * 7 + 3) % pieces.len()];
        for combinator in ["allOf", "anyOf", "oneOf"] {
            all.push(json!({combinator: [piece, other]}));
            all.push(json!({combinator: [piece, other, {"type": "integer"}]}));
        }
        all.push(json!({"$ref": "#/definitions/x.y-1", "definitions": {"x.y-1": piece}}));
        all.push(json!({"allOf": [{"$ref": "#/$defs/x", "description": "d"}], "$defs": {"x": piece}}));
        all.push(json!({"allOf": [{"$ref": "#/$defs/x", "type": "object"}], "$defs": {"x": piece}}));
        all.push(json!({"properties": {"a": piece}, "additionalProperties": other}));
        all.push(json!({"type": "object", "$id": "https://example.com/x.json", "properties": {"a": piece}}));
    }
    all.push(json!({"$schema": "http://json-schema.org/schema#", "$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}}));
    all.push(json!({"allOf": []}));
    all.push(json!({"$ref": "#/$defs/none"}));
    all.push(json!({"allOf": [{"$ref": "#"}]}));
    all.push(json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"properties": {"a": {"$ref": "#/$defs/x"}}}}}));
    all.push(json!({"$defs": {"x": {"$ref": "#/$defs/x"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}));
    all
}

/// All that is said here, for every schema in every draft and every value, is what the library says.
#[test]
fn what_is_said_of_values_is_what_the_library_says() {
    let (mut said, mut all) = (0, 0);
    for draft in
        [None, Some("http://json-schema.org/schema#"), Some("http://json-schema.org/draft-07/schema#")]
    {
        for mut schema in schemas() {
            if let (Some(draft), Json::Object(keywords)) = (draft, &mut schema) {
                keywords.insert("$schema".to_owned(), draft.into());
            }
            let Some(patterns) = patterns(&schema) else { continue };
            for value in values() {
                let own = Plain::new(&schema, &patterns).allows(&value);
                all += 1;
                said += usize::from(own.is_some());
                if own.is_some() {
                    assert_eq!(own, library(&schema, &value), "{schema} on {value:?}");
                }
            }
        }
    }
    assert!(said * 10 > all * 8, "of {all} only {said} were told");
}

#[test]
fn a_schema_that_the_library_refuses_is_not_plain() {
    for schema in schemas() {
        if patterns(&schema).is_some() && schema != json!({"allOf": [{"$ref": "#"}]}) {
            assert!(super::super::compile(&schema).is_ok(), "{schema}");
        }
    }
}

#[test]
fn schemas_of_other_kinds_are_left_to_the_library() {
    for schema in [
        json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        json!({"$schema": 1}),
        json!({"properties": {"a": {"$id": "https://example.com/x"}}}),
        json!({"$id": "https://json-schema.org/draft/2020-12/schema"}),
        json!({"$ref": "other.json#/definitions/x"}),
        json!({"$ref": "#/properties/a", "properties": {"a": {}}}),
        json!({"patternProperties": {"(": {}}}),
        json!([]),
    ] {
        assert!(patterns(&schema).is_none(), "{schema}");
    }
}

#[test]
fn references_that_multiply_are_given_up_before_they_take_long() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    let patterns = patterns(&schema).unwrap();
    assert_eq!(Plain::new(&schema, &patterns).allows(&Value::Bool(true)), None);
}

#[test]
fn very_long_lists_of_choices_are_left_to_the_library() {
    let choices = |many: usize| json!({"enum": (0..many).collect::<Vec<_>>()});
    assert!(patterns(&choices(MAX_DISTINCT)).is_some());
    assert!(patterns(&choices(MAX_DISTINCT + 1)).is_none());
}
