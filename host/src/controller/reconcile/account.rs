//! Whose rights a hook has, and what becomes of an object whose account is gone.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::{Case, Done, Reconciler, empty_reply, is_going, warning};
use crate::binding::{Account, Binding};
use crate::capability::grants::Grants;
use crate::cluster::request::{Call, account_was_refused};
use crate::controller::queue::Verdict;
use crate::object::Owner;
use crate::plugin::bindings::State;
use crate::plugin::revision::Revision;

impl Reconciler {
    /// The binding's account is one of the object's namespace, and the object is in none.
    pub(super) async fn without_account(&self, case: &Case<'_>, revision: &Revision) -> Done {
        // Nothing can ever have been done for it.
        if is_going(&case.object) && case.owner.key.namespace.is_none() {
            return self.after_finalized(case, revision, Vec::new()).await;
        }
        let message = match &case.owner.key.namespace {
            Some(_) => "spec.serviceAccountName is no name of a service account".to_owned(),
            None => format!(
                "{}: serviceAccountName is no account: a kind that is in no namespace needs one of the form namespace/name",
                case.binding.origin
            ),
        };
        let state = State::Stalled(("InvalidConfiguration".to_owned(), message));
        self.tell(case, empty_reply(state, Vec::new()), Verdict::Done).await
    }

    /// Whether the account that acts for an object went away. With a namespace that is deleted its accounts and their
    /// rights go first, and what waits for a finalizer would hold it for ever. Rights can outlive their account: then what
    /// failed failed for something that passes.
    pub(super) async fn account_is_gone(&self, case: &Case<'_>) -> bool {
        if !account_was_refused() {
            return false;
        }
        let named =
            case.grants.account.as_deref().and_then(|user| user.strip_prefix("system:serviceaccount:"));
        let Some((namespace, name)) = named.and_then(|named| named.split_once(':')) else { return false };
        let namespace = format!("/api/v1/namespaces/{namespace}");
        let get = |path: String| self.cluster.api.send_json(Call::new(Method::GET, path, None));
        match get(format!("{namespace}/serviceaccounts/{name}")).await {
            Ok(_) => return false,
            Err(error) if error.code == 404 => return true,
            // Whoever may not look at accounts may look at the namespace.
            Err(_) => {}
        }
        match get(namespace).await {
            Ok((_, namespace)) => {
                namespace.pointer("/status/phase").is_some_and(|phase| phase == "Terminating")
            }
            Err(error) => error.code == 404,
        }
    }

    /// Nobody is there any more with the rights to take away what was made for the object; the object goes all the same.
    pub(super) async fn let_go_without_account(&self, case: &Case<'_>, revision: &Revision) -> Done {
        let account = case.grants.account.as_deref().unwrap_or_default();
        let message = format!(
            "{account}, which acted for it, is gone: what it made is not taken away but for what goes with its namespace"
        );
        tracing::warn!(account, "an object is let go: the account that acted for it is gone");
        self.after_finalized(case, revision, vec![warning("AccountGone", &message)]).await
    }
}

/// The plugin's grants, with the rights of the account that the object or its binding names. None: that account is nowhere.
pub(super) fn grants_of(
    revision: &Revision,
    binding: &Binding,
    object: &Value,
    owner: &Owner,
) -> Option<Arc<Grants>> {
    let named = object.pointer("/spec/serviceAccountName").and_then(Value::as_str);
    let account = match named.filter(|name| binding.names_account && !name.is_empty()) {
        Some(name) => Some(Account::beside(name).ok()?),
        None => binding.account.clone(),
    };
    let Some(account) = account else { return Some(Arc::clone(&revision.grants)) };
    let user = account.user(owner.key.namespace.as_deref())?;
    Some(Arc::new(revision.grants.acting_as(user)))
}
