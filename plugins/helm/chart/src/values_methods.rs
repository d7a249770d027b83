//! What templates can call on `.Values` and on the top-level dot: the methods of Go's `common.Values`.

use crate::values::{VALUES, VALUES_TYPE};
use helm_template::{CallError, Context, Map, Method, NamedType, Signature, Str, Type, Value, fmt};

/// Go's `io.Writer`, of which templates have none.
const WRITER: Type = Type::Named(&NamedType { name: "io.Writer", underlying: Type::Any, methods: &[] });

/// All methods.
pub(crate) static METHODS: [Method; 5] = [
    Method { name: "AsMap", signature: Signature::new(&[], Type::MAP), body: as_map },
    Method { name: "Encode", signature: Signature::new(&[WRITER], Type::Any).fallible(), body: encode },
    Method {
        name: "PathValue",
        signature: Signature::new(&[Type::String], Type::Any).fallible(),
        body: path_value,
    },
    Method {
        name: "Table",
        signature: Signature::new(&[Type::String], Type::Named(&VALUES)).fallible(),
        body: table,
    },
    Method { name: "YAML", signature: Signature::new(&[], Type::String).fallible(), body: yaml },
];

type Result<T> = std::result::Result<T, CallError>;

fn map_of(receiver: &Value) -> Map {
    receiver.as_map().cloned().unwrap_or_default()
}

/// The same entries without the methods; never nil.
fn as_map(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value> {
    let map = map_of(receiver);
    Ok(Value::Map(if map.is_empty() { Map::new() } else { map.with_type(&Type::MAP) }))
}

/// Only nil is assignable to a parameter that nothing implements.
fn encode(_: &mut Context, _: &Value, _: &[Value]) -> Result<Value> {
    Err("runtime error: invalid memory address or nil pointer dereference".into())
}

fn yaml(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value> {
    let text = helm_yaml::to_yaml(&Value::Map(map_of(receiver)));
    text.map(|text| Value::String(Str::from_bytes(&text))).map_err(|error| error.to_string().as_str().into())
}

fn path_of(arguments: &[Value]) -> Str {
    arguments.first().and_then(Value::as_string).cloned().unwrap_or_default()
}

fn table(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value> {
    let path = path_of(arguments);
    match table_in(map_of(receiver), path.as_bytes()) {
        Ok(table) => Ok(Value::Map(table.with_type(&VALUES_TYPE))),
        Err(key) => Err(refused(&key, "table")),
    }
}

/// The table of a dotted path, or the part of it that names none.
fn table_in(values: Map, path: &[u8]) -> std::result::Result<Map, Vec<u8>> {
    let mut table = values;
    for key in path.split(|&byte| byte == b'.') {
        table = match table.get(key) {
            Some(Value::Map(inner)) if is_table_type(&inner) || inner.ty() == VALUES_TYPE => inner,
            _ => return Err(key.to_vec()),
        };
    }
    Ok(table)
}

/// Values that are a `map[string]interface {}`; maps of other types are none to Helm.
fn is_table_type(map: &Map) -> bool {
    map.ty() == Type::MAP
}

fn path_value(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value> {
    let path = path_of(arguments);
    let path = path.as_bytes();
    if path.is_empty() {
        return Err("YAML path cannot be empty".into());
    }
    let values = map_of(receiver);
    let (found, key) = match path.iter().rposition(|&byte| byte == b'.') {
        None => (values.get(path), path),
        Some(dot) => {
            let (parent, key) = path.split_at(dot);
            let key = key.get(1..).unwrap_or_default();
            (table_in(values, parent).ok().and_then(|table| table.get(key)), key)
        }
    };
    let found = found.filter(|value| !value.as_map().is_some_and(is_table_type));
    found.ok_or_else(|| refused(key, "value"))
}

fn refused(key: &[u8], what: &str) -> CallError {
    format!("{} is not a {what}", fmt::quote(key)).as_str().into()
}
