//! A stream of YAML or JSON documents, read as apimachinery's `YAMLOrJSONDecoder` reads it: what starts with a brace
//! is JSON, and becomes YAML for good where JSON does not go on.

use super::object::Object;
use crate::yaml;
use helm_yaml::json::{StreamError, first_from_json};

/// How far the decoder looks for a brace.
const LOOK_AHEAD: usize = 4096;

/// The objects of a stream. `None` is a document of nothing; behind an error nothing follows.
pub(super) struct Documents<'a> {
    stream: &'a [u8],
    state: State<'a>,
}

enum State<'a> {
    /// Where the next value starts, and how many there have been.
    Json {
        position: usize,
        count: usize,
    },
    /// The documents, and an error that JSON had with the first of them.
    Yaml {
        documents: yaml::Documents<'a>,
        json_error: Option<String>,
    },
    End,
}

impl<'a> Documents<'a> {
    pub(super) fn new(stream: &'a [u8]) -> Self {
        let start = String::from_utf8_lossy(stream.get(..LOOK_AHEAD).unwrap_or(stream));
        let state = if start.trim_start().starts_with('{') {
            State::Json { position: 0, count: 0 }
        } else {
            State::Yaml { documents: yaml::documents(stream), json_error: None }
        };
        Self { stream, state }
    }

    /// The next value as JSON. When it is none, the state is YAML and it is to be read again.
    fn json(&mut self, position: usize, count: usize) -> Option<Result<Option<Object>, String>> {
        let rest = self.stream.get(position..).unwrap_or_default();
        let error = match first_from_json(rest) {
            Ok(None) => {
                self.state = State::End;
                return None;
            }
            Ok(Some((value, length))) => match Object::from_json(value) {
                Ok(object) => {
                    self.state = State::Json { position: position + length, count: count + 1 };
                    return Some(Ok(object));
                }
                Err(error) => error.to_string(),
            },
            Err(StreamError { message, offset }) if count <= 1 => match offset {
                Some(offset) => format!("json: offset {}: {message}", position + offset),
                None => message,
            },
            Err(StreamError { message, .. }) => message,
        };
        if count > 1 {
            self.state = State::End;
            return Some(Err(error));
        }
        let documents = yaml::documents(behind_line(rest));
        self.state = State::Yaml { documents, json_error: Some(error) };
        self.next()
    }
}

/// What follows white space up to and with the first line break.
fn behind_line(rest: &[u8]) -> &[u8] {
    let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace() && **byte != b'\n').count();
    match rest.get(space) {
        Some(b'\n') => rest.get(space + 1..).unwrap_or_default(),
        _ => rest.get(space..).unwrap_or_default(),
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Option<Object>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.state {
            State::End => None,
            State::Json { position, count } => {
                let (position, count) = (*position, *count);
                self.json(position, count)
            }
            State::Yaml { documents, json_error } => {
                let document = documents.next()?;
                let read = document
                    .map_err(|rest| format!("invalid Yaml document separator: {rest}"))
                    .and_then(|document| Object::from_yaml(&document));
                let error = json_error.take();
                if read.is_err() {
                    self.state = State::End;
                }
                Some(read.map_err(|text| error.unwrap_or(text)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(stream: &str) -> Vec<String> {
        let kind = |read: Result<Option<Object>, String>| match read {
            Ok(Some(object)) => object.kind,
            Ok(None) => "nothing".to_owned(),
            Err(text) => format!("error: {text}"),
        };
        Documents::new(stream.as_bytes()).map(kind).collect()
    }

    #[test]
    fn yaml_documents_are_parted_by_lines_of_dashes() {
        assert_eq!(kinds("kind: a\n---\n# only this\n--- # x\nkind: b\n---\n"), ["a", "nothing", "b"]);
        assert_eq!(kinds(""), [""; 0]);
    }

    #[test]
    fn json_values_follow_each_other_and_may_turn_into_yaml() {
        assert_eq!(kinds("{\"kind\": \"a\"} {\"kind\": \"b\"}"), ["a", "b"]);
        assert_eq!(kinds("{\"kind\": \"a\"}\n---\nkind: b\n"), ["a", "b"]);
        assert_eq!(kinds("{kind: a}"), ["a"]);
    }

    #[test]
    fn behind_two_values_of_json_only_json_may_follow() {
        let error = "error: invalid character 'k' looking for beginning of value";
        assert_eq!(kinds("{\"kind\": \"a\"}{\"kind\": \"b\"}\nkind: c\n"), ["a", "b", error]);
    }

    #[test]
    fn what_is_neither_has_the_error_of_json_with_its_place() {
        let place = "error: json: offset 8: invalid character 'x' looking for beginning of value";
        assert_eq!(kinds("{}\n  \n x: ["), ["", place]);
        assert_eq!(kinds("{\"a\": \"x"), ["error: unexpected EOF"]);
    }
}
