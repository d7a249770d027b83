//! Charts for tests, written as text.

use helm_chart::{Chart, File, load_directory};

/// A chart from its files; without a `Chart.yaml` among them it gets one.
pub(crate) fn chart(files: &[(&str, &str)]) -> Chart {
    let mut all: Vec<File> = files.iter().map(|(path, text)| File::new(*path, *text)).collect();
    if !files.iter().any(|(path, _)| *path == "Chart.yaml") {
        all.push(File::new("Chart.yaml", "apiVersion: v2\nname: site\nversion: 1.0.0\n"));
    }
    load_directory(all, &mut Vec::new()).unwrap()
}
