//! What registries are told of a bundle: the same in a file and as labels of its image.

use super::Options;
use crate::project::File;

/// A line of each.
type Entry = (&'static str, String);

/// `annotations.yaml` and the Dockerfile.
pub(super) fn files(options: &Options, has_tests: bool) -> [File; 2] {
    let directory = &options.directory;
    let mut annotations = "annotations:\n".to_owned();
    let mut dockerfile = "FROM scratch\n".to_owned();
    let tests = if has_tests { tests() } else { Vec::new() };
    for (what, entries) in [("The bundle.", core(options)), ("Its tests.", tests)] {
        if entries.is_empty() {
            continue;
        }
        annotations.push_str(&format!("  # {what}\n"));
        dockerfile.push_str(&format!("\n# {what}\n"));
        for (key, value) in entries {
            annotations.push_str(&format!("  {key}: {value}\n"));
            dockerfile.push_str(&format!("LABEL {key}={value}\n"));
        }
    }
    dockerfile.push_str("\n# Where the labels say that things are.\n");
    dockerfile
        .push_str(&format!("COPY {directory}/manifests /manifests/\nCOPY {directory}/metadata /metadata/\n"));
    if has_tests {
        dockerfile.push_str(&format!("COPY {directory}/tests/scorecard /tests/scorecard/\n"));
    }
    [
        File::new(format!("{directory}/metadata/annotations.yaml"), annotations),
        File::new("bundle.Dockerfile", dockerfile),
    ]
}

fn core(options: &Options) -> Vec<Entry> {
    let mut entries = vec![
        ("operators.operatorframework.io.bundle.mediatype.v1", "registry+v1".to_owned()),
        ("operators.operatorframework.io.bundle.manifests.v1", "manifests/".to_owned()),
        ("operators.operatorframework.io.bundle.metadata.v1", "metadata/".to_owned()),
        ("operators.operatorframework.io.bundle.package.v1", options.package.clone()),
        ("operators.operatorframework.io.bundle.channels.v1", options.channels.clone()),
    ];
    if !options.default_channel.is_empty() {
        let key = "operators.operatorframework.io.bundle.channel.default.v1";
        entries.push((key, options.default_channel.clone()));
    }
    let builder = format!("pilothouse-v{}", env!("CARGO_PKG_VERSION"));
    entries.push(("operators.operatorframework.io.metrics.builder", builder));
    entries.push(("operators.operatorframework.io.metrics.mediatype.v1", "metrics+v1".to_owned()));
    entries.push(("operators.operatorframework.io.metrics.project_layout", options.layout.clone()));
    entries
}

fn tests() -> Vec<Entry> {
    vec![
        ("operators.operatorframework.io.test.mediatype.v1", "scorecard+v1".to_owned()),
        ("operators.operatorframework.io.test.config.v1", "tests/scorecard/".to_owned()),
    ]
}
