//! Schemas of specs.

use helm_survey::Survey;
use serde_json::{Value, json};

use crate::survey;

fn spec(survey: &Survey) -> &Value {
    &survey.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

/// The properties that a chart with this `values.schema.json` gets.
fn converted(schema: &Value) -> Value {
    spec(&survey(&[("values.schema.json", &schema.to_string())]))["properties"].clone()
}

/// Those of a chart with these values and this template.
fn inferred(values: &str, template: &str) -> Value {
    spec(&survey(&[("values.yaml", values), ("templates/a.yaml", template)]))["properties"].clone()
}

fn property(schema: Value) -> Value {
    converted(&json!({"type": "object", "properties": {"a": schema}}))["a"].clone()
}

#[test]
fn types_and_bounds_are_taken_over() {
    assert_eq!(
        property(
            json!({"type": "string", "minLength": 1, "pattern": "^[a-z]+$", "title": "Name", "format": "email", "examples": ["x"]})
        ),
        json!({"description": "Name", "type": "string", "nullable": true, "minLength": 1, "pattern": "^[a-z]+$"})
    );
    assert_eq!(
        property(json!({"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 9})),
        json!({"type": "integer", "nullable": true, "minimum": 1, "maximum": 9, "exclusiveMaximum": true})
    );
    assert_eq!(
        property(json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}))["exclusiveMinimum"],
        true
    );
    assert_eq!(property(json!({"type": ["string", "integer"]}))["x-kubernetes-int-or-string"], true);
    let any = json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true});
    for unsure in
        [json!({"type": ["string", "object"]}), json!(true), json!(false), json!({}), json!({"type": "null"})]
    {
        assert_eq!(property(unsure.clone()), any, "{unsure}");
    }
    assert_eq!(
        property(json!({"type": "string", "pattern": "(?=no)"})),
        json!({"type": "string", "nullable": true})
    );
}

#[test]
fn objects_keep_unknown_fields_unless_the_schema_forbids_them() {
    let fields = json!({"b": {"type": "boolean"}});
    let open = property(json!({"type": "object", "properties": fields}));
    assert_eq!(open["x-kubernetes-preserve-unknown-fields"], true);
    let closed = property(json!({"type": "object", "properties": fields, "additionalProperties": false}));
    assert_eq!(closed.get("x-kubernetes-preserve-unknown-fields"), None);
    let patterned =
        property(json!({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": false}));
    assert_eq!(patterned["x-kubernetes-preserve-unknown-fields"], true);
    let map = property(json!({"type": "object", "additionalProperties": {"type": "string"}}));
    assert_eq!(map["additionalProperties"], json!({"type": "string", "nullable": true}));
    let both =
        property(json!({"type": "object", "properties": fields, "additionalProperties": {"type": "string"}}));
    assert_eq!(
        (both.get("additionalProperties"), &both["x-kubernetes-preserve-unknown-fields"]),
        (None, &json!(true))
    );
}

#[test]
fn required_fields_may_come_from_defaults_but_not_in_lists() {
    let object =
        json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "string", "enum": ["x"]}}});
    let plain = property(object.clone());
    assert_eq!(plain.get("required"), None);
    assert_eq!(
        (&plain["properties"]["b"]["pattern"], plain["properties"]["b"].get("enum")),
        (&json!("^(?:x)$"), None)
    );
    let listed = property(json!({"type": "array", "items": object}));
    assert_eq!(listed["items"]["required"], json!(["b"]));
    assert_eq!(
        listed["items"]["properties"]["b"],
        json!({"description": "One of \"x\".", "type": "string", "enum": ["x"]})
    );
}

