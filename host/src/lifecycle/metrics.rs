//! Runs and their hooks, counted when a run is over.

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use super::run::{Hook, HookState, Run, RunState};
use crate::telemetry::{SharedRegistry, register};

/// Phases that have series of their own. Who may make runs invents others, and each series is kept for good.
const PHASES: [&str; 10] = [
    "pre-install",
    "post-install",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "pre-delete",
    "post-delete",
    "pre-scale-down",
    "post-scale-down",
];
/// Stands for all others, and for plugins that are not at work.
const OTHER: &str = "other";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRun {
    phase: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfHook {
    plugin: String,
    phase: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPhase {
    phase: &'static str,
}

/// Counters and times by phase.
#[derive(Clone, Debug)]
pub struct Metrics {
    runs: Family<OfRun, Counter>,
    hooks: Family<OfHook, Counter>,
    time: Family<OfPhase, Histogram, fn() -> Histogram>,
}

/// From a look at something to a backup of terabytes, or a person's night.
fn times() -> Histogram {
    Histogram::new([1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0])
}

impl Default for Metrics {
    fn default() -> Self {
        Self { runs: Family::default(), hooks: Family::default(), time: Family::new_with_constructor(times) }
    }
}

impl Metrics {
    /// Under names that begin with `pilothouse_lifecycle`.
    pub fn register(registry: &SharedRegistry) -> Self {
        let metrics = Self::default();
        register(registry, |r| {
            let help = "Announced phases of changes that are over, by how they ended";
            r.register("pilothouse_lifecycle_runs", help, metrics.runs.clone());
            let help = "Hooks of announced phases that are over, by plugin and how they ended";
            r.register("pilothouse_lifecycle_hooks", help, metrics.hooks.clone());
            let help = "Seconds from the announcement of a phase until everything of it was over";
            r.register("pilothouse_lifecycle_run_duration_seconds", help, metrics.time.clone());
        });
        metrics
    }

    /// A run has ended. `at_work`: whether a hook's plugin is known.
    pub(super) fn ended(&self, run: &Run, now: Timestamp, at_work: impl Fn(&Hook) -> bool) {
        let phase = PHASES.into_iter().find(|known| *known == run.spec.phase).unwrap_or(OTHER);
        let result = if run.status.state == RunState::Succeeded { "succeeded" } else { "failed" };
        self.runs.get_or_create(&OfRun { phase, result }).inc();
        let seconds = now.duration_since(run.created).as_secs_f64();
        self.time.get_or_create(&OfPhase { phase }).observe(seconds.max(0.0));
        for hook in &run.status.hooks {
            let result = match hook.state {
                HookState::Succeeded => "succeeded",
                HookState::Failed => "failed",
                HookState::Ignored => "ignored",
                // Its turn never came, or a person passed it over.
                _ => "skipped",
            };
            let plugin = if at_work(hook) { hook.plugin.as_str() } else { OTHER };
            let of = OfHook { plugin: plugin.to_owned(), phase, result };
            self.hooks.get_or_create(&of).inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(phase: &str) -> Run {
        let hook = |plugin: &str, name: &str, state: &str| {
            json!({"plugin": plugin, "name": name, "weight": 0, "timeoutSeconds": 100, "retries": 1,
                "failurePolicy": "Fail", "state": state, "attempts": 1})
        };
        Run::read(&json!({
            "apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
            "metadata": {"name": "r", "namespace": "demo", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {
                "subject": {"apiVersion": "v1", "kind": "Shop", "name": "web", "uid": "u"},
                "phase": phase, "change": "v2", "announcedBy": "helm",
            },
            "status": {"state": "Failed", "hooks": [hook("backup", "a", "Failed"), hook("made-up", "b", "Skipped")]},
        }))
        .unwrap()
    }

    fn told(runs: &[Run]) -> String {
        let registry = SharedRegistry::default();
        let metrics = Metrics::register(&registry);
        for run in runs {
            metrics.ended(run, "2026-01-01T00:05:00Z".parse().unwrap(), |hook| hook.plugin == "backup");
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry.lock().unwrap()).unwrap();
        text
    }

    #[test]
    fn a_run_that_is_over_is_counted_with_its_hooks_and_the_time_it_took() {
        let text = told(&[run("pre-upgrade")]);
        for line in [
            r#"pilothouse_lifecycle_runs_total{phase="pre-upgrade",result="failed"} 1"#,
            r#"pilothouse_lifecycle_hooks_total{plugin="backup",phase="pre-upgrade",result="failed"} 1"#,
            r#"pilothouse_lifecycle_run_duration_seconds_sum{phase="pre-upgrade"} 300"#,
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn phases_and_plugins_that_somebody_makes_up_have_one_series_together() {
        let runs: Vec<Run> = (0..100).map(|n| run(&format!("pre-made-up-{n}"))).collect();
        let text = told(&runs);
        assert!(!text.contains("made-up"), "{text}");
        assert!(
            text.contains(r#"pilothouse_lifecycle_runs_total{phase="other",result="failed"} 100"#),
            "{text}"
        );
        assert!(text.contains(r#"{plugin="other",phase="other",result="skipped"} 100"#), "{text}");
    }
}
