//! `.Files`: the chart's other files as templates see them (Helm's `pkg/engine/files.go`).

use crate::{file::File, glob::Glob, go_path};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use helm_template::{CallError, Context, List, Map, Method, NamedType, Signature, Str, Type, Value};

/// Go's `engine.files`: a `map[string][]byte` with methods.
static FILES: Type = Type::Named(&NamedType {
    name: "engine.files",
    underlying: Type::Map(&Type::BYTES),
    methods: &[
        Method { name: "Get", signature: Signature::new(&[Type::String], Type::String), body: get },
        Method { name: "GetBytes", signature: Signature::new(&[Type::String], Type::BYTES), body: get_bytes },
        Method {
            name: "Glob",
            signature: Signature::new(&[Type::String], Type::Map(&Type::BYTES)),
            body: glob,
        },
        Method { name: "AsConfig", signature: Signature::new(&[], Type::String), body: as_config },
        Method { name: "AsSecrets", signature: Signature::new(&[], Type::String), body: as_secrets },
        Method { name: "Lines", signature: Signature::new(&[Type::String], Type::STRINGS), body: lines },
    ],
});

/// The value of `.Files`. Of files with the same name the last counts.
pub(crate) fn files_value(files: &[File]) -> Value {
    let map = Map::typed(&FILES);
    map.extend_from(files.iter().map(|file| (&*file.name, Value::bytes(file.data.clone()))));
    Value::Map(map)
}

fn content(receiver: &Value, arguments: &[Value]) -> Option<Value> {
    receiver.as_map()?.get(arguments.first()?.as_bytes()?)
}

fn get(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value, CallError> {
    let content = content(receiver, arguments);
    Ok(Value::String(Str::from_bytes(content.as_ref().and_then(Value::as_bytes).unwrap_or_default())))
}

fn get_bytes(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value, CallError> {
    Ok(content(receiver, arguments).unwrap_or_else(|| Value::bytes([])))
}

fn glob(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value, CallError> {
    let pattern = arguments.first().and_then(Value::as_string).cloned().unwrap_or_default();
    let glob = Glob::compile_or_everything(&pattern.to_str_lossy());
    let matched = Map::typed(&FILES);
    let files = receiver.as_map().map(Map::snapshot).unwrap_or_default();
    matched.extend_from(files.into_iter().filter(|(name, _)| glob.matches(&name.to_str_lossy())));
    Ok(Value::Map(matched))
}

fn as_config(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    Ok(by_base_name(receiver, Str::from_bytes))
}

fn as_secrets(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    Ok(by_base_name(receiver, |bytes| STANDARD.encode(bytes).into()))
}

/// The files as a YAML map from the last element of their path; nothing when there is no such map.
fn by_base_name(receiver: &Value, encode: impl Fn(&[u8]) -> Str) -> Value {
    let Some(files) = receiver.as_map().filter(|files| !files.is_nil()) else { return Value::empty_string() };
    let texts = Map::typed(&Type::STRING_MAP);
    for (name, data) in files.snapshot() {
        texts.insert(go_path::base(&name.to_str_lossy()), encode(data.as_bytes().unwrap_or_default()));
    }
    let yaml = helm_yaml::to_yaml(&Value::Map(texts)).unwrap_or_default();
    Value::String(Str::from_bytes(yaml.strip_suffix(b"\n").unwrap_or(&yaml)))
}

fn lines(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value, CallError> {
    let content = content(receiver, arguments);
    let bytes = content.as_ref().and_then(Value::as_bytes).unwrap_or_default();
    if bytes.is_empty() {
        return Ok(Value::List(List::strings::<Value>([])));
    }
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    Ok(Value::List(List::strings(bytes.split(|&byte| byte == b'\n').map(Str::from_bytes))))
}
