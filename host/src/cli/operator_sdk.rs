//! What operator-sdk's `helm-operator run` is told in other words than this host: flags, a configuration file, a variable.
//! A Deployment that operator-sdk wrote starts unchanged; what has no meaning here is said at the start, never swallowed.

mod component_config;

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::run::{RunArgs, go_bool};
use crate::telemetry::LogFormat;

pub use component_config::ConfigError;

/// Flags of operator-sdk's helm-operator that this host has no use for, or better names.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "Flags of operator-sdk's helm-operator, so that its Deployments start unchanged"
)]
pub struct OperatorSdkArgs {
    /// File of kind ControllerManagerConfig. Flags and variables win over it.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Form of log lines, as --log-format.
    #[arg(long, value_enum, ignore_case = true, hide_short_help = true)]
    pub zap_encoder: Option<ZapEncoder>,
    /// What is logged, as --log: debug, info, warn, error, panic, or a number from 1 on for debug.
    #[arg(long, value_name = "LEVEL", value_parser = zap_level, hide_short_help = true)]
    pub zap_log_level: Option<ZapLevel>,
    /// Text and level debug, where nothing else is said.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_parser = go_bool, hide_short_help = true)]
    pub zap_devel: Option<bool>,
    /// No effect: log lines have no stack traces.
    #[arg(long, value_name = "LEVEL", hide_short_help = true)]
    pub zap_stacktrace_level: Option<String>,
    /// No effect: times in the log are RFC 3339.
    #[arg(long, value_name = "FORM", hide_short_help = true)]
    pub zap_time_encoding: Option<String>,
    /// No effect: probes and metrics are served with HTTP/1.1.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_parser = go_bool, hide_short_help = true)]
    pub enable_http2: Option<bool>,
}

/// Values of `--zap-encoder`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ZapEncoder {
    /// One JSON object a line.
    Json,
    /// For people.
    Console,
}

/// A level of zap's, as a filter of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZapLevel(&'static str);

fn zap_level(text: &str) -> Result<ZapLevel, String> {
    let is_number = text.parse::<u8>().is_ok_and(|level| level > 0);
    match text.to_ascii_lowercase().as_str() {
        "debug" => Ok(ZapLevel("debug")),
        "info" => Ok(ZapLevel("info")),
        "warn" => Ok(ZapLevel("warn")),
        "error" | "panic" => Ok(ZapLevel("error")),
        _ if is_number => Ok(ZapLevel("debug")),
        _ => Err(format!("{text:?} is no level such as debug, info, error or 1")),
    }
}

/// Something that operator-sdk knows and that does nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The flag, or the file and the field.
    pub what: String,
    /// Why, and what to do instead where there is something.
    pub why: &'static str,
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no effect: {}", self.what, self.why)
    }
}

impl Idle {
    fn new(what: impl Into<String>, why: &'static str) -> Self {
        Self { what: what.into(), why }
    }
}

/// Flags that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Tokens without TLS.
    #[error(
        "--metrics-require-rbac needs --metrics-secure: without TLS the tokens of those who read the metrics would be open to the network"
    )]
    TokensInTheOpen,
    /// The file of `--config`.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Brings what operator-sdk's words say into the host's own flags, where those are not given. The answer is what has no
/// effect.
///
/// # Errors
/// When the file cannot be followed, or the flags contradict each other.
pub fn settle(args: &mut RunArgs, env: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Idle>, SettleError> {
    if args.metrics_require_rbac && !args.metrics_secure {
        return Err(SettleError::TokensInTheOpen);
    }
    settle_log(args);
    let mut idle = idle_flags(&args.operator_sdk);
    if let Some(path) = args.operator_sdk.config.clone() {
        idle.extend(component_config::read(&path)?.apply(args)?);
    }
    // Projects of before 1.0 name their lease by it: the operator before this one must wait for the same.
    if args.leader_election_id.is_none() {
        args.leader_election_id = env("OPERATOR_NAME").filter(|name| !name.is_empty());
    }
    Ok(idle)
}

fn settle_log(args: &mut RunArgs) {
    let RunArgs { operator_sdk, log, log_format, .. } = args;
    let is_devel = operator_sdk.zap_devel == Some(true);
    let level = operator_sdk.zap_log_level.or(is_devel.then_some(ZapLevel("debug")));
    if let (None, Some(ZapLevel(level))) = (&log, level) {
        *log = Some(level.to_owned());
    }
    let encoder = operator_sdk.zap_encoder.or(is_devel.then_some(ZapEncoder::Console));
    *log_format = log_format.or(encoder.map(|encoder| match encoder {
        ZapEncoder::Json => LogFormat::Json,
        ZapEncoder::Console => LogFormat::Text,
    }));
}

fn idle_flags(flags: &OperatorSdkArgs) -> Vec<Idle> {
    let mut idle = Vec::new();
    if flags.zap_stacktrace_level.is_some() {
        idle.push(Idle::new("--zap-stacktrace-level", "errors are logged with their causes, without stacks"));
    }
    // The others write the same moment in the form that is always used here.
    let is_number = |form: &str| ["epoch", "millis", "nano"].contains(&form.to_ascii_lowercase().as_str());
    if flags.zap_time_encoding.as_deref().is_some_and(is_number) {
        idle.push(Idle::new("--zap-time-encoding", "times in the log are always written as RFC 3339"));
    }
    if flags.enable_http2 == Some(true) {
        idle.push(Idle::new(
            "--enable-http2",
            "probes and metrics are served with HTTP/1.1, nothing else is",
        ));
    }
    idle
}

#[cfg(test)]
mod tests;
