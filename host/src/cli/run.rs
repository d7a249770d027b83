//! `pilothouse run`: its flags, each with an environment variable of the same meaning. Names that operator-sdk's
//! `helm-operator run` has too mean the same here.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::operator_sdk::OperatorSdkArgs;
use crate::binding::Account;
use crate::charts::places::Place;
use crate::cluster::kubeconfig::ClusterArgs;
use crate::controller::leader::Timing;
use crate::handover::authority::host_of;
use crate::listen::Address;
use crate::plugin::compiled::PREBUILT_DIR;
use crate::telemetry::LogFormat;
use crate::telemetry::traces::TraceArgs;
use crate::watches_file::go_duration;

/// Flags of `pilothouse run`.
///
/// Where a default stands in the words and not in the type, a file may have the say before it: [`super::operator_sdk`].
#[derive(Clone, Debug, Args)]
// The last one wins, as with Go's flags: patches of a Deployment add to its arguments.
#[command(
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse run                                     # ./watches.yaml, plugins of /plugins, the pod's service account
  pilothouse run --plugin-dir ./plugins --grant-requested --kubeconfig ~/.kube/config
  WATCH_NAMESPACE=shop,bank pilothouse run --watches-file watches.yaml --reconcile-period 5m

A grants file says what each plugin may do; a plugin that is not named may do nothing:
  plugins:
    hello:
      serviceAccount: operators/hello     # act as this account; default: the host's own
      kube:                               # rules as in RBAC, with `namespaces` beside them
        - { apiGroups: [apps], resources: [deployments], verbs: ['*'], namespaces: [shop] }
      charts: ['oci://registry.example']  # of the places that the configuration names for charts, only these
      limits: { memoryMiB: 64 }           # ceiling"
)]
pub struct RunArgs {
    /// Where the cluster is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// operator-sdk's watches file: charts and the kinds they reconcile. Default: ./watches.yaml where it exists.
    #[arg(long, env = "PILOTHOUSE_WATCHES_FILE", value_name = "FILE")]
    pub watches_file: Option<PathBuf>,
    /// Directory of plugin files (*.wasm), watched for changes. May be given several times.
    #[arg(
        long,
        env = "PILOTHOUSE_PLUGIN_DIR",
        value_name = "DIR",
        value_delimiter = ',',
        default_value = "/plugins"
    )]
    pub plugin_dir: Vec<PathBuf>,
    /// What plugins may do.
    #[arg(long, env = "PILOTHOUSE_GRANTS", value_name = "FILE")]
    pub grants: Option<PathBuf>,
    /// Grant plugins that the grants file does not name what their manifests ask for. For development.
    #[arg(long, env = "PILOTHOUSE_GRANT_REQUESTED")]
    pub grant_requested: bool,
    /// Plugin that reconciles the kinds of the watches file.
    #[arg(long, env = "PILOTHOUSE_WATCHES_PLUGIN", value_name = "NAME", default_value = "helm")]
    pub watches_plugin: String,
    /// Namespaces to watch, separated by commas. Default: all.
    #[arg(long, env = "WATCH_NAMESPACE", value_name = "NS,NS", value_delimiter = ',')]
    pub namespace: Vec<String>,
    /// Reconcile every object again after this time, changed or not. Drift is found by watches; this is the safety net.
    #[arg(long, env = "PILOTHOUSE_RECONCILE_PERIOD", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub reconcile_period: Duration,
    /// How long a LifecycleRun is kept once its change has come to its end; at least an hour, for whoever announced it to hear of that.
    #[arg(long, env = "PILOTHOUSE_LIFECYCLE_HISTORY", value_name = "DURATION", default_value = "720h", value_parser = history)]
    pub lifecycle_history: Duration,
    /// Hook calls at once. Default: twice the processors and eight more, at most 32.
    #[arg(long, env = "PILOTHOUSE_MAX_CONCURRENT_RECONCILES", value_name = "N")]
    pub max_concurrent_reconciles: Option<usize>,
    /// Requests to the API server that each plugin may send in a second, and twice as many at once after a rest. What the
    /// server itself can take is its own affair (API Priority and Fairness); this is against plugins that run wild.
    #[arg(long, env = "PILOTHOUSE_PLUGIN_QPS", value_name = "N", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    pub plugin_qps: u32,
    /// Address of /metrics; 0 turns it off. Default: :8080.
    #[arg(long, alias = "metrics-addr", env = "PILOTHOUSE_METRICS_BIND_ADDRESS", value_name = "ADDR")]
    pub metrics_bind_address: Option<Address>,
    /// Serve /metrics with TLS, with a certificate that the host signs itself.
    #[arg(long, env = "PILOTHOUSE_METRICS_SECURE", num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true, value_parser = go_bool, action = clap::ArgAction::Set)]
    pub metrics_secure: bool,
    /// Show /metrics only to accounts that may get it: each request carries a token, which the API server reviews.
    #[arg(long, env = "PILOTHOUSE_METRICS_REQUIRE_RBAC", num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true, value_parser = go_bool, action = clap::ArgAction::Set)]
    pub metrics_require_rbac: bool,
    /// Address of /healthz and /readyz; 0 turns it off. Default: :8081.
    #[arg(long, env = "PILOTHOUSE_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDR")]
    pub health_probe_bind_address: Option<Address>,
    /// Address at which Jobs of backups hand objects to the host and take them, with TLS. Off by default.
    #[arg(long, env = "PILOTHOUSE_HANDOVER_BIND_ADDRESS", value_name = "ADDR", default_value = "0")]
    pub handover_bind_address: Address,
    /// The same address as Jobs reach it, https://HOST:PORT. It has to lead to this process: another replica knows nothing of its
    /// tokens. Default: the pod's own address.
    #[arg(long, env = "PILOTHOUSE_HANDOVER_URL", value_name = "URL", value_parser = handover_url)]
    pub handover_url: Option<String>,
    /// Address of the host's own pod.
    #[arg(long, env = "POD_IP", hide = true)]
    pub pod_ip: Option<std::net::IpAddr>,
    /// Work only while holding a lease, so that several replicas can wait beside each other.
    #[arg(long, alias = "enable-leader-election", env = "PILOTHOUSE_LEADER_ELECT", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_parser = go_bool)]
    pub leader_elect: Option<bool>,
    /// Name of the lease. Default: pilothouse.
    #[arg(long, env = "PILOTHOUSE_LEADER_ELECTION_ID", value_name = "NAME")]
    pub leader_election_id: Option<String>,
    /// Namespace of the lease. Default: the pod's, or that of the kubeconfig's context.
    #[arg(long, env = "PILOTHOUSE_LEADER_ELECTION_NAMESPACE", value_name = "NS")]
    pub leader_election_namespace: Option<String>,
    /// How long the lease lives.
    #[arg(skip)]
    pub leader_timing: Timing,
    /// Write **** for the values in events about overrideValues of the watches file.
    #[arg(long, env = "PILOTHOUSE_SUPPRESS_OVERRIDE_VALUES", num_args = 0..=1, default_missing_value = "true", default_value = "false", require_equals = true, value_parser = go_bool, action = clap::ArgAction::Set)]
    pub suppress_override_values: bool,
    /// Directory for compiled plugins and fetched charts; a restart then compiles and fetches nothing. The host makes its own in it.
    #[arg(long, env = "PILOTHOUSE_CACHE_DIR", value_name = "DIR", default_value = "/var/cache/pilothouse")]
    pub cache_dir: PathBuf,
    /// Reconcile `Release` objects (helm.pilothouse.dev) whose charts come from these places, separated by commas:
    /// `oci://registry.example/charts`, `https://*.example.com`, or `*` for anywhere. Whoever may create them acts with the rights
    /// of the plugin's account.
    #[arg(long, env = "PILOTHOUSE_RELEASES", value_name = "PLACE,PLACE", value_delimiter = ',')]
    pub releases: Vec<Place>,
    /// Account with whose rights `Release` objects are made that name none themselves: `name` in the namespace of each, or
    /// `namespace/name`. Default: the plugin's.
    #[arg(long, env = "PILOTHOUSE_RELEASES_ACCOUNT", value_name = "ACCOUNT", requires = "releases")]
    pub releases_account: Option<Account>,
    /// Bytes of charts from elsewhere that are kept in the cache directory.
    #[arg(long, env = "PILOTHOUSE_CHART_CACHE_SIZE", value_name = "SIZE", default_value = "256Mi", value_parser = bytes)]
    pub chart_cache_size: Bytes,
    /// How long one attempt to fetch a chart from elsewhere may take.
    #[arg(long, env = "PILOTHOUSE_CHART_FETCH_TIMEOUT", value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub chart_fetch_timeout: Duration,
    /// Directory of plugins that were compiled with the image (`pilothouse plugin compile`); nothing is compiled then. It is
    /// believed only if it ships with the program.
    #[arg(long, env = "PILOTHOUSE_PREBUILT_DIR", value_name = "DIR", default_value = PREBUILT_DIR)]
    pub prebuilt_dir: PathBuf,
    /// Memory that compiling one plugin may take. Default: what the container's limit leaves, else 2Gi.
    #[arg(long, env = "PILOTHOUSE_COMPILE_MEMORY", value_name = "SIZE", value_parser = bytes)]
    pub compile_memory: Option<Bytes>,
    /// Threads that compile a plugin that is to go to work; each takes some more memory. Default: two where there are two.
    #[arg(long, env = "PILOTHOUSE_COMPILE_THREADS", value_name = "N")]
    pub compile_threads: Option<usize>,
    /// How long calls under way may take to end after SIGTERM. Default: 25s.
    #[arg(long, env = "PILOTHOUSE_GRACE_PERIOD", value_name = "DURATION", value_parser = duration)]
    pub grace_period: Option<Duration>,
    /// Name of the host's own pod, for events about plugins.
    #[arg(long, env = "POD_NAME", hide = true)]
    pub pod_name: Option<String>,
    /// Namespace of the host's own pod.
    #[arg(long, env = "POD_NAMESPACE", hide = true)]
    pub pod_namespace: Option<String>,
    /// Where traces go.
    #[command(flatten)]
    pub traces: TraceArgs,
    /// Log lines for people or as JSON. Default: text.
    #[arg(long, env = "PILOTHOUSE_LOG_FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
    /// What is logged, in RUST_LOG's language: `info`, `debug`, `pilothouse=debug,plugin=info`. Default: info.
    #[arg(long, env = "PILOTHOUSE_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// The same in operator-sdk's words.
    #[command(flatten)]
    pub operator_sdk: OperatorSdkArgs,
}

