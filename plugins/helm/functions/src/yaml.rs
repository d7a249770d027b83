//! YAML and JSON in and out (`pkg/engine/funcs.go` of Helm, sprig's defaults.go).

use helm_template::{List, Map, Signature, Str, Type, Value};
use helm_yaml::{Duplicates, json};

use crate::register::{ANY_TEXT, Register, arg, fail, text};

pub(crate) fn register(all: &mut Register) {
    yaml(all);
    from_json(all);
    to_json(all);
}

fn string(bytes: &[u8]) -> Value {
    Value::String(Str::from_bytes(bytes))
}

/// Without the line break at the end: `toYaml | nindent` would double it.
fn trimmed(bytes: &[u8]) -> Value {
    string(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

fn yaml(all: &mut Register) {
    // An error is swallowed inside a template, as Helm does.
    all.add("toYaml", ANY_TEXT, |args| {
        Ok(helm_yaml::to_yaml(arg(args, 0)).map_or_else(|_| string(b""), |out| trimmed(&out)))
    });
    all.add("mustToYaml", ANY_TEXT, |args| {
        helm_yaml::to_yaml(arg(args, 0)).map(|out| trimmed(&out)).map_err(|error| fail(error.to_string()))
    });
    all.add("toYamlPretty", ANY_TEXT, |args| {
        Ok(helm_yaml::to_yaml_pretty(arg(args, 0)).map_or_else(|| string(b""), |out| trimmed(&out)))
    });
    all.add("fromYaml", Signature::new(&[Type::String], Type::MAP), |args| {
        Ok(Value::Map(
            helm_yaml::from_yaml_map(text(args, 0), Duplicates::LastWins)
                .unwrap_or_else(|error| error_map(&error.to_string())),
        ))
    });
    all.add("fromYamlArray", Signature::new(&[Type::String], Type::SLICE), |args| {
        let list = helm_yaml::from_yaml_list(text(args, 0), Duplicates::LastWins);
        Ok(Value::List(list.unwrap_or_else(|error| List::new(vec![Value::from(error.to_string())]))))
    });
}

fn error_map(message: &str) -> Map {
    let map = Map::new();
    map.insert("Error", message);
    map
}

fn from_json(all: &mut Register) {
    all.add("fromJson", Signature::new(&[Type::String], Type::MAP), |args| {
        let source = text(args, 0);
        if source.trim_ascii() == b"null" {
            return Ok(Value::Map(Map::nil(&Type::MAP)));
        }
        let (map, error) = json::from_json_map(source);
        if let Some(error) = error {
            map.insert("Error", error.to_string());
        }
        Ok(Value::Map(map))
    });
    all.add("fromJsonArray", Signature::new(&[Type::String], Type::SLICE), |args| {
        let source = text(args, 0);
        if source.trim_ascii() == b"null" {
            return Ok(Value::List(List::nil(&Type::SLICE)));
        }
        let (list, error) = json::from_json_list(source);
        Ok(Value::List(error.map_or(list, |error| List::new(vec![Value::from(error.to_string())]))))
    });
    all.add("mustFromJson", Signature::new(&[Type::String], Type::Any).fallible(), |args| {
        match json::from_json(text(args, 0)) {
            (value, None) => Ok(value),
            (_, Some(error)) => Err(fail(error.to_string())),
        }
    });
}

fn to_json(all: &mut Register) {
    type Write = fn(&Value) -> Result<Vec<u8>, json::Error>;
    let writers: [(&str, &str, Write); 3] = [
        ("toJson", "mustToJson", json::to_json),
        ("toPrettyJson", "mustToPrettyJson", json::to_json_pretty),
        ("toRawJson", "mustToRawJson", json::to_json_raw),
    ];
    for (name, must, write) in writers {
        let strict = move |args: &[Value]| {
            write(arg(args, 0)).map(|out| string(&out)).map_err(|error| fail(error.to_string()))
        };
        match name {
            // It panics where the others swallow the error.
            "toRawJson" => all.add(name, ANY_TEXT, strict),
            _ => all.add(name, ANY_TEXT, move |args| Ok(strict(args).unwrap_or_else(|_| string(b"")))),
        }
        // Helm's own returns no error but panics, which a template reports alike.
        let signature = if must == "mustToJson" { ANY_TEXT } else { ANY_TEXT.fallible() };
        all.add(must, signature, strict);
    }
}
