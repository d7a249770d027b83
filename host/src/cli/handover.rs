//! `pilothouse pipe`, `upload` and `download`: what the host's image does in the pod of a backup's Job.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::run::duration;
use crate::handover::Stored;
use crate::handover::client::download::{Wanted, download};
use crate::handover::client::dump::Dump;
use crate::handover::client::link::Link;
use crate::handover::client::upload::upload;
use crate::handover::client::{ClientError, pipe, seal, word};

/// Arguments of `pilothouse pipe`.
#[derive(Debug, Args)]
pub struct PipeArgs {
    /// Where the pipe is made. One that is there is taken.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
}

/// What is in the Secret of a handover.
#[derive(Debug, Args)]
pub struct SecretArgs {
    /// File with the token.
    #[arg(
        long,
        env = "PILOTHOUSE_TOKEN_FILE",
        value_name = "FILE",
        default_value = "/var/run/pilothouse/token"
    )]
    pub token_file: PathBuf,
    /// File with the authority that signed the host's certificate.
    #[arg(
        long,
        env = "PILOTHOUSE_CA_FILE",
        value_name = "FILE",
        default_value = "/var/run/pilothouse/ca.crt"
    )]
    pub ca_file: PathBuf,
    /// How long the host is asked again while it does not answer, and the status waited for after the end of the data.
    #[arg(long, env = "PILOTHOUSE_PATIENCE", value_name = "DURATION", default_value = "1m", value_parser = duration)]
    pub patience: Duration,
    /// Where the last word goes: {"size","sha256"} of what is stored, or {"reason","message"}.
    #[arg(
        long,
        env = "PILOTHOUSE_TERMINATION_LOG",
        value_name = "FILE",
        default_value = "/dev/termination-log"
    )]
    pub termination_log: PathBuf,
}

/// Arguments of `pilothouse upload`.
#[derive(Debug, Args)]
pub struct UploadArgs {
    /// Pipe that the data comes out of.
    #[arg(long, value_name = "PATH", required_unless_present = "file", conflicts_with = "file")]
    pub stream: Option<PathBuf>,
    /// File with the data, complete once the status says so.
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// File in which whoever writes the data leaves its exit code. Nothing is stored unless it is 0.
    #[arg(long, value_name = "FILE")]
    pub status: PathBuf,
    /// Public key of age (age1…) to encrypt to. May be given several times.
    #[arg(long, value_name = "KEY")]
    pub recipient: Vec<String>,
    /// File of public keys, one on each line.
    #[arg(long, value_name = "FILE")]
    pub recipients_file: Option<PathBuf>,
    /// The handover's address.
    #[arg(long, env = "PILOTHOUSE_UPLOAD_URL", value_name = "URL")]
    pub url: String,
    /// The rest of the Secret.
    #[command(flatten)]
    pub secret: SecretArgs,
}

/// Arguments of `pilothouse download`.
#[derive(Debug, Args)]
pub struct DownloadArgs {
    /// Pipe that the data goes into.
    #[arg(long, value_name = "PATH")]
    pub stream: PathBuf,
    /// File that gets a 0 once all of the data was seen and is what it has to be.
    #[arg(long, value_name = "FILE")]
    pub status: PathBuf,
    /// sha256 of what is stored, lower-case hex.
    #[arg(long, value_name = "HEX")]
    pub sha256: String,
    /// Bytes of what is stored.
    #[arg(long, value_name = "N")]
    pub size: u64,
    /// File with the private key of age that reads it.
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
    /// The handover's address.
    #[arg(long, env = "PILOTHOUSE_DOWNLOAD_URL", value_name = "URL")]
    pub url: String,
    /// The rest of the Secret.
    #[command(flatten)]
    pub secret: SecretArgs,
}

impl SecretArgs {
    fn link(&self, url: &str) -> Result<Link, ClientError> {
        Link::read(url, &self.token_file, &self.ca_file, self.patience)
    }

    /// Tells how it ended.
    fn told(&self, result: Result<Stored, ClientError>) -> Result<(), ClientError> {
        if let Err(error) = word::leave(&self.termination_log, &result) {
            eprintln!("pilothouse: {error}");
        }
        result.map(drop)
    }
}

/// Makes the pipe.
///
/// # Errors
/// [`ClientError`].
pub fn make_pipe(args: &PipeArgs) -> Result<(), ClientError> {
    pipe::make(&args.path)
}

/// Stores what comes out of a pipe or a file.
///
/// # Errors
/// [`ClientError`]; then nothing is stored.
pub fn send(args: &UploadArgs) -> Result<(), ClientError> {
    args.secret.told(run(sending(args)))
}

/// Brings what is stored into a pipe.
///
/// # Errors
/// [`ClientError`]; then there is no status file.
pub fn fetch(args: &DownloadArgs) -> Result<(), ClientError> {
    args.secret.told(run(fetching(args)))
}

fn run(work: impl Future<Output = Result<Stored, ClientError>>) -> Result<Stored, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ClientError::Start)?.block_on(work)
}

async fn sending(args: &UploadArgs) -> Result<Stored, ClientError> {
    let recipients = seal::recipients(&args.recipient, args.recipients_file.as_deref())?;
    // Before anything is asked: a writer must find its reader.
    let patience = args.secret.patience;
    let stream =
        args.stream.as_deref().map(|path| Dump::stream(path, args.status.clone(), patience)).transpose()?;
    let link = args.secret.link(&args.url)?;
    link.greet().await?;
    let dump = match (stream, &args.file) {
        (Some(dump), _) => dump,
        (None, file) => Dump::file(file.clone().unwrap_or_default(), args.status.clone(), patience).await?,
    };
    upload(&link, dump, &recipients).await
}

async fn fetching(args: &DownloadArgs) -> Result<Stored, ClientError> {
    let keys = args.identity.as_deref().map(seal::identities).transpose()?;
    let stored = Stored { size: args.size, sha256: args.sha256.to_ascii_lowercase() };
    let (pipe, status) = (args.stream.clone(), args.status.clone());
    download(&args.secret.link(&args.url)?, Wanted { pipe, status, stored, keys }).await
}
