//! A version as templates see it: `*semver.Version` with its methods.

use std::cell::RefCell;
use std::cmp::Ordering;

use helm_template::{
    CallError, Context, Method, NamedType, Object, ObjectRef, Signature, Str, Type, UintType, Value,
};

use super::{Version, reading};
use crate::register::NIL_POINTER;

static VERSION: NamedType = NamedType {
    name: "semver.Version",
    underlying: Type::Struct,
    methods: &[
        MAJOR,
        MINOR,
        PATCH,
        PRERELEASE,
        METADATA,
        STRING,
        NEXT_MAJOR,
        NEXT_MINOR,
        NEXT_PATCH,
        WITH_PRERELEASE,
        WITH_METADATA,
        JSON,
        TEXT,
        VALUE,
        reading::SCAN,
        reading::TEXT,
        reading::JSON,
        method("Original", Type::String, |_, version, _| string(version, |v| v.original.clone())),
        comparing("Compare", Type::INT, |_, v, args| Ok(Value::int(order(v, args)? as i64))),
        comparing("Equal", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_eq()))),
        comparing("LessThan", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_lt()))),
        comparing("LessThanEqual", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_le()))),
        comparing("GreaterThan", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_gt()))),
        comparing("GreaterThanEqual", Type::Bool, |_, v, args| Ok(Value::Bool(order(v, args)?.is_ge()))),
    ],
};

/// The type without the pointer, which has only the methods that need none.
static BARE: NamedType = NamedType {
    name: "semver.Version",
    underlying: Type::Struct,
    methods: &[
        MAJOR,
        MINOR,
        PATCH,
        PRERELEASE,
        METADATA,
        STRING,
        NEXT_MAJOR,
        NEXT_MINOR,
        NEXT_PATCH,
        WITH_PRERELEASE,
        WITH_METADATA,
        JSON,
        TEXT,
        VALUE,
    ],
};

const NUMBER: Type = Type::Uint(UintType::Uint64);
const MAJOR: Method = method("Major", NUMBER, |_, version, _| number(version, |v| v.major));
const MINOR: Method = method("Minor", NUMBER, |_, version, _| number(version, |v| v.minor));
const PATCH: Method = method("Patch", NUMBER, |_, version, _| number(version, |v| v.patch));
const PRERELEASE: Method =
    method("Prerelease", Type::String, |_, version, _| string(version, |v| v.pre.clone()));
const METADATA: Method =
    method("Metadata", Type::String, |_, version, _| string(version, |v| v.metadata.clone()));
const STRING: Method = method("String", Type::String, |_, version, _| string(version, ToString::to_string));
// Their results have the type without the pointer, which cannot be named within itself.
const NEXT_MAJOR: Method =
    method("IncMajor", Type::Any, |_, version, _| changed(version, Version::next_major));
const NEXT_MINOR: Method =
    method("IncMinor", Type::Any, |_, version, _| changed(version, Version::next_minor));
const NEXT_PATCH: Method =
    method("IncPatch", Type::Any, |_, version, _| changed(version, Version::next_patch));
const WITH_PRERELEASE: Method = setting("SetPrerelease", |_, version, args| {
    let wanted = wanted(args);
    changed(version, |version| version.with_prerelease(&wanted).map_err(|error| error.to_string()))
});
const WITH_METADATA: Method = setting("SetMetadata", |_, version, args| {
    let wanted = wanted(args);
    changed(version, |version| version.with_metadata(&wanted).map_err(|error| error.to_string()))
});
const JSON: Method = method("MarshalJSON", Type::BYTES, |_, version, _| {
    let text = string(version, ToString::to_string)?;
    Ok(Value::bytes(helm_yaml::json::to_json(&text).unwrap_or_default()))
});
const TEXT: Method = method("MarshalText", Type::BYTES, |_, version, _| {
    Ok(Value::bytes(string(version, ToString::to_string)?.as_bytes().unwrap_or_default()))
});
const VALUE: Method = method("Value", Type::Any, |_, version, _| string(version, ToString::to_string));

const fn setting(name: &'static str, body: Body) -> Method {
    Method { name, signature: Signature::new(&[Type::String], Type::Any).fallible(), body }
}

fn wanted(args: &[Value]) -> String {
    args.first().and_then(Value::as_string).map(ToString::to_string).unwrap_or_default()
}

/// What a method makes of a version: one without a pointer.
fn changed(
    value: &Value,
    change: impl FnOnce(&Version) -> Result<Version, String>,
) -> Result<Value, CallError> {
    let version = of(value).ok_or_else(|| CallError::new(NIL_POINTER))?;
    Ok(Value::object(BareVersion(change(&version)?)))
}

#[derive(Debug)]
struct BareVersion(Version);

impl Object for BareVersion {
    fn ty(&self) -> Type {
        Type::Named(&BARE)
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.to_string().into())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        fields(&self.0)
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.fields() == other.fields())
    }

    fn copied(&self) -> Option<Value> {
        Some(Value::object(Self(Version::default())))
    }
}

fn fields(version: &Version) -> Vec<(&'static str, Value)> {
    vec![
        ("major", version.major.into()),
        ("minor", version.minor.into()),
        ("patch", version.patch.into()),
        ("pre", (&version.pre).into()),
        ("metadata", (&version.metadata).into()),
        ("original", (&version.original).into()),
    ]
}

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

/// A version that can be read anew.
#[derive(Debug)]
struct VersionObject(RefCell<Version>);

impl Object for VersionObject {
    fn ty(&self) -> Type {
        POINTER
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.borrow().to_string().into())
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        fields(&self.0.borrow())
    }

    /// None of its fields can be set from outside, so nothing is copied.
    fn copied(&self) -> Option<Value> {
        Some(value(Version::default()))
    }
}

/// The template's value of a version.
pub(super) fn value(version: Version) -> Value {
    Value::Object(ObjectRef::new(VersionObject(RefCell::new(version))))
}

pub(super) fn of(value: &Value) -> Option<Version> {
    let bare = || value.as_object::<BareVersion>().map(|object| object.0.clone());
    value.as_object::<VersionObject>().map(|object| object.0.borrow().clone()).or_else(bare)
}

/// Puts another version in its place, as all see who have the pointer.
pub(super) fn replace(value: &Value, version: Version) -> Result<(), CallError> {
    let object = value.as_object::<VersionObject>().ok_or_else(|| CallError::new(NIL_POINTER))?;
    object.0.replace(version);
    Ok(())
}

fn number(value: &Value, part: fn(&Version) -> u64) -> Result<Value, CallError> {
    of(value).map(|version| Value::from(part(&version))).ok_or_else(|| CallError::new(NIL_POINTER))
}

fn string(value: &Value, part: fn(&Version) -> String) -> Result<Value, CallError> {
    of(value).map(|version| Value::from(part(&version))).ok_or_else(|| CallError::new(NIL_POINTER))
}
