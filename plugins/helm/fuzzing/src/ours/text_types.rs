//! The twins of the types of `testbed/helm-oracle/text/types.go`, and JSON into values as it decodes it.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::{
    CallError, Context, FloatType, Function, IntType, List, Map, Method, NamedType, Object, Signature, Str,
    Type, UintType, Value, fmt,
};
use serde_json::Value as Json;

pub(crate) static VALUES: NamedType =
    NamedType { name: "text.Values", underlying: Type::MAP, methods: &VALUES_METHODS };
pub(crate) static VALUES_TYPE: Type = Type::Named(&VALUES);

static VALUES_METHODS: [Method; 2] = [
    Method {
        name: "Size",
        signature: Signature::new(&[], Type::INT),
        body: |_, this, _| Ok(map(this).len().into()),
    },
    Method {
        name: "Table",
        signature: Signature::new(&[Type::String], Type::Named(&VALUES)).fallible(),
        body: |_, this, args| {
            let name = args[0].as_string().unwrap();
            match map(this).get(name) {
                Some(Value::Map(table)) if table.ty() == Type::MAP => {
                    Ok(Value::Map(table.with_type(&VALUES_TYPE)))
                }
                _ => Err(format!("{} is not a table", fmt::quote(name.as_bytes())).into()),
            }
        },
    },
];

static NAMES: NamedType = NamedType {
    name: "text.Names",
    underlying: Type::STRINGS,
    methods: &[Method {
        name: "Has",
        signature: Signature::new(&[Type::String], Type::Bool),
        body: |_, this, args| Ok(this.as_list().unwrap().iter().any(|name| *name == args[0]).into()),
    }],
};
static NAMES_TYPE: Type = Type::Named(&NAMES);

static FILES: NamedType = NamedType {
    name: "text.Files",
    underlying: Type::Map(&Type::BYTES),
    methods: &[Method {
        name: "Get",
        signature: Signature::new(&[Type::String], Type::String),
        body: |_, this, args| {
            let file = map(this).get(args[0].as_string().unwrap());
            Ok(file.and_then(|file| file.as_bytes().map(Str::from_bytes)).unwrap_or_default().into())
        },
    }],
};
static FILES_TYPE: Type = Type::Named(&FILES);

static POINT: NamedType = NamedType { name: "text.Point", underlying: Type::Struct, methods: &[] };
static POINT_TYPE: Type = Type::Named(&POINT);

static VERSION: NamedType =
    NamedType { name: "text.Version", underlying: Type::Struct, methods: &VERSION_METHODS };

static VERSION_METHODS: [Method; 7] = [
    Method {
        name: "String",
        signature: Signature::new(&[], Type::String),
        body: |_, this, _| Ok(version(this).text().unwrap().into()),
    },
    Method {
        name: "Bump",
        signature: Signature::new(&[Type::INT], Type::Named(&VERSION)),
        body: |_, this, args| {
            let version = version(this);
            let major = version.major + args[0].as_i64().unwrap();
            Ok(Value::object(Version { major, label: version.label.clone() }))
        },
    },
    Method {
        name: "Join",
        signature: Signature::variadic(&[Type::String], &Type::String, Type::String),
        body: |_, this, args| {
            let texts: Vec<String> = args.iter().map(|arg| arg.as_string().unwrap().to_string()).collect();
            Ok(format!("{}{}{}", version(this).label, texts[0], texts[1..].join(&texts[0])).into())
        },
    },
    Method {
        name: "Fail",
        signature: Signature::new(&[], Type::String).fallible(),
        body: |_, _, _| Err("version failed".into()),
    },
    Method {
        name: "Any",
        signature: Signature::new(&[Type::Any], Type::String),
        body: |_, _, args| Ok(args[0].type_name().into()),
    },
    Method {
        name: "Narrow",
        signature: Signature::new(&[Type::Int(IntType::Int8), Type::FLOAT64, Type::Bool], Type::String),
        body: |_, _, args| Ok(fmt::sprint(args)?.into()),
    },
    Method {
        name: "Table",
        signature: Signature::new(&[Type::MAP], Type::INT),
        body: |_, _, args| Ok(map(&args[0]).len().into()),
    },
];

