//! How Helm words the errors of templates: `cleanupParseError` and `reformatExecErrorMsg` of
//! `pkg/engine/engine.go`.
//!
//! Helm takes Go's error texts apart again; so do we, from the same texts, because what it shows depends on
//! how they happen to split.

use crate::rules::Rules;
use helm_template::{CallError, ExecCause, ExecError, ParseError};

/// What `required` and `fail` put around their message, so that it can be found in the chain.
pub(super) const WARN_START: &str = "HELM_ERR_START";
/// The end of [`WARN_START`].
pub(super) const WARN_END: &str = "HELM_ERR_END";

/// The text for a template that cannot be parsed.
pub(super) fn parse_error(file: &str, error: &ParseError) -> String {
    let text = error.to_string();
    let mut tokens = text.split(": ");
    match (tokens.next(), tokens.next(), tokens.last()) {
        (_, Some(location), last) => format!("parse error at ({location}): {}", last.unwrap_or(location)),
        _ => format!("parse error in ({file}): {text}"),
    }
}

/// The text for a template that failed: one block for each template on the way, or the message of `required`
/// and `fail` alone. When a link of the chain does not look like an error of a template, Go's text as it is.
pub(super) fn exec_error(file: &str, error: &ExecError, rules: Rules) -> String {
    let text = error.to_string();
    // An error before anything was executing is not Go's ExecError; Helm leaves it alone.
    if error.at.is_none() && !is_incomplete(error) {
        return text;
    }
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return format!("execution error in ({file}): {text}");
    };
    if let Some(message) = warning(rest) {
        return format!("execution error at ({location}): {message}");
    }
    if rules == Rules::Helm3 {
        return text;
    }
    let mut blocks: Vec<Block> = Vec::new();
    for link in chain(error, &text) {
        let Some(block) = Block::parse(&link) else { return text };
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
    }
    let text: String = blocks.iter().map(Block::text).collect();
    text.trim().to_owned()
}

fn is_incomplete(error: &ExecError) -> bool {
    matches!(&error.cause, ExecCause::Message(message) if message.ends_with("is an incomplete or empty template"))
}

/// What stands between the marks: from the first start to the last end.
fn warning(text: &str) -> Option<&str> {
    let (_, after) = text.split_once(WARN_START)?;
    after.rsplit_once(WARN_END).map(|(message, _)| message)
}

/// The texts of the errors in the chain that `errors.Unwrap` walks.
fn chain(error: &ExecError, text: &str) -> Vec<String> {
    let mut links = vec![text.to_owned()];
    let mut current = error;
    while let ExecCause::Call { error, .. } = &current.cause {
        links.push(error.to_string());
        match &**error {
            CallError::Exec(inner) => current = inner,
            // Its own causes do not matter: the text of this link already decides that nothing is reformatted.
            _ => break,
        }
    }
    links
}

/// One entry of Helm's report (`TraceableError`).
#[derive(Debug, PartialEq, Eq, Default)]
struct Block {
    location: String,
    message: String,
    executing: String,
}

impl Block {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("template: ")?;
        if rest.starts_with("no template ") {
            return Some(Self { message: text.to_owned(), ..Self::default() });
        }
        Self::executing(rest).or_else(|| Self::simple(rest))
    }

    /// `NAME: executing "TEMPLATE" at <EXPRESSION>: MESSAGE`.
    fn executing(text: &str) -> Option<Self> {
        let (location, after) = text.split_once(": executing ")?;
        let (template, after) = after.strip_prefix('"')?.split_once('"')?;
        let (expression, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
        Some(Self {
            location: location.to_owned(),
            message: before_next_link(message).to_owned(),
            executing: format!("executing \"{template}\" at <{expression}>:"),
        })
    }

    /// `NAME: MESSAGE`, split at the last colon.
    fn simple(text: &str) -> Option<Self> {
        let (location, message) = text.rsplit_once(": ")?;
        Some(Self {
            location: location.to_owned(),
            message: before_next_link(message).to_owned(),
            executing: String::new(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (part, end) in [(&self.location, "\n  "), (&self.executing, "\n    "), (&self.message, "\n")] {
            if !part.is_empty() {
                text.push_str(part);
                text.push_str(end);
            }
        }
        text
    }
}

/// A message without the error of the next template that follows in it.
fn before_next_link(message: &str) -> &str {
    message.split_once(" template:").map_or(message, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use helm_template::Location;

    fn failed(file: &str, template: &str, expression: &str, cause: ExecCause) -> ExecError {
        let at = Location { file: file.to_owned(), line: 3, column: 7, expression: expression.to_owned() };
        ExecError { template: template.to_owned(), at: Some(at), cause }
    }

    fn calling(function: &str, error: CallError) -> ExecCause {
        ExecCause::Call { function: function.to_owned(), error: Box::new(error) }
    }

    #[test]
    fn an_error_of_the_evaluator_becomes_a_block_with_its_place() {
        let message = ExecCause::Message("nil pointer evaluating interface {}.Seconds".to_owned());
        let error = failed("c/templates/a.yaml", "c/templates/a.yaml", ".Release.Time.Seconds", message);
        assert_eq!(
            exec_error("c/templates/a.yaml", &error, Rules::Helm4),
            "c/templates/a.yaml:3:7\n  executing \"c/templates/a.yaml\" at <.Release.Time.Seconds>:\n    nil pointer evaluating interface {}.Seconds"
        );
    }

    #[test]
    fn each_included_template_adds_a_block() {
        let inner =
            failed("c/templates/_h.tpl", "c.name", ".Values.a.b", ExecCause::Message("boom".to_owned()));
        let cause = calling("include", CallError::Exec(Box::new(inner)));
        let outer = failed("c/templates/a.yaml", "c/templates/a.yaml", "include \"c.name\" .", cause);
        assert_eq!(
            exec_error("c/templates/a.yaml", &outer, Rules::Helm4),
            "c/templates/a.yaml:3:7\n  executing \"c/templates/a.yaml\" at <include \"c.name\" .>:\n    error calling include:\nc/templates/_h.tpl:3:7\n  executing \"c.name\" at <.Values.a.b>:\n    boom"
        );
    }

    #[test]
    fn a_failing_function_leaves_gos_text_as_it_is() {
        let error = failed("a", "a", "index .x 5", calling("index", CallError::new("index out of range: 5")));
        assert_eq!(exec_error("a", &error, Rules::Helm4), error.to_string());
    }

    #[test]
    fn required_and_fail_show_their_message_alone_with_the_outermost_place() {
        let message = format!("{WARN_START}a password\nis required{WARN_END}");
        let inner = failed("b", "b", "required \"\" .x", calling("required", CallError::new(message)));
        let outer = failed("a", "a", "include \"b\" .", calling("include", CallError::Exec(Box::new(inner))));
        assert_eq!(
            exec_error("a", &outer, Rules::Helm4),
            "execution error at (a:3:7): a password\nis required"
        );
    }

    #[test]
    fn a_parse_error_keeps_its_place_and_last_words() {
        let message = "function \"nope\" not defined".to_owned();
        let error = ParseError { name: "c/templates/a.yaml".to_owned(), line: 4, message };
        assert_eq!(
            parse_error("c/templates/a.yaml", &error),
            "parse error at (c/templates/a.yaml:4): function \"nope\" not defined"
        );
    }
}
