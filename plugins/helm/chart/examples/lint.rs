//! Lints a chart directory as `helm lint` does: `cargo run --release -p helm-chart --example lint -- DIR…`.

use anyhow::{Context, Result};
use helm_chart::{
    File,
    lint::{Directory, LintSettings, Severity, lint},
};
use helm_template::Map;
use std::{
    fs,
    path::{Path, absolute},
    process::ExitCode,
};

fn main() -> Result<ExitCode> {
    let settings = LintSettings { namespace: "default".to_owned(), ..LintSettings::default() };
    let (values, mut count, mut failed) = (Map::new(), 0, 0);
    for path in std::env::args().skip(1) {
        let mut files = Vec::new();
        collect(Path::new(&path), "", &mut files).with_context(|| format!("cannot read {path}"))?;
        let whole = absolute(&path)?.display().to_string();
        let report = lint(&Directory { path: whole, files, ..Directory::default() }, &values, &settings);
        let mut told = format!("==> Linting {path}\n");
        for message in &report.messages {
            told.push_str(&format!("{message}\n"));
        }
        show(&told, &report.log);
        count += 1;
        failed += usize::from(report.messages.iter().any(|message| message.severity == Severity::Error));
    }
    let summary = format!("{count} chart(s) linted, {failed} chart(s) failed");
    if failed > 0 {
        show("", &[format!("Error: {summary}")]);
        return Ok(ExitCode::FAILURE);
    }
    show(&summary, &[]);
    Ok(ExitCode::SUCCESS)
}

fn show(out: &str, log: &[String]) {
    #[expect(clippy::print_stderr, reason = "where Helm writes its log")]
    for line in log {
        eprintln!("{line}");
    }
    #[expect(clippy::print_stdout, reason = "this is what the program is for")]
    if !out.is_empty() {
        println!("{out}");
    }
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            files.push(File::new(name, fs::read(&path)?));
        }
    }
    Ok(())
}
