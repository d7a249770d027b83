//! `.Capabilities`: what the cluster (or the offline default) offers. Helm's `pkg/chart/common/capabilities.go`.

mod defaults;
mod objects;

use helm_template::{List, Value, fmt::quote};
use thiserror::Error;

use self::defaults::{API_VERSIONS_OF_HELM3, KUBE_VERSION_OF_HELM3};
use crate::rules::Rules;

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

impl HelmVersion {
    /// The official binary of 3.19.0, which did not tell of Kubernetes' client library.
    #[must_use]
    pub fn of_helm3() -> Self {
        Self {
            version: "v3.19.0".to_owned(),
            git_commit: "3d8990f0836691f0229297773f3524598f46bda6".to_owned(),
            git_tree_state: "clean".to_owned(),
            go_version: "go1.24.7".to_owned(),
            kube_client_version: String::new(),
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
    /// What somebody's `helm template` offers without a cluster.
    #[must_use]
    pub fn offline(rules: Rules) -> Self {
        let version = match rules {
            Rules::Helm4 => return Self::default(),
            Rules::Helm3 => KUBE_VERSION_OF_HELM3.to_owned(),
        };
        Self {
            kube_version: KubeVersion {
                normalized: version.clone(),
                version,
                major: "1".to_owned(),
                minor: "34".to_owned(),
            },
            api_versions: API_VERSIONS_OF_HELM3.iter().map(|&version| version.to_owned()).collect(),
            helm_version: HelmVersion::of_helm3(),
        }
    }

    /// The value templates see: a `*common.Capabilities`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let versions = self.api_versions.iter().map(Value::from).collect();
        Value::object(objects::Capabilities {
            kube_version: self.kube_version.clone(),
            api_versions: Value::List(List::typed(&objects::VERSION_SET, versions)),
            helm_version: Value::object(objects::HelmVersion(self.helm_version.clone())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helm_template::{Context, Object as _};

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
        let capabilities = value.as_object::<objects::Capabilities>().unwrap();
        assert_eq!(value.type_name(), "*common.Capabilities");
        let versions = capabilities.field("APIVersions").unwrap();
        let has = |version: &str| {
            objects::version_set_has(&mut Context::detached(), &versions, &[version.into()]).unwrap().truth()
        };
        assert!(has("apps/v1") && has("apiextensions.k8s.io/v1beta1"));
        assert!(!has("apps/v1/Deployment") && !has("monitoring.coreos.com/v1"));
        let kube = capabilities.field("KubeVersion").unwrap();
        assert_eq!(kube.as_object::<objects::KubeVersion>().unwrap().field("Minor"), Some("37".into()));
    }
}