pub(crate) static MILLIS: NamedType = NamedType {
    name: "text.Millis",
    underlying: Type::INT64,
    methods: &[Method {
        name: "String",
        signature: Signature::new(&[], Type::String),
        body: |_, this, _| Ok(this.as_object::<Millis>().unwrap().text().unwrap().into()),
    }],
};

static PLAIN: NamedType = NamedType { name: "text.Plain", underlying: Type::String, methods: &[] };

fn map(value: &Value) -> &Map {
    value.as_map().unwrap()
}

fn version(value: &Value) -> &Version {
    value.as_object().unwrap()
}

const FIELDS: [&str; 4] = ["X", "Y", "Name", "Any"];

#[derive(Debug)]
struct Point {
    ty: Type,
    fields: Option<[Value; 4]>,
}

impl Object for Point {
    fn ty(&self) -> Type {
        self.ty
    }
    fn field(&self, name: &str) -> Option<Value> {
        self.fields().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
    fn has_field(&self, name: &str) -> bool {
        FIELDS.contains(&name)
    }
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let Some(fields) = &self.fields else { return Vec::new() };
        FIELDS.into_iter().zip(fields.iter().cloned()).collect()
    }
    fn is_nil(&self) -> bool {
        self.fields.is_none()
    }
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        let other = other.fields();
        let pairs = self.fields().into_iter().zip(other);
        pairs.map(|((_, a), (_, b))| a.plain_equal(&b)).try_fold(true, |all, one| Some(all && one?))
    }
}

#[derive(Debug)]
struct Version {
    major: i64,
    label: String,
}

impl Object for Version {
    fn ty(&self) -> Type {
        Type::Named(&VERSION)
    }
    fn field(&self, name: &str) -> Option<Value> {
        self.fields().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("Major", Value::int(self.major)), ("Label", self.label.as_str().into())]
    }
    fn text(&self) -> Option<Str> {
        Some(format!("v{}-{}", self.major, self.label).into())
    }
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.fields() == other.fields())
    }
}

#[derive(Debug)]
pub(crate) struct Millis(pub(crate) i64);

impl Object for Millis {
    fn ty(&self) -> Type {
        Type::Named(&MILLIS)
    }
    fn underlying(&self) -> Option<Value> {
        Some(self.0.into())
    }
    fn text(&self) -> Option<Str> {
        Some(format!("{}ms", self.0).into())
    }
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.underlying() == other.underlying())
    }
}

#[derive(Debug)]
struct Plain(Str);

impl Object for Plain {
    fn ty(&self) -> Type {
        Type::Named(&PLAIN)
    }
    fn underlying(&self) -> Option<Value> {
        Some(self.0.clone().into())
    }
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.underlying() == other.underlying())
    }
}

/// Decodes the data of a case.
pub fn decode(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => number.as_f64().unwrap().into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(items.iter().map(decode).collect()),
        Json::Object(entries) => {
            if let (1, Some((key, inner))) = (entries.len(), entries.iter().next())
                && let Some(kind) = key.strip_prefix('$')
            {
                return special(kind, inner);
            }
            Value::Map(entries.iter().map(|(key, value)| (key.as_str(), decode(value))).collect())
        }
    }
}

fn signed(json: &Json) -> i64 {
    json.as_i64().unwrap_or_else(|| json.as_str().unwrap().parse().unwrap())
}

fn unsigned(json: &Json) -> u64 {
    json.as_u64().unwrap_or_else(|| json.as_str().unwrap().parse().unwrap())
}

fn float(json: &Json) -> f64 {
    json.as_f64().unwrap_or_else(|| json.as_str().unwrap().parse().unwrap())
}

fn items(json: &Json) -> Vec<Value> {
    json.as_array().unwrap().iter().map(decode).collect()
}

