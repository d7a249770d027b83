//! The chart a project begins with that was given none: what `helm create` of Helm 4.3.1 writes.
//!
//! The files are Helm's own (`pkg/chart/v2/util/create.go`, Apache License 2.0) with `<CHARTNAME>` for the chart's name, so
//! that a person finds what the documentation of Helm talks about.

use helm_chart::File;
use thiserror::Error;

const PLACEHOLDER: &str = "<CHARTNAME>";

/// The longest name that Helm takes.
const MOST: usize = 250;

const FILES: [(&str, &str); 12] = [
    (".helmignore", include_str!("../starter/.helmignore")),
    ("Chart.yaml", include_str!("../starter/Chart.yaml")),
    ("templates/NOTES.txt", include_str!("../starter/templates/NOTES.txt")),
    ("templates/_helpers.tpl", include_str!("../starter/templates/_helpers.tpl")),
    ("templates/deployment.yaml", include_str!("../starter/templates/deployment.yaml")),
    ("templates/hpa.yaml", include_str!("../starter/templates/hpa.yaml")),
    ("templates/httproute.yaml", include_str!("../starter/templates/httproute.yaml")),
    ("templates/ingress.yaml", include_str!("../starter/templates/ingress.yaml")),
    ("templates/service.yaml", include_str!("../starter/templates/service.yaml")),
    ("templates/serviceaccount.yaml", include_str!("../starter/templates/serviceaccount.yaml")),
    ("templates/tests/test-connection.yaml", include_str!("../starter/templates/tests/test-connection.yaml")),
    ("values.yaml", include_str!("../starter/values.yaml")),
];

/// A name that no chart can have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("chart name must be between 1 and {MOST} characters of letters, digits, '-', '_' and '.', not {0:?}")]
pub struct ChartNameError(pub String);

/// The files of a new chart, by path below the chart's directory.
///
/// # Errors
/// When the name is none for a chart.
pub fn starter(name: &str) -> Result<Vec<File>, ChartNameError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > MOST || !name.chars().all(legal) || matches!(name, "." | "..") {
        return Err(ChartNameError(name.to_owned()));
    }
    Ok(FILES.iter().map(|(path, text)| File::new(*path, text.replace(PLACEHOLDER, name))).collect())
}
