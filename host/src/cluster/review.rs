//! What an account may do, asked of the API server and remembered for seconds.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::request::{Api, ApiError, Call};
use crate::capability::rule::Access;

/// How long an answer holds. Long enough for one reconcile, short enough that a repaired role is seen at once.
const TTL: Duration = Duration::from_secs(10);
/// Answers kept; the cache is emptied when it is full.
const MAX_ENTRIES: usize = 4_096;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question {
    account: Option<String>,
    verb: String,
    group: String,
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

/// Remembered answers.
#[derive(Debug, Default)]
pub struct Reviews {
    answers: Mutex<HashMap<Question, (bool, Instant)>>,
}

impl Reviews {
    /// May the account do this? Asked as the account itself, so the host needs no right to review others.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn allowed(
        &self,
        api: &Api,
        account: Option<&str>,
        access: &Access<'_>,
    ) -> Result<bool, ApiError> {
        let question = Question {
            account: account.map(ToOwned::to_owned),
            verb: access.verb.to_owned(),
            group: access.group.to_owned(),
            resource: access.resource.to_owned(),
            namespace: access.namespace.map(ToOwned::to_owned),
            name: access.name.map(ToOwned::to_owned),
        };
        if let Some(answer) = self.remembered(&question) {
            return Ok(answer);
        }
        let (resource, subresource) = access.resource.split_once('/').unwrap_or((access.resource, ""));
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": access.verb, "group": access.group, "resource": resource, "subresource": subresource,
                "namespace": access.namespace.unwrap_or_default(), "name": access.name.unwrap_or_default(),
            }},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned();
        let call =
            Call::new(Method::POST, path, account).body("application/json", body.to_string().into_bytes());
        let (_, answer) = api.send_json(call).await?;
        let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false);
        self.remember(question, allowed);
        Ok(allowed)
    }

    fn remembered(&self, question: &Question) -> Option<bool> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(question).filter(|(_, at)| at.elapsed() < TTL).map(|(answer, _)| *answer)
    }

    fn remember(&self, question: Question, allowed: bool) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_ENTRIES {
            answers.clear();
        }
        answers.insert(question, (allowed, Instant::now()));
    }
}
