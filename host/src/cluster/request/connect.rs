//! A request whose connection goes on after it.

use http::{HeaderMap, Request, StatusCode};
use kube::client::Connection;
use tokio::time::timeout;

use super::{Api, ApiError, failure, limit};
use crate::error_text::chain;

impl ApiError {
    /// Nothing was sent, for nothing may be written.
    pub(super) fn behind_the_fence() -> Self {
        let message = "the leader lease was not renewed in time: another replica may be writing";
        Self::no_answer(message.to_owned())
    }
}

impl Api {
    /// Opens a WebSocket by which things are done, such as a command in a container: it is a write, though its method is GET, and
    /// is not opened behind the fence.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub async fn connect(&self, path: &str, account: Option<&str>) -> Result<Connection, ApiError> {
        let left = self.fence.left().ok_or_else(ApiError::behind_the_fence)?;
        let mut request = Request::get(path);
        if let Some(account) = account {
            request = request.header("Impersonate-User", account);
        }
        let request = request.body(Vec::new());
        let request =
            request.map_err(|error| ApiError::invalid(format!("cannot form the request: {error}")))?;
        let limit = limit().min(left);
        let connected = match timeout(limit, self.client.connect(request)).await {
            Ok(connected) => connected.map_err(of_kube),
            Err(_) => Err(ApiError::no_answer(format!("the API server did not answer within {limit:.1?}"))),
        };
        self.metrics.count("CONNECT", connected.as_ref().map_or_else(|error| error.code, |_| 101));
        connected
    }
}

/// The client reads refusals itself.
fn of_kube(error: kube::Error) -> ApiError {
    match error {
        kube::Error::Api(status) => {
            let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let body = serde_json::to_vec(&status).unwrap_or_default();
            failure(code, &HeaderMap::new(), &body)
        }
        error => ApiError::no_answer(format!("no connection from the API server: {}", chain(&error))),
    }
}
