//! Who may read the metrics: the API server is asked whose token it is, and whether that account may get `/metrics`. As
//! controller-runtime's filter does it, so the roles that operator-sdk writes fit.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method as Verb, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::cluster::request::{Api, ApiError, Call};

/// How long a yes holds, and a no.
const ALLOWED: Duration = Duration::from_secs(60);
const REFUSED: Duration = Duration::from_secs(10);
/// Answers kept; all are forgotten when there are more.
const MAX_ANSWERS: usize = 1_024;
/// Questions to the API server at once: guessing tokens must not become its load.
const QUESTIONS: usize = 4;

/// What the API server says about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Allowed,
    /// A user's, who may not.
    Forbidden(String),
    /// Nobody's.
    Unknown,
}

impl Answer {
    fn holds(&self) -> Duration {
        if *self == Self::Allowed { ALLOWED } else { REFUSED }
    }
}

/// Lets requests through whose token's account may do them.
#[derive(Debug)]
pub struct Gate {
    api: Api,
    /// By a digest: the tokens themselves are not kept.
    answers: Mutex<HashMap<[u8; 32], (Answer, Instant)>>,
    questions: Semaphore,
}

/// For [`axum::middleware::from_fn_with_state`].
pub async fn guard(State(gate): State<std::sync::Arc<Gate>>, request: Request, next: Next) -> Response {
    match gate.admit(request.method(), request.uri().path(), request.headers()).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

impl Gate {
    /// Asks through this; the host's account needs the right to create `tokenreviews` and `subjectaccessreviews`.
    pub fn new(api: Api) -> Self {
        Self { api, answers: Mutex::default(), questions: Semaphore::new(QUESTIONS) }
    }

    async fn admit(&self, verb: &Verb, path: &str, headers: &HeaderMap) -> Result<(), (StatusCode, String)> {
        let token =
            bearer(headers).ok_or((StatusCode::UNAUTHORIZED, "a bearer token is needed\n".to_owned()))?;
        let verb = verb.as_str().to_ascii_lowercase();
        match self.answer(token, &verb, path).await {
            Ok(Answer::Allowed) => Ok(()),
            Ok(Answer::Forbidden(user)) => {
                tracing::debug!(user, "the metrics are not for everybody");
                Err((StatusCode::FORBIDDEN, format!("{user} may not {verb} {path}\n")))
            }
            Ok(Answer::Unknown) => Err((StatusCode::UNAUTHORIZED, "the token is nobody's\n".to_owned())),
            Err(error) => {
                tracing::warn!(%error, "who may read the metrics cannot be asked; the host's account has to create \
                    tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io");
                Err((StatusCode::INTERNAL_SERVER_ERROR, "the API server cannot be asked\n".to_owned()))
            }
        }
    }

    async fn answer(&self, token: &str, verb: &str, path: &str) -> Result<Answer, ApiError> {
        let mut hash = Sha256::new();
        for part in [verb, path, token] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let key: [u8; 32] = hash.finalize().into();
        if let Some(answer) = self.remembered(&key) {
            return Ok(answer);
        }
        // Never closed.
        let _turn = self.questions.acquire().await;
        let answer = match self.user_of(token).await? {
            None => Answer::Unknown,
            Some(user) if self.may(&user, verb, path).await? => Answer::Allowed,
            Some(user) => Answer::Forbidden(text(&user, "username")),
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(key, (answer.clone(), Instant::now()));
        Ok(answer)
    }

    fn remembered(&self, key: &[u8; 32]) -> Option<Answer> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, at) = answers.get(key)?;
        (at.elapsed() < answer.holds()).then(|| answer.clone())
    }

    /// Whose token it is.
    async fn user_of(&self, token: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let answer = self.ask("/apis/authentication.k8s.io/v1/tokenreviews", &review).await?;
        let is_known = answer.pointer("/status/authenticated") == Some(&Value::Bool(true));
        let user = answer.pointer("/status/user").and_then(Value::as_object).filter(|_| is_known);
        Ok(user.filter(|user| !text(user, "username").is_empty()).cloned())
    }

    async fn may(&self, user: &Map<String, Value>, verb: &str, path: &str) -> Result<bool, ApiError> {
        let mut spec = json!({
            "user": text(user, "username"),
            "nonResourceAttributes": {"verb": verb, "path": path},
        });
        for field in ["groups", "uid", "extra"] {
            if let (Some(spec), Some(value)) = (spec.as_object_mut(), user.get(field)) {
                spec.insert(field.to_owned(), value.clone());
            }
        }
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let answer = self.ask("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
        Ok(answer.pointer("/status/allowed") == Some(&Value::Bool(true)))
    }

    async fn ask(&self, path: &str, review: &Value) -> Result<Value, ApiError> {
        let call = Call::new(http::Method::POST, path.to_owned(), None)
            .body("application/json", review.to_string().into_bytes());
        Ok(self.api.send_json(call).await?.1)
    }
}

fn text(map: &Map<String, Value>, field: &str) -> String {
    map.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
