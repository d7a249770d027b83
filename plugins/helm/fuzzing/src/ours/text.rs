//! Templates through helm-template alone, with functions and types of its tests.

use helm_template::{Execution, MissingKey, TemplateSet};

use super::text_functions::functions;
use super::text_types::decode;
use crate::{Answer, Question};

/// Parses the parts `text:NAME` in their order and executes the last with the JSON of the part `data`.
pub fn answer(question: &Question) -> Answer {
    let mut set = TemplateSet::new("root", functions());
    let mut last = "";
    for (part, text) in &question.parts {
        let Some(name) = part.strip_prefix("text:") else { continue };
        if let Err(error) = set.parse(name, text.clone()) {
            return Answer::failed(&error);
        }
        last = name;
    }
    let missing_key = match question.part("missingkey") {
        b"zero" => MissingKey::Zero,
        b"error" => MissingKey::Error,
        _ => MissingKey::Default,
    };
    let how = Execution { missing_key, limits: super::LIMITS, ..Execution::default() };
    let data = serde_json::from_slice(question.part("data")).unwrap_or_default();
    match set.execute(last, decode(&data), &how) {
        Ok(out) => Answer::of(out),
        Err(error) => Answer::failed(&error),
    }
}
