//! Names of metrics.

/// The host's rule for names: what it would drop does not count here either.
pub(super) fn is_metric_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let reserved = ["_total", "_bucket", "_sum", "_count"].iter().any(|suffix| name.ends_with(suffix));
    !reserved && name.chars().all(allowed) && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// A series as tests ask for it.
pub(super) fn series(name: &str, labels: &[(String, String)]) -> String {
    if labels.is_empty() {
        return name.to_owned();
    }
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    format!("{name}{{{}}}", labels.join(","))
}