#[test]
fn references_are_resolved_and_those_without_end_are_bounded() {
    let schema = json!({
        "$defs": {
            "port": {"type": "integer", "description": "A port"},
            "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "port": {"$ref": "#/definitions/a~1b"}}},
            "named": {"$anchor": "here", "type": "boolean"},
        },
        "definitions": {"a/b": {"$ref": "#/$defs/port"}},
        "properties": {
            "p": {"$ref": "#/$defs/port", "description": "Mine"},
            "t": {"$ref": "#/$defs/tree"},
            "n": {"$ref": "#here"},
            "far": {"$ref": "https://example.com/schema.json"},
            "loop": {"$ref": "#/properties/loop"},
        },
    });
    let survey = survey(&[("values.schema.json", &schema.to_string())]);
    let found = &spec(&survey)["properties"];
    assert_eq!(found["p"], json!({"description": "Mine", "type": "integer", "nullable": true}));
    assert_eq!(found["t"]["properties"]["left"]["properties"]["port"]["type"], "integer");
    assert_eq!(found["n"]["type"], "boolean");
    assert_eq!(found["far"]["x-kubernetes-preserve-unknown-fields"], true);
    assert!(survey.notes.iter().any(|note| note.contains("https://example.com/schema.json")));
}

#[test]
fn combinations_are_folded_where_that_can_be_told() {
    let all = property(
        json!({"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {"properties": {"y": {"type": "integer"}}}]}),
    );
    assert_eq!(
        (&all["type"], &all["properties"]["x"]["type"], &all["properties"]["y"]["type"]),
        (&json!("object"), &json!("string"), &json!("integer"))
    );
    let any = property(json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}));
    assert_eq!((&any["x-kubernetes-int-or-string"], &any["nullable"]), (&json!(true), &json!(true)));
    assert_eq!(property(json!({"enum": ["a.b", "c"]}))["pattern"], "^(?:a\\.b|c)$");
    let unlike = property(json!({"oneOf": [{"type": "object"}, {"type": "string"}]}));
    assert_eq!(unlike, json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true}));
    let ways = property(
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}),
    );
    assert_eq!((&ways["type"], ways.get("required")), (&json!("object"), None));
    let either = property(json!({"oneOf": [
        {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": false},
        {"type": "object", "properties": {"x": {"type": "boolean"}, "y": {"type": "integer"}}},
    ]}));
    assert_eq!(either["properties"]["x"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(either["x-kubernetes-preserve-unknown-fields"], true);
}

#[test]
fn broken_schemas_are_told_and_the_values_are_taken() {
    let survey = survey(&[("values.schema.json", "{"), ("values.yaml", "a: {b: /x}")]);
    assert_eq!(spec(&survey)["properties"]["a"]["type"], "object");
    assert!(survey.notes.iter().any(|note| note.contains("values.schema.json is no JSON")));
}

#[test]
fn values_tell_types_only_where_another_would_make_no_sense() {
    let found = inferred(
        "enabled: true\nport: 80\nratio: 0.5\ntag: latest\nimage: {repository: docker.io/nginx, pullPolicy: Always}\nlist: [a]\nempty: {}\nnone: null\nnobody: []\nname: ''\ncpu: 1\nversion: '1.2'\n",
        "{{ if .Values.enabled }}{{ end }}",
    );
    assert_eq!(found["enabled"]["type"], "boolean");
    assert_eq!(found["port"]["x-kubernetes-int-or-string"], true);
    assert_eq!(found["image"]["type"], "object");
    assert_eq!(found["image"]["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(found["image"]["properties"]["repository"]["type"], "string");
    assert_eq!(found["image"]["properties"]["pullPolicy"]["type"], "string");
    assert_eq!(found["list"]["type"], "array");
    for unsure in ["ratio", "tag", "empty", "none", "nobody", "name", "cpu", "version"] {
        assert_eq!(found[unsure].get("type"), None, "{unsure}");
        assert_eq!(found[unsure]["x-kubernetes-preserve-unknown-fields"], true, "{unsure}");
    }
    assert!(found.as_object().unwrap().values().all(|property| property["nullable"] == true));
}

#[test]
fn templates_that_take_several_types_are_believed() {
    let template = "{{ if kindIs \"string\" .Values.image }}{{ end }}{{ with .Values.pvc }}{{ .existingClaim }}{{ end }}{{ if eq .Values.tls \"auto\" }}{{ end }}{{ if .Values.plain }}{{ end }}";
    let found =
        inferred("image: {tag: x}\npvc: {existingClaim: false}\ntls: false\nplain: false\n", template);
    assert_eq!(found["image"].get("type"), None);
    assert_eq!(found["image"]["properties"]["tag"]["description"], "Default: \"x\"");
    assert_eq!(found["pvc"]["properties"]["existingClaim"].get("type"), None);
    assert_eq!(found["tls"].get("type"), None);
    assert_eq!(found["plain"]["type"], "boolean");
    let text =
        inferred("service: {type: ClusterIP}\n", "{{ if eq .Values.service.type \"NodePort\" }}{{ end }}");
    assert_eq!(text["service"]["properties"]["type"]["type"], "string");
}

#[test]
fn comments_and_defaults_are_told_in_descriptions_and_nowhere_else() {
    let found = inferred("# -- How many pods\nreplicas: 2\nimage:\n  # The tag.\n  tag: latest\n", "");
    assert_eq!(found["replicas"]["description"], "How many pods. Default: 2");
    assert_eq!(found["image"]["properties"]["tag"]["description"], "The tag. Default: \"latest\"");
    assert!(!found.to_string().contains("\"default\""));
    let survey = survey(&[
        ("values.yaml", "# Out of values.\na: 1\nb: 2\n"),
        (
            "values.schema.json",
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "description": "Said."}}}"#,
        ),
    ]);
    assert_eq!(spec(&survey)["properties"]["a"]["description"], "Out of values. Default: 1");
    assert_eq!(spec(&survey)["properties"]["b"]["description"], "Said. Default: 2");
}

#[test]
fn a_schema_that_is_too_large_tells_less() {
    let mut values = String::new();
    for a in 0..60 {
        values.push_str(&format!("a{a}:\n"));
        for b in 0..60 {
            values.push_str(&format!("  # -- {}\n  b{b}: {{c: 1}}\n", "words ".repeat(20)));
        }
    }
    let survey = survey(&[("values.yaml", &values)]);
    assert!(survey.crd.to_string().len() < 200 << 10);
    assert_eq!(spec(&survey)["properties"]["a0"]["x-kubernetes-preserve-unknown-fields"], true);
    assert!(survey.notes.iter().any(|note| note.contains("too large")));
}

#[test]
fn dependencies_have_their_place_in_the_spec() {
    let chart = "apiVersion: v2\nname: site\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, alias: store}]\n";
    let survey = survey(&[("Chart.yaml", chart), ("values.yaml", "a: 1")]);
    assert_eq!(spec(&survey)["properties"]["store"]["description"], "Values of the dependency db.");
    assert!(survey.notes.iter().any(|note| note.contains("db is not in charts/")));
}

#[test]
fn the_definition_shows_what_the_plugin_writes_into_status() {
    let survey = survey(&[("values.yaml", "a: 1")]);
    let version = &survey.crd["spec"]["versions"][0];
    assert_eq!(survey.crd["metadata"]["name"], "sites.charts.example.com");
    assert_eq!(survey.crd["spec"]["scope"], "Namespaced");
    assert_eq!((&version["subresources"], &version["storage"]), (&json!({"status": {}}), &json!(true)));
    let columns: Vec<_> = version["additionalPrinterColumns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(columns, ["Ready", "Revision", "Chart", "Age"]);
    let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
    assert_eq!(status["properties"]["conditions"]["x-kubernetes-list-map-keys"], json!(["type"]));
    assert_eq!(status["properties"]["release"]["properties"]["revision"]["type"], "integer");
    assert_eq!(status["properties"]["deployedRelease"]["properties"]["manifest"]["nullable"], true);
    assert_eq!(status["x-kubernetes-preserve-unknown-fields"], true);
}
