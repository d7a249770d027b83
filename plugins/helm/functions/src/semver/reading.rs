//! The methods that read a version anew. What they return is an error as a value: it stops no template.

use std::cell::RefCell;
use std::collections::BTreeMap;

use helm_template::{CallError, Method, MethodBody, NamedType, Object, Signature, Str, Type, Value};

use super::{SemverError, Version, object};

/// `Scan`, of databases.
pub(super) const SCAN: Method = method("Scan", &[Type::Any], |_, this, args| {
    let text = match args.first() {
        None | Some(Value::Nil) => return Ok(error("cannot scan nil into Version")),
        Some(given @ (Value::String(_) | Value::Bytes(_))) => given.as_bytes().unwrap_or_default(),
        Some(other) => return Ok(error(format!("unsupported Scan type {}", other.type_name()))),
    };
    read(this, text)
});
/// `UnmarshalText`.
pub(super) const TEXT: Method = method("UnmarshalText", &[Type::BYTES], |_, this, args| {
    read(this, args.first().and_then(Value::as_bytes).unwrap_or_default())
});
/// `UnmarshalJSON`.
pub(super) const JSON: Method = method("UnmarshalJSON", &[Type::BYTES], |_, this, args| {
    let text = args.first().and_then(Value::as_bytes).unwrap_or_default();
    let (value, wrong) = helm_yaml::json::from_json(text);
    match (wrong, value) {
        (Some(wrong), _) => Ok(failure(&SYNTAX, wrong.to_string())),
        (None, Value::String(version)) => read(this, version.as_bytes()),
        // JSON's null leaves a text as it is, which is empty.
        (None, Value::Nil) => read(this, b""),
        (None, other) => {
            let kind = match other {
                Value::Bool(_) => "bool",
                Value::List(_) => "array",
                Value::Map(_) => "object",
                _ => "number",
            };
            Ok(failure(&TYPE, format!("json: cannot unmarshal {kind} into Go value of type string")))
        }
    }
});

const fn method(name: &'static str, params: &'static [Type], body: MethodBody) -> Method {
    Method { name, signature: Signature::new(params, Type::Named(&ERROR)), body }
}

fn read(this: &Value, text: &[u8]) -> Result<Value, CallError> {
    match Version::parse(&String::from_utf8_lossy(text)) {
        Ok(version) => object::replace(this, version).map(|()| Value::object(NoError)),
        Err(wrong @ SemverError::Number(_)) => Ok(failure(&WRAPPED, wrong.to_string())),
        Err(wrong) => Ok(the_error(wrong.to_string())),
    }
}

/// One of the errors that are variables of the package: always the same, to which `eq` looks.
fn the_error(message: String) -> Value {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, Value>> = const { RefCell::new(BTreeMap::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        known.entry(message).or_insert_with_key(|message| error(message.as_str())).clone()
    })
}

const MESSAGE: Method = Method {
    name: "Error",
    signature: Signature::new(&[], Type::String),
    body: |_, this, _| match this.as_object::<Failure>() {
        Some(failure) => Ok(Value::String(failure.message.clone())),
        None => Err(CallError::Refused("nil pointer evaluating error.Error".to_owned())),
    },
};

/// The interface.
static ERROR: NamedType = NamedType { name: "error", underlying: Type::Any, methods: &[MESSAGE] };

/// What errors are.
static PLAIN: Type =
    failure_type(&NamedType { name: "errors.errorString", underlying: Type::Struct, methods: &[MESSAGE] });
static WRAPPED: Type =
    failure_type(&NamedType { name: "fmt.wrapError", underlying: Type::Struct, methods: &[MESSAGE] });
static SYNTAX: Type =
    failure_type(&NamedType { name: "json.SyntaxError", underlying: Type::Struct, methods: &[MESSAGE] });
static TYPE: Type = failure_type(&NamedType {
    name: "json.UnmarshalTypeError",
    underlying: Type::Struct,
    methods: &[MESSAGE],
});

const fn failure_type(named: &'static NamedType) -> Type {
    Type::Named(named)
}

#[derive(Debug)]
struct Failure {
    ty: &'static Type,
    message: Str,
}

impl Object for Failure {
    fn ty(&self) -> Type {
        Type::Pointer(self.ty)
    }

    fn text(&self) -> Option<Str> {
        Some(self.message.clone())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("s", Value::String(self.message.clone()))]
    }

    fn json_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(Vec::new())
    }
}

/// A nil `error`, which is not quite nothing: it prints, and only as an argument is it nil.
#[derive(Debug)]
struct NoError;

impl Object for NoError {
    fn ty(&self) -> Type {
        Type::Named(&ERROR)
    }

    fn text(&self) -> Option<Str> {
        Some("<nil>".into())
    }

    fn is_nil(&self) -> bool {
        true
    }

    fn in_interface(&self) -> Option<Value> {
        Some(Value::Nil)
    }
}

fn failure(ty: &'static Type, message: impl Into<Str>) -> Value {
    Value::object(Failure { ty, message: message.into() })
}

fn error(message: impl Into<Str>) -> Value {
    failure(&PLAIN, message)
}