fn typed_map(ty: &'static Type, json: &Json, value: impl Fn(&Json) -> Value) -> Value {
    let map = Map::typed(ty);
    map.extend_from(json.as_object().unwrap().iter().map(|(key, inner)| (key.as_str(), value(inner))));
    Value::Map(map)
}

fn point(ty: Type, json: &Json) -> Value {
    let number = |key: &str| Value::int(json[key].as_i64().unwrap());
    let fields = [number("x"), number("y"), decode(&json["name"]), decode(&json["any"])];
    Value::object(Point { ty, fields: Some(fields) })
}

fn special(kind: &str, json: &Json) -> Value {
    static INTS: Type = Type::Slice(&Type::INT);
    static MAPS: Type = Type::Slice(&Type::MAP);
    match kind {
        "int" => Value::Int(signed(json), IntType::Int),
        "int8" => Value::Int(signed(json), IntType::Int8),
        "int16" => Value::Int(signed(json), IntType::Int16),
        "int32" => Value::Int(signed(json), IntType::Int32),
        "int64" => Value::Int(signed(json), IntType::Int64),
        "uint" => Value::Uint(unsigned(json), UintType::Uint),
        "uint8" => Value::Uint(unsigned(json), UintType::Uint8),
        "uint16" => Value::Uint(unsigned(json), UintType::Uint16),
        "uint32" => Value::Uint(unsigned(json), UintType::Uint32),
        "uint64" => Value::Uint(unsigned(json), UintType::Uint64),
        #[expect(clippy::cast_possible_truncation, reason = "that is what is wanted")]
        "float32" => Value::Float(f64::from(float(json) as f32), FloatType::Float32),
        "float64" => float(json).into(),
        "bytes" => Value::bytes(STANDARD.decode(json.as_str().unwrap()).unwrap()),
        "raw" => Str::from(STANDARD.decode(json.as_str().unwrap()).unwrap()).into(),
        "strings" => Value::List(List::typed(&Type::STRINGS, items(json))),
        "ints" => Value::List(List::typed(&INTS, items(json))),
        "maps" => Value::List(List::typed(&MAPS, items(json))),
        "names" => Value::List(List::typed(&NAMES_TYPE, items(json))),
        "stringmap" => typed_map(&Type::STRING_MAP, json, decode),
        "values" => typed_map(&VALUES_TYPE, json, decode),
        "files" => typed_map(&FILES_TYPE, json, |text| Value::bytes(text.as_str().unwrap().as_bytes())),
        "nil" => match json.as_str().unwrap() {
            "map" => Value::Map(Map::nil(&Type::MAP)),
            "slice" => Value::List(List::nil(&Type::SLICE)),
            "values" => Value::Map(Map::nil(&VALUES_TYPE)),
            _ => Value::object(Point { ty: Type::Pointer(&POINT_TYPE), fields: None }),
        },
        "point" => point(POINT_TYPE, json),
        "pointer" => point(Type::Pointer(&POINT_TYPE), json),
        "version" => {
            let label = json["label"].as_str().unwrap().to_owned();
            Value::object(Version { major: json["major"].as_i64().unwrap(), label })
        }
        "millis" => Value::object(Millis(signed(json))),
        "plain" => Value::object(Plain(json.as_str().unwrap().into())),
        "func" => Value::Func(Rc::new(data_function(json.as_str().unwrap()))),
        other => panic!("unknown special value {other}"),
    }
}

fn data_function(name: &str) -> Function {
    type Body = fn(&mut Context, &[Value]) -> Result<Value, CallError>;
    let (signature, body): (_, Body) = match name {
        "double" => {
            (Signature::new(&[Type::INT], Type::INT), |_, args| Ok(Value::int(2 * args[0].as_i64().unwrap())))
        }
        "fails" => (Signature::new(&[], Type::String).fallible(), |_, _| Err("func failed".into())),
        _ => (Signature::variadic(&[Type::String], &Type::Any, Type::String), |_, args| {
            Ok(format!("{}{}", args[0].as_string().unwrap(), fmt::sprint(&args[1..])?).into())
        }),
    };
    Function::new(name, signature, body)
}
