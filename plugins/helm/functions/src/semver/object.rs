//! A version as templates see it: `*semver.Version` with its methods.

use helm_template::{CallError, Context, Method, NamedType, Object, ObjectRef, Signature, Str, Type, Value};

use super::Version;

static VERSION: NamedType = NamedType {
    name: "semver.Version",
    underlying: Type::Struct,
    methods: &[
        method("Major", Type::Uint(helm_template::UintType::Uint64), |_, version, _| {
            number(version, |v| v.major)
        }),
        method("Minor", Type::Uint(helm_template::UintType::Uint64), |_, version, _| {
            number(version, |v| v.minor)
        }),
        method("Patch", Type::Uint(helm_template::UintType::Uint64), |_, version, _| {
            number(version, |v| v.patch)
        }),
        method("Prerelease", Type::String, |_, version, _| string(version, |v| v.pre.clone())),
        method("Metadata", Type::String, |_, version, _| string(version, |v| v.metadata.clone())),
        method("Original", Type::String, |_, version, _| string(version, |v| v.original.clone())),
        method("String", Type::String, |_, version, _| string(version, ToString::to_string)),
        Method {
            name: "Compare",
            // The parameter is `*Version`; naming it here would make the static refer to itself.
            signature: Signature::new(&[Type::Any], Type::INT),
            body: |_, version, args| {
                let other =
                    args.first().and_then(of).ok_or_else(|| CallError::new("nil pointer dereference"))?;
                let order = of(version).map_or(0, |version| version.compare(&other) as i64);
                Ok(Value::int(order))
            },
        },
    ],
};

const POINTER: Type = Type::Pointer(&Type::Named(&VERSION));

type Body = fn(&mut Context, &Value, &[Value]) -> Result<Value, CallError>;

const fn method(name: &'static str, result: Type, body: Body) -> Method {
    Method { name, signature: Signature::new(&[], result), body }
}

#[derive(Debug)]
struct VersionObject(Version);

impl Object for VersionObject {
    fn ty(&self) -> Type {
        POINTER
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }
}

/// The template's value of a version.
pub(super) fn value(version: Version) -> Value {
    Value::Object(ObjectRef::new(VersionObject(version)))
}

fn of(value: &Value) -> Option<Version> {
    value.as_object::<VersionObject>().map(|object| object.0.clone())
}

fn number(value: &Value, part: fn(&Version) -> u64) -> Result<Value, CallError> {
    of(value)
        .map(|version| Value::from(part(&version)))
        .ok_or_else(|| CallError::new("nil pointer dereference"))
}

fn string(value: &Value, part: fn(&Version) -> String) -> Result<Value, CallError> {
    of(value)
        .map(|version| Value::from(part(&version)))
        .ok_or_else(|| CallError::new("nil pointer dereference"))
}
