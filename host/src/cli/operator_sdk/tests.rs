//! Command lines and files that operator-sdk wrote.

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command};
use crate::listen::Address;

fn parse(args: &[&str]) -> RunArgs {
    match Cli::try_parse_from(["pilothouse", "run"].iter().chain(args)).unwrap().command {
        Command::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn settled(args: &[&str]) -> (RunArgs, Vec<String>) {
    let mut args = parse(args);
    let idle = settle(&mut args, &|_| None).unwrap();
    (args, idle.iter().map(ToString::to_string).collect())
}

/// The flags after those given, and a file of this text.
fn with_file(args: &[&str], text: &str) -> Result<(RunArgs, Vec<String>), String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let config = format!("--config={}", file.path().display());
    let mut args = parse(&[args, &[&config]].concat());
    let idle = settle(&mut args, &|_| None).map_err(|error| error.to_string())?;
    let path = format!("{}: ", file.path().display());
    Ok((args, idle.iter().map(|idle| idle.to_string().replace(&path, "")).collect()))
}

fn port(port: u16) -> Address {
    Address::Everywhere(port)
}

#[test]
fn the_flags_of_before_1_6_have_their_new_names_meaning() {
    let (args, idle) = settled(&["--metrics-addr=127.0.0.1:8080", "--enable-leader-election"]);
    assert_eq!(args.metrics_address(), Address::At(([127, 0, 0, 1], 8080).into()));
    assert_eq!(args.lease(), Some("pilothouse"));
    assert_eq!(idle, [""; 0]);
}

#[test]
fn the_flags_of_a_current_project_with_its_metrics_patch_are_understood() {
    // As kustomize leaves them: patches come first, and may say again what is there.
    let (args, idle) = settled(&[
        "--metrics-require-rbac",
        "--metrics-secure",
        "--metrics-bind-address=:8443",
        "--leader-elect",
        "--leader-election-id=memcached-operator",
        "--health-probe-bind-address=:8081",
        "--leader-elect=true",
        "--health-probe-bind-address=:8082",
    ]);
    assert!(args.metrics_secure && args.metrics_require_rbac);
    assert_eq!(args.metrics_address(), port(8443));
    assert_eq!(args.probe_address(), port(8082));
    assert_eq!(args.lease(), Some("memcached-operator"));
    assert_eq!(idle, [""; 0]);
}

#[test]
fn every_flag_of_helm_operator_run_is_taken() {
    let (args, idle) = settled(&[
        "--watches-file=./watches.yaml",
        "--reconcile-period=1m0s",
        "--max-concurrent-reconciles=4",
        "--leader-election-namespace=operators",
        "--suppress-override-values",
        "--enable-http2=false",
        "--zap-devel=false",
        "--zap-encoder=json",
        "--zap-log-level=error",
        "--zap-stacktrace-level=panic",
        "--zap-time-encoding=rfc3339",
    ]);
    assert!(args.suppress_override_values);
    assert_eq!((args.log_format, args.log.as_deref()), (Some(LogFormat::Json), Some("error")));
    assert_eq!(args.max_concurrent_reconciles, Some(4));
    let stacks = "--zap-stacktrace-level has no effect: errors are logged with their causes, without stacks";
    assert_eq!(idle, [stacks]);
}

#[test]
fn logs_are_as_zaps_flags_say_where_our_own_say_nothing() {
    let said = |args: &[&str]| {
        let (args, _) = settled(args);
        (args.log_format, args.log)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(said(&[]), (None, None));
    assert_eq!(said(&["--zap-devel"]), (Some(LogFormat::Text), text("debug")));
    assert_eq!(said(&["--zap-devel", "--zap-encoder=JSON"]), (Some(LogFormat::Json), text("debug")));
    assert_eq!(said(&["--zap-log-level", "5"]), (None, text("debug")));
    let ours = ["--zap-encoder=json", "--log-format=text", "--zap-log-level=debug", "--log=warn"];
    assert_eq!(said(&ours), (Some(LogFormat::Text), text("warn")));
}

#[test]
fn what_has_no_effect_is_said() {
    let (_, idle) = settled(&["--enable-http2", "--zap-time-encoding=epoch"]);
    assert!(idle[0].starts_with("--zap-time-encoding has no effect: "), "{idle:?}");
    assert!(idle[1].starts_with("--enable-http2 has no effect: "), "{idle:?}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for wrong in ["--zap-log-level=0", "--zap-encoder=xml", "--leader-elect=yes", "--metrics-secure=on"] {
        let error = Cli::try_parse_from(["pilothouse", "run", wrong]).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{wrong}: {error}");
    }
}

#[test]
fn tokens_are_never_asked_for_without_tls() {
    for flags in [["--metrics-require-rbac", "--metrics-secure=false"], ["--metrics-require-rbac=true"; 2]] {
        let error = settle(&mut parse(&flags), &|_| None).unwrap_err();
        assert!(matches!(error, SettleError::TokensInTheOpen), "{error}");
    }
    // Nothing is asked: nothing is open.
    settle(&mut parse(&["--metrics-require-rbac=false"]), &|_| None).unwrap();
}

#[test]
fn the_lease_keeps_the_name_that_operator_name_gave_it() {
    let env = |name: &str| (name == "OPERATOR_NAME").then(|| "old-operator".to_owned());
    let named = |flags: &[&str]| {
        let mut args = parse(flags);
        settle(&mut args, &env).unwrap();
        args.lease().map(ToOwned::to_owned)
    };
    assert_eq!(named(&["--leader-elect"]).as_deref(), Some("old-operator"));
    assert_eq!(named(&["--leader-elect", "--leader-election-id=new"]).as_deref(), Some("new"));
    assert_eq!(named(&[]), None);
}

/// As operator-sdk 1.11 writes it for a Helm project.
const SCAFFOLDED: &str = "\
apiVersion: controller-runtime.sigs.k8s.io/v1alpha1
kind: ControllerManagerConfig
metadata:
  labels: {app.kubernetes.io/name: controllermanagerconfig}
health:
  healthProbeBindAddress: :8083
metrics:
  bindAddress: 127.0.0.1:8080
leaderElection:
  leaderElect: true
  resourceName: 811c9dc5.example.com
";

#[test]
fn a_component_config_says_what_flags_leave_open() {
    let (args, idle) = with_file(&[], SCAFFOLDED).unwrap();
    assert_eq!(args.metrics_address(), Address::At(([127, 0, 0, 1], 8080).into()));
    assert_eq!(args.probe_address(), port(8083));
    assert_eq!(args.lease(), Some("811c9dc5.example.com"));
    assert_eq!(idle, [""; 0]);
    let flags = ["--metrics-bind-address=0", "--leader-elect=false", "--health-probe-bind-address=:1"];
    let (args, _) = with_file(&flags, SCAFFOLDED).unwrap();
    assert_eq!((args.metrics_address(), args.probe_address()), (Address::Off, port(1)));
    assert_eq!(args.lease(), None);
}

#[test]
fn the_rest_of_a_component_config_is_followed_or_named() {
    let text = "\
kind: ControllerManagerConfig
syncPeriod: 10h
gracefulShutDown: 8s
cacheNamespace: shop
webhook: {port: 9443}
health: {readinessEndpointName: /readyz, livenessEndpointName: /alive}
metrics: {bindAddress: ''}
controller: {groupKindConcurrency: {PlayerStats.charts: 2}}
leaderElection: {leaseDuration: 60s, renewDeadline: 40s, retryPeriod: 5s, resourceNamespace: ops, resourceLock: configmaps}
somethingNew: {deep: [1]}
";
    let (args, idle) = with_file(&[], text).unwrap();
    let seconds = |n| std::time::Duration::from_secs(n);
    assert_eq!(args.grace(), seconds(8));
    assert_eq!(args.namespace, ["shop"]);
    assert_eq!(args.metrics_address(), port(8080));
    assert_eq!(args.leader_election_namespace.as_deref(), Some("ops"));
    assert_eq!(args.leader_timing.lease_duration, seconds(60));
    assert_eq!(args.leader_timing.renew_deadline, seconds(40));
    assert_eq!(args.leader_timing.retry_period, seconds(5));
    let named: Vec<&str> = idle.iter().map(|line| line.split(" has no effect: ").next().unwrap()).collect();
    assert_eq!(
        named,
        [
            "syncPeriod",
            "webhook.port",
            "health.livenessEndpointName",
            "controller.groupKindConcurrency.PlayerStats.charts",
            "leaderElection.resourceLock",
            "somethingNew.deep",
        ]
    );
}

#[test]
fn a_component_config_that_cannot_be_followed_ends_the_start_and_names_the_field() {
    for (text, words) in [
        ("kind: Deployment\n", "kind \"Deployment\" is not ControllerManagerConfig"),
        ("- a\n", "kind \"\" is not"),
        (
            "kind: ControllerManagerConfig\nmetrics: {bindAddress: here}\n",
            "metrics.bindAddress: \"here\" is no address",
        ),
        (
            "kind: ControllerManagerConfig\nleaderElection: {leaderElect: 'on'}\n",
            "leaderElection.leaderElect: ",
        ),
        (
            "kind: ControllerManagerConfig\ngracefulShutDown: -1s\n",
            "gracefulShutDown: \"-1s\" is no duration",
        ),
        (
            "kind: ControllerManagerConfig\nleaderElection: {leaseDuration: 5s}\n",
            "leaseDuration has to be longer",
        ),
        // Whole seconds are what the lease says to others.
        (
            "kind: ControllerManagerConfig\nleaderElection: {leaseDuration: 1500ms, renewDeadline: 1200ms, retryPeriod: 1s}\n",
            "leaseDuration has to be longer",
        ),
        (
            "kind: ControllerManagerConfig\nleaderElection: {renewDeadline: 2s}\n",
            "renewDeadline has to be longer than 1.2 times retryPeriod",
        ),
        ("kind: [\n", ""),
    ] {
        let error = with_file(&[], text).unwrap_err();
        assert!(error.contains(words) && error.starts_with('/'), "{text}: {error}");
    }
    let mut args = parse(&["--config=/no/such/file.yaml"]);
    let error = settle(&mut args, &|_| None).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file.yaml: No such file"), "{error}");
}

#[test]
fn short_help_leaves_out_what_only_old_deployments_need() {
    let help = |flag| Cli::try_parse_from(["pilothouse", "run", flag]).unwrap_err().to_string();
    assert!(help("--help").contains("Flags of operator-sdk's helm-operator"));
    let short = help("-h");
    assert!(!short.contains("--zap") && short.contains("--metrics-secure"), "{short}");
}
