//! What goes over a connection to a command: Kubernetes' subprotocols `v5.channel.k8s.io` and `v4.channel.k8s.io`, where the first
//! byte of each message says to which channel the others belong.

use std::collections::VecDeque;

use serde_json::Value;

use super::ExecError;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// Ends the channel that is named by the second byte; since v5.
const CLOSE: u8 = 255;

/// How much of a command's output is kept.
pub const KEPT: usize = 4 * 1024;
/// A server's words are cut to so many characters.
const WORDS: usize = 1_024;

/// A message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Of standard output or standard error.
    Output(&'a [u8]),
    /// How the command ended: a `Status` of the API.
    Status(&'a [u8]),
    /// Nothing of interest. Servers begin with an empty message to say that they are there.
    Other,
}

impl<'a> Message<'a> {
    /// Reads one.
    pub fn of(bytes: &'a [u8]) -> Self {
        match bytes.split_first() {
            Some((&(STDOUT | STDERR), output)) => Self::Output(output),
            Some((&STATUS, status)) if !status.is_empty() => Self::Status(status),
            _ => Self::Other,
        }
    }
}

/// A message with input.
pub fn input(bytes: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(bytes.len() + 1);
    message.push(STDIN);
    message.extend_from_slice(bytes);
    message
}

/// The message that there is no more input.
pub fn end_of_input() -> Vec<u8> {
    vec![CLOSE, STDIN]
}

/// The exit code that a `Status` tells of.
///
/// # Errors
/// [`ExecError::Runtime`] where it tells of something else, in its own words.
pub fn exit_code(status: &[u8]) -> Result<i32, ExecError> {
    let status: Value = serde_json::from_slice(status)
        .map_err(|_| ExecError::Lost("what the server said at the end is no status".to_owned()))?;
    let text = |field: &str| status.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("status") == "Success" {
        return Ok(0);
    }
    let code = Some(&status).filter(|_| text("reason") == "NonZeroExitCode").and_then(code_of);
    code.ok_or_else(|| ExecError::Runtime(text("message").chars().take(WORDS).collect()))
}

fn code_of(status: &Value) -> Option<i32> {
    let mut causes = status.pointer("/details/causes")?.as_array()?.iter();
    let cause = causes.find(|cause| cause.get("reason").and_then(Value::as_str) == Some("ExitCode"))?;
    cause.get("message")?.as_str()?.parse().ok()
}

/// The end of what a command wrote.
#[derive(Debug, Default)]
pub struct Tail(VecDeque<u8>);

impl Tail {
    /// Adds to it, and lets go of the beginning.
    pub fn push(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(KEPT)..).unwrap_or_default();
        let excess = (self.0.len() + bytes.len()).saturating_sub(KEPT);
        self.0.drain(..excess);
        self.0.extend(bytes);
    }

    /// As text; what is no UTF-8 is replaced, and a character that was cut at the beginning is left out.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let cut = if bytes.len() == KEPT {
            bytes.iter().take(3).take_while(|byte| is_inner(**byte)).count()
        } else {
            0
        };
        String::from_utf8_lossy(bytes.get(cut..).unwrap_or_default()).into_owned()
    }
}

/// Not the first byte of a character.
fn is_inner(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(status: &Value) -> Result<i32, ExecError> {
        exit_code(status.to_string().as_bytes())
    }

    #[test]
    fn a_status_tells_the_exit_code_or_why_there_is_none() {
        assert_eq!(ended(&json!({"metadata": {}, "status": "Success"})), Ok(0));
        let failed = |reason: &str, causes: Value| {
            ended(&json!({"metadata": {}, "status": "Failure", "reason": reason, "message": "said",
                "details": {"causes": causes}}))
        };
        assert_eq!(failed("NonZeroExitCode", json!([{"reason": "ExitCode", "message": "3"}])), Ok(3));
        assert_eq!(failed("NonZeroExitCode", json!([{"reason": "ExitCode", "message": "137"}])), Ok(137));
        let unknown = Err(ExecError::Runtime("said".to_owned()));
        assert_eq!(
            failed("InternalError", json!([{"message": "executable file not found in $PATH"}])),
            unknown
        );
        // Nothing is made up where the code cannot be read.
        assert_eq!(failed("NonZeroExitCode", json!([{"reason": "ExitCode", "message": "x"}])), unknown);
        assert_eq!(failed("NonZeroExitCode", json!([])), unknown);
        assert_eq!(ended(&json!({})), Err(ExecError::Runtime(String::new())));
        assert!(matches!(exit_code(b"{\"status\":"), Err(ExecError::Lost(_))));
    }

    #[test]
    fn messages_are_told_apart_by_their_first_byte() {
        assert_eq!(Message::of(b"\x01out"), Message::Output(b"out"));
        assert_eq!(Message::of(b"\x02err"), Message::Output(b"err"));
        assert_eq!(Message::of(b"\x03{}"), Message::Status(b"{}"));
        for other in [&b""[..], b"\x00in", b"\x03", b"\x04{}", b"\xff\x01"] {
            assert_eq!(Message::of(other), Message::Other, "{other:?}");
        }
    }

    #[test]
    fn of_the_output_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(b"first");
        assert_eq!(tail.text(), "first");
        tail.push(&[b'x'; KEPT - 2]);
        tail.push(b"ab");
        assert_eq!(tail.text(), format!("{}ab", "x".repeat(KEPT - 2)));
        tail.push(&[b'y'; 3 * KEPT]);
        assert_eq!(tail.text(), "y".repeat(KEPT));
    }

    #[test]
    fn a_character_that_was_cut_is_left_out_and_what_is_none_is_replaced() {
        let mut tail = Tail::default();
        tail.push("€".as_bytes());
        tail.push(&[b'x'; KEPT - 2]);
        assert_eq!(tail.text(), "x".repeat(KEPT - 2));
        let mut tail = Tail::default();
        tail.push(b"\x80ab");
        assert_eq!(tail.text(), "\u{fffd}ab");
    }
}
