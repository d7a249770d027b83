//! What is asked and what is answered.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize};

/// An operation and its input: named parts, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// The operation's name.
    pub op: String,
    /// The parts of its input.
    pub parts: Vec<(String, Vec<u8>)>,
}

impl Question {
    /// A question with its parts.
    pub fn new<const N: usize>(op: &str, parts: [(&str, &[u8]); N]) -> Self {
        let parts = parts.into_iter().map(|(name, data)| (name.to_owned(), data.to_vec())).collect();
        Self { op: op.to_owned(), parts }
    }

    /// A template with Helm's functions, over the data that both sides know.
    pub fn call(text: impl AsRef<[u8]>) -> Self {
        Self::new("call", [("text", text.as_ref())])
    }

    /// An operation of helm-yaml.
    pub fn yaml(op: &str, input: impl AsRef<[u8]>) -> Self {
        Self::new(&format!("yaml:{op}"), [("in", input.as_ref())])
    }

    /// The part of a name; nothing when there is none.
    pub fn part(&self, name: &str) -> &[u8] {
        self.parts.iter().find(|(part, _)| part == name).map_or(&[], |(_, data)| data)
    }

    /// The question as the oracle reads it.
    pub(crate) fn line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Part<'a> {
            name: &'a str,
            data: String,
        }
        let part = |(name, data): &'_ (String, Vec<u8>)| {
            serde_json::json!(Part { name, data: BASE64_STANDARD.encode(data) })
        };
        let parts: Vec<_> = self.parts.iter().map(part).collect();
        let mut line = serde_json::json!({"op": self.op, "parts": parts}).to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// How the error of an answer that is missing begins.
const NONE: &str = "the oracle gave no answer";

/// What came out, the error, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Answer {
    /// What came out.
    #[serde(deserialize_with = "from_base64")]
    pub out: Vec<u8>,
    /// The text of the error, empty when there is none.
    #[serde(deserialize_with = "from_base64")]
    pub error: Vec<u8>,
    /// There is no such thing as the answer: it changes, or who was asked broke down.
    pub unstable: bool,
}

impl Answer {
    /// It went well.
    pub fn of(out: impl Into<Vec<u8>>) -> Self {
        Self { out: out.into(), ..Self::default() }
    }

    /// It failed.
    pub fn failed(error: &impl ToString) -> Self {
        Self { error: error.to_string().into_bytes(), ..Self::default() }
    }

    /// There is no answer.
    pub(crate) fn none(why: &str) -> Self {
        Self { unstable: true, ..Self::failed(&format!("{NONE}: {why}")) }
    }

    /// Whether there is none: who was asked broke down, or was not asked.
    pub(crate) fn is_missing(&self) -> bool {
        self.unstable && self.error.starts_with(NONE.as_bytes())
    }
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
}
