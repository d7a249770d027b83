//! Downloads for a person at a command line, who waits.

use std::path::Path;

use super::web::{Client, FetchError, Login, MAX_BYTES, Pem, Terms};
use crate::chart_source::arguments::ChartArgs;
use crate::error_text::chain;

/// A client with the credentials and certificates that a person gave, and the thread it runs on.
pub(super) struct Person {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Person {
    pub(super) fn new(args: &ChartArgs) -> Result<Self, FetchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| FetchError::Start(chain(&error)))?;
        Ok(Self { client: Client::new(&terms(args)?)?, runtime })
    }

    /// The bytes at a URL. Credentials go to the server of `owner` only, unless the person said otherwise.
    pub(super) fn get(&self, url: &str, owner: &str) -> Result<Vec<u8>, FetchError> {
        self.runtime.block_on(self.client.get(url, owner, MAX_BYTES))
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for something.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

fn terms(args: &ChartArgs) -> Result<Terms, FetchError> {
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| FetchError::Tls { path: path.display().to_string(), message: error.to_string() })
    };
    let pem = |path: &Path, text: Vec<u8>| Pem { place: path.display().to_string(), text };
    let authorities =
        args.ca_file.as_deref().map(|path| read(path).map(|text| pem(path, text))).transpose()?;
    let identity = match (&args.cert_file, &args.key_file) {
        (Some(certificate), Some(key)) => {
            Some(pem(key, [read(key)?, b"\n".to_vec(), read(certificate)?].concat()))
        }
        _ => None,
    };
    let is_whole = !args.username.is_empty() && !args.password.is_empty();
    let login = is_whole.then(|| Login { name: args.username.clone(), password: args.password.clone() });
    Ok(Terms {
        authorities,
        identity,
        insecure: args.insecure_skip_tls_verify,
        login,
        everywhere: args.pass_credentials,
        ..Terms::default()
    })
}
