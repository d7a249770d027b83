//! Which plugin reconciles which kind, and with which configuration.

use std::sync::Arc;
use std::time::Duration;

use crate::asset::Asset;
use crate::charts::places::Place;
use crate::object::Gvk;
use crate::plugin::manifest::FinalizerBy;

/// The resource for releases of charts from elsewhere (`deploy/crds`): group, version, kind.
pub const RELEASE: (&str, &str, &str) = ("helm.pilothouse.dev", "v1alpha1", "Release");

/// One kind in the hands of one plugin.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Name of the plugin.
    pub plugin: Arc<str>,
    /// The kind.
    pub gvk: Arc<Gvk>,
    /// Only objects with these labels; empty: all. A Kubernetes label selector.
    pub selector: String,
    /// Settings of the binding as JSON text.
    pub settings: Arc<str>,
    /// Trees of files the plugin may read for this binding.
    pub assets: Vec<Arc<Asset>>,
    /// Places that charts of the kind's objects may come from; the grants have the last word.
    pub charts: Vec<Place>,
    /// The finalizer the host keeps on the kind's objects.
    pub finalizer: Option<Arc<str>>,
    /// Who puts it on.
    pub finalizer_by: FinalizerBy,
    /// Conditions of the kind have `lastUpdateTime`.
    pub update_time: bool,
    /// Finalizers of earlier tools, taken over.
    pub legacy_finalizers: Vec<String>,
    /// The periodic safety net.
    pub resync: Duration,
    /// Most objects of the kind that are reconciled at once; none: as many as the plugin may.
    pub concurrency: Option<usize>,
    /// Whose rights its hooks have, instead of those of the plugin's account.
    pub account: Option<Account>,
    /// Whether an object may name another account beside it, at `spec.serviceAccountName`.
    pub names_account: bool,
    /// Where the binding was written, for messages: `watches.yaml:12:3` or the plugin's name.
    pub origin: String,
}

impl Binding {
    /// A kind in the hands of a plugin, without settings, files or an account of its own. A period of `resync` without end is none.
    pub fn new(plugin: &Arc<str>, gvk: Arc<Gvk>, resync: Duration, origin: &str) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            gvk,
            selector: String::new(),
            settings: Arc::from("{}"),
            assets: Vec::new(),
            charts: Vec::new(),
            finalizer: None,
            finalizer_by: FinalizerBy::Host,
            update_time: false,
            legacy_finalizers: Vec::new(),
            resync,
            concurrency: None,
            account: None,
            names_account: false,
            origin: origin.to_owned(),
        }
    }
}

/// A service account that acts for a binding's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// Of this name, in the namespace of each object.
    Beside(String),
    /// The same for all objects.
    Of {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// Why a text names no account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no service account: `name` is one in the namespace of the object, `namespace/name` always the same one"
)]
pub struct AccountError(String);

impl std::str::FromStr for Account {
    type Err = AccountError;

    fn from_str(text: &str) -> Result<Self, AccountError> {
        let checked = |part: &str| is_dns_name(part).then(|| part.to_owned());
        let account = match text.split_once('/') {
            None => checked(text).map(Self::Beside),
            Some((namespace, name)) => {
                checked(namespace).zip(checked(name)).map(|(namespace, name)| Self::Of { namespace, name })
            }
        };
        account.ok_or_else(|| AccountError(text.to_owned()))
    }
}

impl Account {
    /// One in the namespace of the object, of a name that its author chose.
    ///
    /// # Errors
    /// [`AccountError`].
    pub fn beside(name: &str) -> Result<Self, AccountError> {
        if is_dns_name(name) { Ok(Self::Beside(name.to_owned())) } else { Err(AccountError(name.to_owned())) }
    }

    /// The user as the API server calls it. None: the object is in no namespace, and neither is the account.
    pub fn user(&self, object_namespace: Option<&str>) -> Option<String> {
        let (namespace, name) = match self {
            Self::Beside(name) => (object_namespace?, name),
            Self::Of { namespace, name } => (namespace.as_str(), name),
        };
        Some(format!("system:serviceaccount:{namespace}:{name}"))
    }
}

/// A DNS subdomain (RFC 1123), as names of Kubernetes' objects are.
fn is_dns_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(allowed) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_one_beside_the_object_or_always_the_same() {
        let user = |text: &str, namespace| text.parse::<Account>().unwrap().user(namespace);
        assert_eq!(user("web", Some("shop")).as_deref(), Some("system:serviceaccount:shop:web"));
        assert_eq!(user("ops/web.v2", Some("shop")).as_deref(), Some("system:serviceaccount:ops:web.v2"));
        assert_eq!(user("web", None), None);
        assert!(Account::beside("ops/web").is_err(), "an author names none of another namespace");
    }

    #[test]
    fn what_could_be_another_user_is_refused() {
        for text in ["", "a/b/c", "/a", "a/", "Web", "a:b", "a b", "-a", "system:masters", "a..b"] {
            let said = text.parse::<Account>().unwrap_err().to_string();
            assert!(said.contains("names no service account"), "{said}");
            assert!(Account::beside(text).is_err(), "{text}");
        }
    }
}
