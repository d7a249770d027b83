//! Compares this crate with the Go libraries that Helm uses, output and error texts alike.
//!
//! Needs `go` and, the first time, the Go module proxy; without them nothing is compared, which is said aloud.
//! `HELM_YAML_CASES` sets how many generated cases each test tries, `HELM_YAML_SEED` where they start.

mod compare;
mod corpus;
mod documents;
mod json;
mod nodes;
mod values;

/// How many generated cases a test tries.
fn cases(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let start: u64 = number("HELM_YAML_SEED").unwrap_or(1);
    start..start + number("HELM_YAML_CASES").unwrap_or(default)
}
