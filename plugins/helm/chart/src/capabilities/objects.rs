//! Capabilities as templates see them.

use super::{HelmVersion as Build, KubeVersion as Version};
use helm_template::{CallError, Context, List, Method, NamedType, Object, Signature, Str, Type, Value};

static CAPABILITIES: Type = Type::Named(&NamedType {
    name: "common.Capabilities",
    underlying: Type::Struct,
    methods: &[Method {
        name: "Copy",
        signature: Signature::new(&[], Type::Pointer(&CAPABILITIES)),
        body: capabilities_copy,
    }],
});

static KUBE_VERSION: Type = Type::Named(&NamedType {
    name: "common.KubeVersion",
    underlying: Type::Struct,
    methods: &[
        Method { name: "String", signature: Signature::new(&[], Type::String), body: kube_version_string },
        Method { name: "GitVersion", signature: Signature::new(&[], Type::String), body: kube_version_git },
    ],
});

/// The same where nothing points to it: both methods are the pointer's.
static BARE_KUBE_VERSION: Type =
    Type::Named(&NamedType { name: "common.KubeVersion", underlying: Type::Struct, methods: &[] });

pub(super) static VERSION_SET: Type = Type::Named(&NamedType {
    name: "common.VersionSet",
    underlying: Type::STRINGS,
    methods: &[Method {
        name: "Has",
        signature: Signature::new(&[Type::String], Type::Bool),
        body: version_set_has,
    }],
});

static BUILD_INFO: Type =
    Type::Named(&NamedType { name: "version.BuildInfo", underlying: Type::Struct, methods: &[] });

/// Nothing can be changed in one, so it is its own copy.
fn capabilities_copy(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    Ok(receiver.clone())
}

fn kube_version_string(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    let version = receiver.as_object::<KubeVersion>();
    Ok(version.and_then(Object::text).map_or(Value::Nil, Value::String))
}

fn kube_version_git(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    let version = receiver.as_object::<KubeVersion>();
    Ok(version.map_or(Value::Nil, |version| (&version.0.version).into()))
}

pub(super) fn version_set_has(
    _: &mut Context,
    receiver: &Value,
    arguments: &[Value],
) -> Result<Value, CallError> {
    let wanted = arguments.first().and_then(Value::as_bytes);
    let set = receiver.as_list().map(List::as_slice).unwrap_or_default();
    Ok(set.iter().any(|version| version.as_bytes() == wanted).into())
}

/// `*common.Capabilities`.
#[derive(Debug)]
pub(super) struct Capabilities {
    pub(super) kube_version: Version,
    pub(super) api_versions: Value,
    pub(super) helm_version: Value,
}

impl Object for Capabilities {
    fn ty(&self) -> Type {
        Type::Pointer(&CAPABILITIES)
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "KubeVersion" => Some(Value::object(KubeVersion(self.kube_version.clone()))),
            "APIVersions" => Some(self.api_versions.clone()),
            "HelmVersion" => Some(self.helm_version.clone()),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("KubeVersion", Value::object(BareKubeVersion(self.kube_version.clone()))),
            ("APIVersions", self.api_versions.clone()),
            ("HelmVersion", self.helm_version.clone()),
        ]
    }

    fn copied(&self) -> Option<Value> {
        Some(Value::object(Self {
            kube_version: without_hidden(&self.kube_version),
            api_versions: self.api_versions.clone(),
            helm_version: self.helm_version.clone(),
        }))
    }
}

/// A deep copy has nothing in the field that is not exported.
fn without_hidden(version: &Version) -> Version {
    Version { normalized: String::new(), ..version.clone() }
}

fn version_field(version: &Version, name: &str) -> Option<Value> {
    match name {
        "Version" => Some((&version.version).into()),
        "Major" => Some((&version.major).into()),
        "Minor" => Some((&version.minor).into()),
        _ => None,
    }
}

fn version_fields(version: &Version) -> Vec<(&'static str, Value)> {
    vec![
        ("Version", (&version.version).into()),
        ("normalizedVersion", (&version.normalized).into()),
        ("Major", (&version.major).into()),
        ("Minor", (&version.minor).into()),
    ]
}

/// `common.KubeVersion` as the field of the capabilities, which are pointed to.
#[derive(Debug)]
pub(super) struct KubeVersion(Version);

impl Object for KubeVersion {
    fn ty(&self) -> Type {
        KUBE_VERSION
    }

    fn field(&self, name: &str) -> Option<Value> {
        version_field(&self.0, name)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        version_fields(&self.0)
    }

    fn text(&self) -> Option<Str> {
        let Version { version, normalized, .. } = &self.0;
        Some(if normalized.is_empty() { version } else { normalized }.into())
    }

    fn in_interface(&self) -> Option<Value> {
        Some(Value::object(BareKubeVersion(self.0.clone())))
    }
}

/// `common.KubeVersion` in an `interface {}`.
#[derive(Debug)]
struct BareKubeVersion(Version);

impl Object for BareKubeVersion {
    fn ty(&self) -> Type {
        BARE_KUBE_VERSION
    }

    fn field(&self, name: &str) -> Option<Value> {
        version_field(&self.0, name)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        version_fields(&self.0)
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.fields() == other.fields())
    }

    fn copied(&self) -> Option<Value> {
        Some(Value::object(Self(without_hidden(&self.0))))
    }
}

/// `version.BuildInfo`.
#[derive(Debug)]
pub(super) struct HelmVersion(pub(super) Build);

impl Object for HelmVersion {
    fn ty(&self) -> Type {
        BUILD_INFO
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", (&self.0.version).into()),
            ("GitCommit", (&self.0.git_commit).into()),
            ("GitTreeState", (&self.0.git_tree_state).into()),
            ("GoVersion", (&self.0.go_version).into()),
            ("KubeClientVersion", (&self.0.kube_client_version).into()),
        ]
    }

    /// Empty ones are left out. Helm 4 would keep an empty last one, but its last one never is.
    fn json_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        const NAMES: [&str; 5] =
            ["version", "git_commit", "git_tree_state", "go_version", "kube_client_version"];
        let fields = NAMES.into_iter().zip(self.fields()).map(|(name, (_, value))| (name, value));
        Some(fields.filter(|(_, value)| value.truth()).collect())
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.fields() == other.fields())
    }
}
