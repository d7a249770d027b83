//! `.Capabilities`: what the cluster (or the offline default) offers. Helm's `pkg/chart/common/capabilities.go`.

mod defaults;

use helm_template::{
    CallError, Context, List, Method, NamedType, Object, Signature, Str, Type, Value, fmt::quote,
};
use thiserror::Error;

pub use self::defaults::{DEFAULT_API_VERSIONS, DEFAULT_KUBE_VERSION};

/// A Kubernetes version that cannot be read; texts are apimachinery's `version.ParseGeneric`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KubeVersionError {
    /// It does not start with a number.
    #[error("could not parse {0} as version")]
    Unreadable(String),
    /// Fewer than two numbers.
    #[error("illegal version string {0}")]
    TooShort(String),
    /// The first number has a leading zero.
    #[error("illegal zero-prefixed version component {component} in {version}")]
    ZeroPrefix {
        /// The number, quoted.
        component: String,
        /// The version, quoted.
        version: String,
    },
    /// A number beyond 64 bits.
    #[error(
        "illegal non-numeric version component {component} in {version}: strconv.ParseUint: parsing {component}: value out of range"
    )]
    OutOfRange {
        /// The number, quoted.
        component: String,
        /// The version, quoted.
        version: String,
    },
}

/// The version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// As given, with a leading `v`: `v1.33.4-gke.1245000`.
    pub version: String,
    /// Without any suffix, as constraints are checked against: `v1.33.4`.
    pub normalized: String,
    /// Major version.
    pub major: String,
    /// Minor version.
    pub minor: String,
}

impl KubeVersion {
    /// Reads a version of two or more numbers with anything behind them, `v` in front or not
    /// (`common.ParseKubeVersion`).
    ///
    /// # Errors
    /// [`KubeVersionError`] when there are no two numbers.
    pub fn parse(text: &str) -> Result<Self, KubeVersionError> {
        let quoted = || quote(text.as_bytes());
        let trimmed = text.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let numbers = version_numbers(trimmed.strip_prefix('v').unwrap_or(trimmed));
        let components: Vec<&str> = numbers.split('.').collect();
        let (Some(&major), false) = (components.first(), numbers.is_empty()) else {
            return Err(KubeVersionError::Unreadable(quoted()));
        };
        let Some(&minor) = components.get(1) else {
            return Err(KubeVersionError::TooShort(quoted()));
        };
        if major.starts_with('0') && major != "0" {
            return Err(KubeVersionError::ZeroPrefix {
                component: quote(major.as_bytes()),
                version: quoted(),
            });
        }
        let parse = |component: &str| {
            component.parse::<u64>().map_err(|_| KubeVersionError::OutOfRange {
                component: quote(component.as_bytes()),
                version: quoted(),
            })
        };
        let numbers = components.iter().map(|component| parse(component)).collect::<Result<Vec<_>, _>>()?;
        let joined: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Ok(Self {
            version: if text.starts_with('v') { text.to_owned() } else { format!("v{text}") },
            normalized: format!("v{}", joined.join(".")),
            major: parse(major)?.to_string(),
            minor: parse(minor)?.to_string(),
        })
    }
}

/// The longest start of digits and single dots between them.
fn version_numbers(text: &str) -> &str {
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or("");
        let start = if end == 0 { rest } else { rest.strip_prefix('.').unwrap_or("") };
        let digits = start.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return text.get(..end).unwrap_or("");
        }
        end = text.len() - start.len() + digits;
    }
}

/// What `.Capabilities.HelmVersion` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmVersion {
    /// Version of Helm.
    pub version: String,
    /// Commit it was built from.
    pub git_commit: String,
    /// `clean` or `dirty`.
    pub git_tree_state: String,
    /// Version of Go.
    pub go_version: String,
    /// Version of Kubernetes' client library.
    pub kube_client_version: String,
}

/// The Helm that is equalled: the official binary of 4.3.1.
impl Default for HelmVersion {
    fn default() -> Self {
        Self {
            version: "v4.3.1".to_owned(),
            git_commit: "c0d08d0d6d9424d4a14febb5e8a3e51b0dd00dff".to_owned(),
            git_tree_state: "clean".to_owned(),
            go_version: "go1.27.2".to_owned(),
            kube_client_version: "v1.37".to_owned(),
        }
    }
}

/// What templates can ask about the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Version of Kubernetes.
    pub kube_version: KubeVersion,
    /// `group/version` and `group/version/Kind` that the cluster serves.
    pub api_versions: Vec<String>,
    /// Version of Helm.
    pub helm_version: HelmVersion,
}

/// What `helm template` offers without a cluster.
impl Default for Capabilities {
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: DEFAULT_KUBE_VERSION.to_owned(),
                normalized: DEFAULT_KUBE_VERSION.to_owned(),
                major: "1".to_owned(),
                minor: "37".to_owned(),
            },
            api_versions: DEFAULT_API_VERSIONS.iter().map(|&version| version.to_owned()).collect(),
            helm_version: HelmVersion::default(),
        }
    }
}

impl Capabilities {
    /// The value templates see: a `*common.Capabilities`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let versions = self.api_versions.iter().map(Value::from).collect();
        Value::object(CapabilitiesObject {
            kube_version: Value::object(KubeVersionObject(self.kube_version.clone())),
            api_versions: Value::List(List::typed(&VERSION_SET, versions)),
            helm_version: Value::object(HelmVersionObject(self.helm_version.clone())),
        })
    }
}

