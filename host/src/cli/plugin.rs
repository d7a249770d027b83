//! `pilothouse plugin`: files of plugins.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::plugin::compiled::{PREBUILT_DIR, compile_ahead};
use crate::plugin::compiler::CompileError;
use crate::plugin::manifest::{Manifest, ManifestError};
use crate::plugin::package::{Package, PackageError, embed};
use crate::whole_file;

/// Files of plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Put a manifest into a component, so that the host can load it.
    #[command(
        after_help = "EXAMPLE:\n  pilothouse plugin build target/wasm32-wasip2/release/hello.wasm --manifest plugin.yaml -o hello.wasm"
    )]
    Build {
        /// The component, as the compiler wrote it.
        component: PathBuf,
        /// The plugin's description.
        #[arg(long, value_name = "FILE", default_value = "plugin.yaml")]
        manifest: PathBuf,
        /// Where to write the plugin.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Print what a plugin says about itself. Runs nothing of it.
    #[command(after_help = "EXAMPLE:\n  pilothouse plugin inspect hello.wasm")]
    Inspect {
        /// The plugin.
        plugin: PathBuf,
    },
    /// Compile plugins to machine code that ships with the program: a host that finds it compiles nothing.
    #[command(after_help = "\
EXAMPLE (in a Dockerfile, as root):
  RUN pilothouse plugin compile /plugins/*.wasm

The code runs on every processor of this architecture, with this version of the host. `pilothouse run` believes the
directory only where nobody could change it who could not change the program as well: on the same mount as the program
(no volume), it and its files root's or the program's owner's, written by nobody else.")]
    Compile {
        /// The plugins.
        #[arg(required = true)]
        plugins: Vec<PathBuf>,
        /// Where to keep the code: what `pilothouse run --prebuilt-dir` names.
        #[arg(long, value_name = "DIR", default_value = PREBUILT_DIR)]
        cache_dir: PathBuf,
    },
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum PluginCommandError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// Nothing is where the manifest is looked for.
    #[error("{0}: there is no such file: say where the plugin's manifest is with --manifest")]
    NoManifest(String),
    /// A manifest is refused.
    #[error("{path}: {source}")]
    Manifest {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: ManifestError,
    },
    /// The file is no plugin of this host.
    #[error("{path}: {source}")]
    Package {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: PackageError,
    },
    /// It cannot be compiled, or not kept.
    #[error("{path}: {source}")]
    Compile {
        /// The plugin.
        path: String,
        /// What is wrong.
        #[source]
        source: CompileError,
    },
}

/// Does the command; the answer is what to print.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn execute(command: &PluginCommand) -> Result<String, PluginCommandError> {
    match command {
        PluginCommand::Build { component, manifest, output } => build(component, manifest, output),
        PluginCommand::Inspect { plugin } => inspect(plugin),
        PluginCommand::Compile { plugins, cache_dir } => compile(plugins, cache_dir),
    }
}

fn build(component: &Path, manifest: &Path, output: &Path) -> Result<String, PluginCommandError> {
    let text = read(manifest).map_err(|error| match error {
        PluginCommandError::File { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            PluginCommandError::NoManifest(path)
        }
        other => other,
    })?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let description = Manifest::parse(&text)
        .map_err(|source| PluginCommandError::Manifest { path: manifest.display().to_string(), source })?;
    let package = |source| PluginCommandError::Package { path: component.display().to_string(), source };
    let bytes = embed(&read(component)?, &description).map_err(package)?;
    let built = Package::read(bytes).map_err(package)?;
    write_whole(output, &built.bytes)?;
    Ok(format!(
        "{}: {} {} ({} bytes, sha256 {})\n",
        output.display(),
        description.name,
        description.version,
        built.bytes.len(),
        built.digest
    ))
}

/// The host may be watching the directory: the file appears under its name when it is whole.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PluginCommandError> {
    let failed = |source| PluginCommandError::File { path: path.display().to_string(), source };
    whole_file::write(path, bytes, 0o644).map_err(failed)
}

fn compile(plugins: &[PathBuf], directory: &Path) -> Result<String, PluginCommandError> {
    let mut out = String::new();
    for plugin in plugins {
        let path = || plugin.display().to_string();
        let package = Package::read(read(plugin)?)
            .map_err(|source| PluginCommandError::Package { path: path(), source })?;
        let compiled = compile_ahead(directory, &package.digest, &package.bytes)
            .map_err(|source| PluginCommandError::Compile { path: path(), source })?;
        let _ =
            writeln!(out, "{}: {} {}", compiled.display(), package.manifest.name, package.manifest.version);
    }
    Ok(out)
}

fn inspect(plugin: &Path) -> Result<String, PluginCommandError> {
    let package = |source| PluginCommandError::Package { path: plugin.display().to_string(), source };
    let read = Package::read(read(plugin)?).map_err(package)?;
    let manifest = &read.manifest;
    let mut out = String::new();
    let _ = writeln!(out, "{} {}  {}", manifest.name, manifest.version, manifest.description);
    let _ = writeln!(out, "interface  {}", manifest.interface);
    let _ = writeln!(out, "sha256     {}  ({} bytes)", read.digest, read.bytes.len());
    for kind in &manifest.kinds {
        let finalizer =
            kind.finalizer.as_deref().map(|name| format!("  finalizer {name}")).unwrap_or_default();
        let _ = writeln!(out, "kind       {}{finalizer}", kind.gvk());
    }
    if manifest.bindable {
        let _ = writeln!(out, "kind       those that the configuration binds to it");
    }
    for rule in &manifest.rights.kube {
        let _ = writeln!(
            out,
            "asks for   {} on {} in groups [{}]",
            rule.verbs.join(","),
            rule.resources.join(","),
            rule.api_groups.join(",")
        );
    }
    for place in &manifest.rights.charts {
        let _ = writeln!(out, "asks for   charts from {place}");
    }
    for place in &manifest.rights.egress {
        let _ = writeln!(out, "asks for   HTTP requests to {place}");
    }
    for place in &manifest.rights.stores {
        let _ = writeln!(out, "asks for   object storage at {place}");
    }
    if !manifest.rights.announces.is_empty() {
        let _ = writeln!(out, "asks for   announcing {} to others", manifest.rights.announces.join(","));
    }
    for rule in &manifest.rights.hooks {
        let _ = writeln!(out, "asks for   a part in {rule}");
    }
    let _ = writeln!(out, "instance   {:?}", manifest.instance.model);
    Ok(out)
}

fn read(path: &Path) -> Result<Vec<u8>, PluginCommandError> {
    std::fs::read(path)
        .map_err(|source| PluginCommandError::File { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_is_not_there_is_told_with_the_flag_that_names_it() {
        let manifest = Path::new("/nowhere/plugin.yaml");
        let error = build(Path::new("none.wasm"), manifest, Path::new("out.wasm")).unwrap_err();
        let said =
            "/nowhere/plugin.yaml: there is no such file: say where the plugin's manifest is with --manifest";
        assert_eq!(error.to_string(), said);
    }
}
