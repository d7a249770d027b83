//! Series of plugins, bounded in number.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use self::census::Census;
use crate::object::ObjectKey;

mod census;

/// Series one plugin may have.
pub const MAX_SERIES: usize = 1_000;
/// Upper bounds of the histogram of seconds.
const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0];

#[derive(Clone, Debug, PartialEq)]
enum Series {
    Counter(f64),
    /// With the object during whose reconciliation it was set last.
    Gauge(f64, ObjectKey),
    Histogram {
        buckets: [u64; BUCKETS.len()],
        sum: f64,
        count: u64,
    },
}

/// The series of all plugins, by metric and labels. Names are not known at compile time, so they are kept and written
/// here instead of in the typed registry.
#[derive(Debug, Default)]
pub struct PluginMetrics {
    series: Mutex<BTreeMap<(String, String), Series>>,
    census: Mutex<Census>,
    dropped: std::sync::atomic::AtomicU64,
}

impl PluginMetrics {
    fn update(
        &self,
        plugin: &str,
        name: &str,
        labels: &[(String, String)],
        start: &Series,
        change: impl FnOnce(&mut Series),
    ) {
        let Some(labels) = render_labels(plugin, labels).filter(|_| is_metric_name(name)) else {
            return self.drop_one();
        };
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), labels);
        if !series.contains_key(&key) {
            let prefix = format!("plugin=\"{plugin}\"");
            let same_plugin = series.keys().filter(|(_, labels)| labels.starts_with(&prefix)).count();
            let same_name = series
                .range((name.to_owned(), String::new())..)
                .next()
                .filter(|((other, _), _)| other == name);
            let other_type =
                same_name.is_some_and(|(_, s)| std::mem::discriminant(s) != std::mem::discriminant(start));
            let counts = self.census.lock().unwrap_or_else(PoisonError::into_inner).counts(name);
            if same_plugin >= MAX_SERIES || other_type || counts {
                return self.drop_one();
            }
        }
        let entry = series.entry(key).or_insert_with(|| start.clone());
        if std::mem::discriminant(entry) == std::mem::discriminant(start) {
            change(entry);
        } else {
            self.drop_one();
        }
    }

    /// Adds to a counter.
    pub fn add(&self, plugin: &str, name: &str, labels: &[(String, String)], value: f64) {
        self.update(plugin, name, labels, &Series::Counter(0.0), |series| {
            if let Series::Counter(total) = series {
                *total += value;
            }
        });
    }

    /// Sets a gauge, which goes with the object that it was set for.
    pub fn set(&self, plugin: &str, name: &str, labels: &[(String, String)], value: f64, object: &ObjectKey) {
        let gauge = Series::Gauge(value, object.clone());
        self.update(plugin, name, labels, &gauge, |series| *series = gauge.clone());
    }

    /// Puts seconds into a histogram.
    pub fn observe(&self, plugin: &str, name: &str, labels: &[(String, String)], value: f64) {
        let empty = Series::Histogram { buckets: [0; BUCKETS.len()], sum: 0.0, count: 0 };
        self.update(plugin, name, labels, &empty, |series| {
            if let Series::Histogram { buckets, sum, count } = series {
                let bucket = BUCKETS.iter().position(|bound| value <= *bound);
                if let Some(bucket) = bucket.and_then(|index| buckets.get_mut(index)) {
                    *bucket += 1;
                }
                *sum += value;
                *count += 1;
            }
        });
    }

    /// Counts an object in a gauge of objects by label.
    pub fn count(&self, plugin: &str, name: &str, labels: &[(String, String)], object: &ObjectKey) {
        let Some(labels) = render_labels(plugin, labels).filter(|_| is_metric_name(name)) else {
            return self.drop_one();
        };
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if series
            .range((name.to_owned(), String::new())..)
            .next()
            .is_some_and(|((other, _), _)| other == name)
        {
            return self.drop_one();
        }
        let mut census = self.census.lock().unwrap_or_else(PoisonError::into_inner);
        if !census.count(name, &labels, object) {
            self.drop_one();
        }
    }

    /// An object is gone: nothing counts it any more, and its gauges go.
    pub fn forget(&self, object: &ObjectKey) {
        self.census.lock().unwrap_or_else(PoisonError::into_inner).forget(object);
        self.keep_gauges(|owner| owner != object);
    }

    /// Objects are no longer a plugin's business.
    pub fn keep_counted(&self, keep: impl Fn(&ObjectKey) -> bool) {
        self.census.lock().unwrap_or_else(PoisonError::into_inner).retain(&keep);
        self.keep_gauges(keep);
    }

    fn keep_gauges(&self, keep: impl Fn(&ObjectKey) -> bool) {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        series.retain(|_, series| !matches!(series, Series::Gauge(_, owner) if !keep(owner)));
    }

    fn drop_one(&self) {
        self.dropped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// The series in Prometheus' text format, without the final `# EOF`.
    pub fn write(&self, out: &mut String) -> std::fmt::Result {
        let dropped = self.dropped.load(std::sync::atomic::Ordering::Relaxed);
        writeln!(
            out,
            "# TYPE pilothouse_plugin_metrics_dropped counter\npilothouse_plugin_metrics_dropped_total {dropped}"
        )?;
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = "";
        for ((name, labels), value) in series.iter() {
            if last != name {
                let kind = match value {
                    Series::Counter(_) => "counter",
                    Series::Gauge(..) => "gauge",
                    Series::Histogram { .. } => "histogram",
                };
                writeln!(out, "# TYPE pilothouse_plugin_{name} {kind}")?;
                last = name;
            }
            write_series(out, name, labels, value)?;
        }
        self.census.lock().unwrap_or_else(PoisonError::into_inner).write(out)
    }
}