impl RunArgs {
    /// Where metrics are served.
    pub fn metrics_address(&self) -> Address {
        self.metrics_bind_address.clone().unwrap_or(Address::Everywhere(8080))
    }

    /// Where probes are served.
    pub fn probe_address(&self) -> Address {
        self.health_probe_bind_address.clone().unwrap_or(Address::Everywhere(8081))
    }

    /// The name of the lease to work under; `None`: no replicas compete.
    pub fn lease(&self) -> Option<&str> {
        let name = self.leader_election_id.as_deref().unwrap_or("pilothouse");
        self.leader_elect.unwrap_or(false).then_some(name)
    }

    /// How long calls under way may take to end.
    pub fn grace(&self) -> Duration {
        self.grace_period.unwrap_or(Duration::from_secs(25))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// As Kubernetes writes quantities of memory: `128Mi`, `2Gi`, `500M`, or plain bytes.
fn bytes(text: &str) -> Result<Bytes, String> {
    let wrong = || format!("{text:?} is no size such as 128Mi or 1Gi");
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).map(Bytes).ok_or_else(wrong)
}

/// A flag's value as Go takes it.
///
/// # Errors
/// With an example.
pub(super) fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// Wrong ones are refused before a cluster is asked for anything.
fn handover_url(text: &str) -> Result<String, String> {
    host_of(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A run that went before its announcer had heard how it stands would be announced anew, and its hooks with it.
fn history(text: &str) -> Result<Duration, String> {
    let history = duration(text)?;
    if history < Duration::from_hours(1) {
        Err(format!("{text:?} is less than an hour"))
    } else {
        Ok(history)
    }
}

/// A duration as Go writes it.
///
/// # Errors
/// With an example.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_duration(text).ok_or_else(|| format!("{text:?} is no duration such as 90s or 1m30s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    fn parse(args: &[&str]) -> RunArgs {
        let cli = Cli::try_parse_from(["pilothouse", "run"].iter().chain(args)).unwrap();
        match cli.command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn jobs_reach_the_host_with_tls_alone() {
        let url = "https://handover.pilothouse.svc:8444";
        assert_eq!(handover_url(url).as_deref(), Ok(url));
        assert!(handover_url("http://10.0.0.7:8444").unwrap_err().contains("such as https://"));
    }

    #[test]
    fn sizes_are_written_as_kubernetes_writes_them() {
        assert_eq!(bytes("96Mi"), Ok(Bytes(96 << 20)));
        assert_eq!(bytes("1000"), Ok(Bytes(1000)));
        for wrong in ["", "Mi", "1.5Gi", "1 Mi", "99999999999Gi"] {
            assert!(bytes(wrong).unwrap_err().contains("128Mi"), "{wrong}");
        }
    }

    #[test]
    fn the_flags_of_an_operator_sdk_deployment_are_understood() {
        let args = parse(&[
            "--health-probe-bind-address=:8081",
            "--metrics-bind-address=127.0.0.1:8080",
            "--leader-elect",
            "--leader-election-id=playerstats-operator",
        ]);
        assert_eq!(args.lease(), Some("playerstats-operator"));
        assert_eq!(args.metrics_address(), Address::At(([127, 0, 0, 1], 8080).into()));
        assert_eq!(parse(&["--leader-elect=false"]).lease(), None);
        assert_eq!(parse(&["--leader-elect=T"]).lease(), Some("pilothouse"));
    }

    #[test]
    fn runs_of_changes_are_kept_for_an_hour_at_least() {
        assert_eq!(parse(&["--lifecycle-history", "1h"]).lifecycle_history, Duration::from_hours(1));
        for short in ["59m", "0s"] {
            let error = Cli::try_parse_from(["pilothouse", "run", "--lifecycle-history", short]).unwrap_err();
            assert!(error.to_string().contains("less than an hour"), "{error}");
        }
    }

    #[test]
    fn a_wrong_address_is_answered_with_an_example() {
        let error = Cli::try_parse_from(["pilothouse", "run", "--metrics-bind-address", "x"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("is no address such as :8080"), "{error}");
        assert_eq!(parse(&["--metrics-bind-address", "0"]).metrics_address(), Address::Off);
    }
}
