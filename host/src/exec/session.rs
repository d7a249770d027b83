//! One command, from the request to its end.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message as Frame};

use super::protocol::{self, Message, Tail};
use super::{Command, ExecError};
use crate::cluster::request::{Api, ApiError, ErrorKind};

/// Input goes in pieces of this size.
const PIECE: usize = 16 * 1024;
/// Between two signs of life, so that nobody on the way takes the connection for dead.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// The largest message taken. Servers send 32 KiB; a node may be anybody's.
const LARGEST: usize = 1024 * 1024;

/// Runs a command and answers with its exit code. What it writes goes to `tail`.
///
/// # Errors
/// [`ExecError`].
pub async fn run(api: &Api, command: &Command, tail: &Mutex<Tail>) -> Result<i32, ExecError> {
    let connection = api.connect(&command.path(), command.account.as_deref()).await.map_err(refused)?;
    if command.stdin.is_some() && !connection.supports_stream_close() {
        let why = "the API server cannot be told where the input ends (v5.channel.k8s.io); the command may have begun";
        return Err(ExecError::Lost(why.to_owned()));
    }
    // Nothing was read yet: the socket is taken with bounds of our own.
    let socket = connection.into_stream().into_inner();
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let socket = WebSocketStream::from_raw_socket(socket, Role::Client, Some(config)).await;
    follow(socket, command.stdin.as_deref(), tail).await
}

/// Only what the API server says no to was certainly not run.
fn refused(error: ApiError) -> ExecError {
    match error.kind {
        ErrorKind::Unavailable | ErrorKind::Other => ExecError::Unreachable(error.message),
        _ => ExecError::Refused(error.message),
    }
}

/// Gives a command its input and takes what it writes, until the server tells its end.
async fn follow<S>(
    socket: WebSocketStream<S>,
    stdin: Option<&[u8]>,
    tail: &Mutex<Tail>,
) -> Result<i32, ExecError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (sink, source) = socket.split();
    // Both at once: a command may write before it has read everything.
    tokio::select! {
        end = told(source, tail) => end,
        never = speak(sink, stdin) => match never {},
    }
}

/// Reads until the end is told. A connection that ends before has told nothing.
async fn told<R>(mut source: R, tail: &Mutex<Tail>) -> Result<i32, ExecError>
where
    R: Stream<Item = Result<Frame, tungstenite::Error>> + Unpin,
{
    while let Some(frame) = source.next().await {
        match frame {
            Ok(Frame::Binary(bytes)) => match Message::of(&bytes) {
                Message::Output(output) => tail.lock().unwrap_or_else(PoisonError::into_inner).push(output),
                Message::Status(status) => return protocol::exit_code(status),
                Message::Other => {}
            },
            Ok(Frame::Close(_)) => break,
            Ok(_) => {}
            Err(error) => {
                let message = format!("the connection broke before the command's end was told: {error}");
                return Err(ExecError::Lost(message));
            }
        }
    }
    Err(ExecError::Lost("the connection ended before the command's end was told".to_owned()))
}

/// Writes the input, then signs of life. What cannot be written is no end: whoever reads hears of that.
async fn speak<W>(mut sink: W, stdin: Option<&[u8]>) -> std::convert::Infallible
where
    W: Sink<Frame, Error = tungstenite::Error> + Unpin,
{
    let mut writable = match stdin {
        Some(stdin) => feed(&mut sink, stdin).await.is_ok(),
        None => true,
    };
    while writable {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        writable = sink.send(Frame::Ping(bytes::Bytes::new())).await.is_ok();
    }
    std::future::pending().await
}

async fn feed<W>(sink: &mut W, stdin: &[u8]) -> Result<(), tungstenite::Error>
where
    W: Sink<Frame, Error = tungstenite::Error> + Unpin,
{
    for piece in stdin.chunks(PIECE) {
        sink.send(Frame::Binary(protocol::input(piece).into())).await?;
    }
    sink.send(Frame::Binary(protocol::end_of_input().into())).await
}

#[cfg(test)]
mod tests;