fn write_series(out: &mut String, name: &str, labels: &str, value: &Series) -> std::fmt::Result {
    match value {
        Series::Counter(value) => writeln!(out, "pilothouse_plugin_{name}_total{{{labels}}} {value}"),
        Series::Gauge(value, _) => writeln!(out, "pilothouse_plugin_{name}{{{labels}}} {value}"),
        Series::Histogram { buckets, sum, count } => {
            let mut below = 0;
            for (bound, n) in BUCKETS.iter().zip(buckets) {
                below += n;
                writeln!(out, "pilothouse_plugin_{name}_bucket{{{labels},le=\"{bound}\"}} {below}")?;
            }
            writeln!(out, "pilothouse_plugin_{name}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
            writeln!(out, "pilothouse_plugin_{name}_sum{{{labels}}} {sum}")?;
            writeln!(out, "pilothouse_plugin_{name}_count{{{labels}}} {count}")
        }
    }
}

/// Prometheus' rule for names, lower case, without the suffixes the format adds itself.
fn is_metric_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let reserved = ["_total", "_bucket", "_sum", "_count"].iter().any(|suffix| name.ends_with(suffix));
    !reserved
        && name.len() <= 100
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn render_labels(plugin: &str, labels: &[(String, String)]) -> Option<String> {
    let mut out = format!("plugin=\"{plugin}\"");
    let mut sorted: Vec<_> = labels.iter().collect();
    sorted.sort();
    for (key, value) in sorted {
        if !is_metric_name(key) || key == "plugin" || key == "le" || value.len() > 256 {
            return None;
        }
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, ",{key}=\"{value}\"");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(metrics: &PluginMetrics) -> String {
        let mut out = String::new();
        metrics.write(&mut out).unwrap();
        out
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(std::sync::Arc::new(crate::object::Gvk::new("g", "v1", "App")), Some("n"), name)
    }

    #[test]
    fn a_gauge_goes_with_the_object_that_it_was_set_for() {
        let metrics = PluginMetrics::default();
        let set =
            |name: &str| metrics.set("backup", "age", &[("of".to_owned(), name.to_owned())], 1.0, &key(name));
        ["a", "b", "c"].into_iter().for_each(set);
        metrics.add("backup", "taken", &[], 1.0);
        metrics.forget(&key("a"));
        metrics.keep_counted(|key| &*key.name != "b");
        let left = text(&metrics);
        assert!(!left.contains("of=\"a\"") && !left.contains("of=\"b\""), "{left}");
        assert!(left.contains("of=\"c\"") && left.contains("taken_total"), "{left}");
    }

    #[test]
    fn a_counter_is_written_with_the_plugin_as_label() {
        let metrics = PluginMetrics::default();
        let labels = [("kind".to_owned(), "a\"b".to_owned())];
        metrics.update("helm", "renders", &labels, &Series::Counter(0.0), |s| *s = Series::Counter(2.0));
        assert!(
            text(&metrics).contains("pilothouse_plugin_renders_total{plugin=\"helm\",kind=\"a\\\"b\"} 2\n")
        );
    }

    #[test]
    fn one_plugin_cannot_use_up_the_series_of_another() {
        let metrics = PluginMetrics::default();
        for n in 0..MAX_SERIES + 5 {
            metrics.set("noisy", "x", &[("n".to_owned(), n.to_string())], 0.0, &key("a"));
        }
        metrics.set("quiet", "y", &[], 1.0, &key("a"));
        assert!(text(&metrics).contains("dropped_total 5\n"));
        assert!(text(&metrics).contains("pilothouse_plugin_y{plugin=\"quiet\"} 1"));
    }

    #[test]
    fn objects_are_counted_once_by_their_last_labels_until_they_are_gone() {
        let metrics = PluginMetrics::default();
        let count = |name: &str, state: &str| {
            metrics.count("helm", "releases", &[("state".to_owned(), state.to_owned())], &key(name));
        };
        count("a", "pending");
        count("a", "deployed");
        count("b", "deployed");
        count("c", "failed");
        let line = |state: &str, n: u32| {
            format!("pilothouse_plugin_releases{{plugin=\"helm\",state=\"{state}\"}} {n}\n")
        };
        let all = text(&metrics);
        assert!(all.contains("# TYPE pilothouse_plugin_releases gauge\n"), "{all}");
        assert!(all.contains(&line("deployed", 2)) && all.contains(&line("failed", 1)), "{all}");
        assert!(!all.contains("pending"), "{all}");
        metrics.forget(&key("a"));
        assert!(text(&metrics).contains(&line("deployed", 1)));
        metrics.keep_counted(|key| &*key.name != "c");
        assert!(!text(&metrics).contains("failed"));
        metrics.set("helm", "releases", &[], 1.0, &key("a"));
        metrics.set("helm", "size", &[], 1.0, &key("a"));
        metrics.count("helm", "size", &[], &key("a"));
        assert!(text(&metrics).contains("dropped_total 2\n"), "a name has one type");
    }

    #[test]
    fn a_name_keeps_its_type_and_foreign_labels_are_refused() {
        let metrics = PluginMetrics::default();
        metrics.set("a", "x", &[], 0.0, &key("a"));
        metrics.update("b", "x", &[], &Series::Counter(0.0), |_| {});
        metrics.set("a", "y", &[("plugin".to_owned(), "b".to_owned())], 0.0, &key("a"));
        metrics.set("a", "y_total", &[], 0.0, &key("a"));
        assert!(text(&metrics).contains("dropped_total 3\n"));
    }
}
