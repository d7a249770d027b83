//! `charts`: charts that lie elsewhere, fetched behind the call.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::charts::places::Address;
use crate::charts::secret::Credentials;
use crate::charts::wish::SecretName;
use crate::charts::{Resolution, Standing, Wish};
use crate::plugin::bindings::charts;
use crate::plugin::instance::HookState;

/// Before the digest in an asset's name.
pub(super) const ASSET: &str = "chart:";

impl charts::Host for HookState {
    async fn wish(
        &mut self,
        source: charts::Source,
    ) -> wasmtime::Result<Result<charts::Standing, charts::Error>> {
        Ok(self.wish_for(source).await)
    }
}

impl HookState {
    async fn wish_for(&mut self, source: charts::Source) -> Result<charts::Standing, charts::Error> {
        let bytes = source.repository.len() + source.name.len() + source.version.len();
        self.budget.take(bytes).map_err(|reason| charts::Error::Invalid(reason.to_owned()))?;
        let context = Arc::clone(&self.context);
        let Some(service) = &context.charts else {
            return Err(charts::Error::Denied("no charts are fetched here".to_owned()));
        };
        let interval = Duration::from_millis(source.interval_ms);
        let secret =
            source.secret.map(|charts::SecretRef { namespace, name }| SecretName { namespace, name });
        let wish = Wish {
            plugin: context.plugin.name.to_string(),
            repository: source.repository,
            name: source.name,
            version: source.version,
            digest: source.digest,
            plain_http: source.plain_http,
            pass_credentials: source.pass_credentials,
            secret: secret.clone(),
            named: false,
        };
        let (wish, address) = wish.checked().map_err(|error| charts::Error::Invalid(error.to_string()))?;
        let named = self.may_come_from(&wish, address)?;
        let credentials = match secret {
            None => None,
            Some(name) => Some(self.credentials(&name).await?),
        };
        let wish = Wish { named, ..wish };
        let (key, standing) = service.want(&context.owner.key, wish, interval, credentials).await;
        let mut wishes = context.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.wished.insert(key);
        if let Some(found) = &standing.found {
            wishes.handed.insert(found.digest.clone());
        }
        Ok(wit_standing(standing))
    }

    /// Whether a chart may come from there; true where somebody named its server in full.
    fn may_come_from(&self, wish: &Wish, address: Address) -> Result<bool, charts::Error> {
        let address = address.join(&wish.name);
        self.context.grants.may_fetch(&self.context.binding.charts, &address).map_err(|why| {
            charts::Error::Denied(format!("{}/{} may not be fetched: {why}", wish.repository, wish.name))
        })
    }

    /// The Secret, as the plugin's account may read it.
    async fn credentials(&mut self, name: &SecretName) -> Result<Credentials, charts::Error> {
        let unusable = |why: String| charts::Error::Credentials(why);
        let found = self.refer_to(&name.namespace, &name.name).await;
        let found =
            found.map_err(|error| unusable(format!("Secret {name} cannot be read: {}", sentence(&error))))?;
        let secret = found.ok_or_else(|| unusable(format!("Secret {name} is not there")))?;
        Credentials::read(&secret, name).map_err(|error| unusable(error.to_string()))
    }
}

/// What a failed read says.
pub(super) fn sentence(error: &crate::plugin::bindings::kube::Error) -> String {
    use crate::plugin::bindings::kube::Error;
    match error {
        Error::Denied(denial) => {
            format!("{} may not {} {}: {}", denial.account, denial.verb, denial.resource, denial.message)
        }
        Error::NotFound(status)
        | Error::Conflict(status)
        | Error::AlreadyExists(status)
        | Error::Invalid(status)
        | Error::Unavailable(status)
        | Error::Other(status) => status.message.clone(),
        Error::UnknownKind(_) => "the cluster does not serve Secrets".to_owned(),
        Error::Throttled(ms) => format!("too many requests; again in {ms} ms"),
        Error::Exhausted(reason) => reason.clone(),
    }
}

fn wit_standing(standing: Standing) -> charts::Standing {
    let found = standing.found.map(|Resolution { version, digest, location, .. }| charts::Archive {
        asset: format!("{ASSET}{digest}"),
        digest,
        version,
        location,
    });
    let trouble = standing
        .trouble
        .map(|trouble| charts::Trouble { reason: trouble.reason.to_owned(), message: trouble.message });
    charts::Standing { found, trouble }
}
