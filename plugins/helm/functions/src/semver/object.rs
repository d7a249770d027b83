//! A version as templates see it: `*semver.Version` with its methods.

use std::cmp::Ordering;

use helm_template::{CallError, Context, Method, NamedType, Object, ObjectRef, Signature, Str, Type, Value};

use super::Version;
use crate::register::NIL_POINTER;

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
        comparing("Compare", Type::INT, |_, v, args| Ok(Value::int(order(v, args)? as i64))),
        comparing("Equal", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_eq()))),
        comparing("LessThan", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_lt()))),
        comparing("LessThanEqual", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_le()))),
        comparing("GreaterThan", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_gt()))),
        comparing("GreaterThanEqual", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_ge()))),
    ],
};

pub(super) const POINTER: Type = Type::Pointer(&Type::Named(&VERSION));

type Body = fn(&mut Context, &Value, &[Value]) -> Result<Value, CallError>;

const fn method(name: &'static str, result: Type, body: Body) -> Method {
    Method { name, signature: Signature::new(&[], result), body }
}

/// A method that compares with another version. Its parameter is `*semver.Version`.
const fn comparing(name: &'static str, result: Type, body: Body) -> Method {
    Method { name, signature: Signature::new(&OTHER, result), body }
}

static OTHER: [Type; 1] = [Type::Pointer(&NAMED)];
static NAMED: Type = Type::Named(&VERSION);

fn order(version: &Value, args: &[Value]) -> Result<Ordering, CallError> {
    match (of(version), args.first().and_then(of)) {
        (Some(version), Some(other)) => Ok(version.compare(&other)),
        _ => Err(CallError::new(NIL_POINTER)),
    }
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

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let version = &self.0;
        vec![
            ("major", version.major.into()),
            ("minor", version.minor.into()),
            ("patch", version.patch.into()),
            ("pre", (&version.pre).into()),
            ("metadata", (&version.metadata).into()),
            ("original", (&version.original).into()),
        ]
    }
}

/// The template's value of a version.
pub(super) fn value(version: Version) -> Value {
    Value::Object(ObjectRef::new(VersionObject(version)))
}

pub(super) fn of(value: &Value) -> Option<Version> {
    value.as_object::<VersionObject>().map(|object| object.0.clone())
}

fn number(value: &Value, part: fn(&Version) -> u64) -> Result<Value, CallError> {
    of(value).map(|version| Value::from(part(&version))).ok_or_else(|| CallError::new(NIL_POINTER))
}

fn string(value: &Value, part: fn(&Version) -> String) -> Result<Value, CallError> {
    of(value).map(|version| Value::from(part(&version))).ok_or_else(|| CallError::new(NIL_POINTER))
}
