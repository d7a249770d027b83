//! Transfers: a task in the interface's words becomes one that can be carried out, once.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use sha2::{Digest as _, Sha256};

use super::{wit_error, wit_progress};
use crate::blob::content::{Encoding, Proof};
use crate::blob::table::Standing;
use crate::blob::transfer::{Carrier, Outgoing, Task};
use crate::egress::place::Target;
use crate::plugin::bindings::blob::{self, Error};
use crate::plugin::instance::HookState;

impl HookState {
    pub(super) async fn transfer_named(
        &mut self,
        name: &str,
        attempt: u32,
        task: blob::Task,
    ) -> Result<blob::Progress, Error> {
        self.pay(name.len() + body_of(&task))?;
        if name.is_empty() || name.len() > 253 {
            return Err(Error::Invalid("a transfer needs a name of at most 253 bytes".to_owned()));
        }
        let context = Arc::clone(&self.context);
        let Some(transfers) = &context.transfers else {
            return Err(Error::Denied("nothing is transferred by commands".to_owned()));
        };
        let known_by = fingerprint(attempt, &task);
        let owner = &context.owner.key;
        if let Some(standing) = transfers.find(owner, name, &known_by) {
            return Ok(wit_progress(standing));
        }
        let task = self.prepared(task).await?;
        let carrier =
            Carrier { egress: Arc::clone(&context.egress), plugin: context.plugin.name.to_string() };
        transfers.start(owner, name, (known_by, task), carrier).map_err(|error| wit_error(&error))?;
        Ok(wit_progress(Standing { ended: None, bytes: 0 }))
    }

    /// Grants are asked and Secrets read now; the task needs neither any more.
    async fn prepared(&mut self, task: blob::Task) -> Result<Task, Error> {
        Ok(match task {
            blob::Task::Fetch(fetch) => {
                let request = Box::new(self.outgoing(fetch.request)?);
                let store = self.open(fetch.store, None).await?;
                let path = store.path(&fetch.key).map_err(|error| wit_error(&error))?;
                let encoding = match fetch.encoding {
                    blob::Encoding::Plain => Encoding::Plain,
                    blob::Encoding::JsonLines(blob::JsonLines { content, error }) => {
                        Encoding::JsonLines { content, error }
                    }
                };
                let proof = proof_of(fetch.proof);
                Task::Fetch {
                    request,
                    encoding,
                    proof,
                    store,
                    path,
                    absent: fetch.absent,
                    most: fetch.max_bytes,
                }
            }
            blob::Task::Deliver(deliver) => {
                if !deliver.request.body.is_empty() {
                    return Err(Error::Invalid("the object is the body of the request".to_owned()));
                }
                let request = Box::new(self.outgoing(deliver.request)?);
                let store = self.open(deliver.store, None).await?;
                let path = store.path(&deliver.key).map_err(|error| wit_error(&error))?;
                Task::Deliver { store, path, request, piece: deliver.piece }
            }
            blob::Task::Check(check) => {
                let store = self.open(check.store, None).await?;
                let path = store.path(&check.key).map_err(|error| wit_error(&error))?;
                Task::Check { store, path, proof: proof_of(check.proof) }
            }
        })
    }

    /// A request that the grants allow, under the identity that holds for it in this call.
    fn outgoing(&mut self, request: blob::Request) -> Result<Outgoing, Error> {
        let invalid = |what: &str| Error::Invalid(format!("the request's {what}"));
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| invalid("method"))?;
        let uri: Uri = request.url.parse().map_err(|_| invalid("address"))?;
        let target = Target::of(&uri).map_err(|error| Error::Invalid(error.to_string()))?;
        let namespace = self.context.owner.key.namespace.as_deref();
        let reach = self.context.grants.may_connect(&target, namespace).map_err(Error::Denied)?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("headers"))?;
            let value = HeaderValue::from_str(&value).map_err(|_| invalid("headers"))?;
            if wasmtime_wasi_http::DEFAULT_FORBIDDEN_HEADERS.contains(&name) {
                return Err(Error::Invalid(format!("{name} is the host's to set")));
            }
            headers.append(name, value);
        }
        let tls = self.web.as_ref().and_then(|web| web.identity(&target, namespace));
        Ok(Outgoing { method, uri, headers, body: request.body.into(), target, reach, tls })
    }
}

fn proof_of(proof: blob::Proof) -> Proof {
    Proof { sha256: proof.sha256.map(|hex| hex.to_ascii_lowercase()), trailer: proof.sha256_trailer }
}

fn body_of(task: &blob::Task) -> usize {
    match task {
        blob::Task::Fetch(fetch) => fetch.request.body.len() + fetch.request.url.len(),
        blob::Task::Deliver(deliver) => deliver.request.url.len(),
        blob::Task::Check(_) => 0,
    }
}

/// Equal tasks, equal fingerprints. The identity is not in it: a new key is no new task.
fn fingerprint(attempt: u32, task: &blob::Task) -> String {
    let digest = Sha256::digest(format!("{attempt} {task:?}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