static CAPABILITIES: Type =
    Type::Named(&NamedType { name: "common.Capabilities", underlying: Type::Struct, methods: &[] });

static KUBE_VERSION: Type = Type::Named(&NamedType {
    name: "common.KubeVersion",
    underlying: Type::Struct,
    methods: &[
        Method { name: "String", signature: Signature::new(&[], Type::String), body: kube_version_string },
        Method { name: "GitVersion", signature: Signature::new(&[], Type::String), body: kube_version_git },
    ],
});

static VERSION_SET: Type = Type::Named(&NamedType {
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

fn kube_version_string(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    let version = receiver.as_object::<KubeVersionObject>();
    Ok(version.map_or(Value::Nil, |version| (&version.0.normalized).into()))
}

fn kube_version_git(_: &mut Context, receiver: &Value, _: &[Value]) -> Result<Value, CallError> {
    let version = receiver.as_object::<KubeVersionObject>();
    Ok(version.map_or(Value::Nil, |version| (&version.0.version).into()))
}

fn version_set_has(_: &mut Context, receiver: &Value, arguments: &[Value]) -> Result<Value, CallError> {
    let wanted = arguments.first().and_then(Value::as_bytes);
    let set = receiver.as_list().map(List::as_slice).unwrap_or_default();
    Ok(set.iter().any(|version| version.as_bytes() == wanted).into())
}

#[derive(Debug)]
struct CapabilitiesObject {
    kube_version: Value,
    api_versions: Value,
    helm_version: Value,
}

impl Object for CapabilitiesObject {
    fn ty(&self) -> Type {
        Type::Pointer(&CAPABILITIES)
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "KubeVersion" => Some(self.kube_version.clone()),
            "APIVersions" => Some(self.api_versions.clone()),
            "HelmVersion" => Some(self.helm_version.clone()),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("KubeVersion", self.kube_version.clone()),
            ("APIVersions", self.api_versions.clone()),
            ("HelmVersion", self.helm_version.clone()),
        ]
    }
}

#[derive(Debug)]
struct KubeVersionObject(KubeVersion);

impl Object for KubeVersionObject {
    fn ty(&self) -> Type {
        KUBE_VERSION
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "Version" => Some((&self.0.version).into()),
            "Major" => Some((&self.0.major).into()),
            "Minor" => Some((&self.0.minor).into()),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", (&self.0.version).into()),
            ("normalizedVersion", (&self.0.normalized).into()),
            ("Major", (&self.0.major).into()),
            ("Minor", (&self.0.minor).into()),
        ]
    }

    fn text(&self) -> Option<Str> {
        Some((&self.0.normalized).into())
    }
}

#[derive(Debug)]
struct HelmVersionObject(HelmVersion);

impl Object for HelmVersionObject {
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

    fn tagged_fields(&self) -> Option<Vec<(&'static str, Value)>> {
        Some(vec![
            ("version", (&self.0.version).into()),
            ("git_commit", (&self.0.git_commit).into()),
            ("git_tree_state", (&self.0.git_tree_state).into()),
            ("go_version", (&self.0.go_version).into()),
            ("kube_client_version", (&self.0.kube_client_version).into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_normalised_for_constraints_and_kept_as_given() {
        for (text, version, normalized, minor) in [
            ("1.31.0", "v1.31.0", "v1.31.0", "31"),
            ("v1.33.4-gke.1245000", "v1.33.4-gke.1245000", "v1.33.4", "33"),
            ("v1.31", "v1.31", "v1.31", "31"),
            ("1.29.3+k3s1", "v1.29.3+k3s1", "v1.29.3", "29"),
            ("1.27.", "v1.27.", "v1.27", "27"),
            ("1.020", "v1.020", "v1.20", "20"),
        ] {
            let parsed = KubeVersion::parse(text).unwrap();
            assert_eq!((&*parsed.version, &*parsed.normalized, &*parsed.minor), (version, normalized, minor));
        }
    }

    #[test]
    fn versions_that_are_none_are_refused() {
        for (text, want) in [
            ("", "could not parse \"\" as version"),
            ("vv1.2", "could not parse \"vv1.2\" as version"),
            ("1", "illegal version string \"1\""),
            ("v1-2", "illegal version string \"v1-2\""),
            ("01.2", "illegal zero-prefixed version component \"01\" in \"01.2\""),
        ] {
            assert_eq!(KubeVersion::parse(text).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn templates_see_versions_and_ask_for_api_versions() {
        let value = Capabilities::default().to_value();
        let capabilities = value.as_object::<CapabilitiesObject>().unwrap();
        assert_eq!(value.type_name(), "*common.Capabilities");
        let versions = capabilities.field("APIVersions").unwrap();
        let has = |version: &str| {
            version_set_has(&mut Context::detached(), &versions, &[version.into()]).unwrap().truth()
        };
        assert!(has("apps/v1") && has("apiextensions.k8s.io/v1beta1"));
        assert!(!has("apps/v1/Deployment") && !has("monitoring.coreos.com/v1"));
        let kube = capabilities.field("KubeVersion").unwrap();
        assert_eq!(kube.as_object::<KubeVersionObject>().unwrap().field("Minor"), Some("37".into()));
    }
}
