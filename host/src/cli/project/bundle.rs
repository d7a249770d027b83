//! `pilothouse bundle`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::transaction::Transaction;
use super::{ProjectCommandError, here, kustomize};
use crate::project::bundle::{Options, bundle};
use crate::project::naming::check_project;
use crate::project::project_file::{self, LAYOUT, Project};
use crate::project::yaml_text;

/// Write the bundle of a project for OLM, from config/manifests.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse bundle --version 0.0.1
  pilothouse bundle --version 1.2.0 --channels candidate,stable --default-channel stable
  kustomize build config/manifests | pilothouse bundle --version 0.0.1 --input -"
)]
pub struct BundleArgs {
    /// Version of the operator.
    #[arg(short, long, value_name = "VERSION", default_value = "0.0.1")]
    pub version: String,
    /// Channels, separated by commas.
    #[arg(long, value_name = "NAMES", default_value = "alpha")]
    pub channels: String,
    /// Channel for those who name none.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub default_channel: String,
    /// Name of the package. Default: the project's.
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// Directory of the bundle.
    #[arg(long, value_name = "DIR", default_value = "bundle")]
    pub output_dir: String,
    /// The kustomization that everything of the bundle is in.
    #[arg(long, value_name = "DIR", default_value = "config/manifests")]
    pub kustomize_dir: String,
    /// What puts it together. Default: `kustomize build`, else `kubectl kustomize`.
    #[arg(long, env = "PILOTHOUSE_KUSTOMIZE", value_name = "PROGRAM")]
    pub kustomize: Option<String>,
    /// Read the objects from a file, or from standard input (-), instead.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Overwrite a bundle that is there. It is always done; --overwrite=false refuses to.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "true", require_equals = true, action = clap::ArgAction::Set)]
    pub overwrite: bool,
    /// Say nothing but errors and warnings.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Writes the bundle.
///
/// # Errors
/// [`ProjectCommandError`]; then nothing was written.
pub fn execute(args: &BundleArgs) -> Result<String, ProjectCommandError> {
    let root = here()?;
    let path = root.join(project_file::FILE);
    let project = match std::fs::read_to_string(&path) {
        Ok(text) => Some(Project::parse(&text)?),
        Err(_) if args.package.is_some() => None,
        Err(_) => return Err(ProjectCommandError::Missing(root.display().to_string())),
    };
    let package = args.package.clone().or_else(|| project.as_ref().map(Project::name)).unwrap_or_default();
    check_project(&package)?;
    let directory = relative(&args.output_dir)?;
    if !args.overwrite && root.join(&directory).exists() {
        return Err(ProjectCommandError::Usage(format!("{directory} is there already")));
    }
    let text = match &args.input {
        Some(path) => read(path)?,
        None => kustomize::build(args.kustomize.as_deref(), &root, &args.kustomize_dir)?,
    };
    let options = Options {
        package,
        version: args.version.trim().to_owned(),
        channels: args.channels.clone(),
        default_channel: args.default_channel.clone(),
        layout: LAYOUT.to_owned(),
        created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        directory: directory.clone(),
    };
    let made = bundle(&yaml_text::read_all(&text)?, &options)?;
    let mut transaction = Transaction::begin(&root)?;
    for file in &made.files {
        transaction.file(&file.path, &file.text)?;
    }
    transaction.commit()?;
    for note in &made.notes {
        eprintln!("pilothouse: {note}");
    }
    let mut out = String::new();
    if !args.quiet {
        let _ = writeln!(out, "Bundle {} {} is in {directory}/:", options.package, options.version);
        for file in &made.files {
            let _ = writeln!(out, "  {}", file.path);
        }
        for stale in strangers(&root, &directory, &made.files) {
            let _ = writeln!(out, "  {stale} is not of this project any more; delete it unless it is yours");
        }
        out.push_str("Next: build and push its image:\n$ make bundle-build bundle-push BUNDLE_IMG=registry.example/operator-bundle:v0.0.1\n");
    }
    Ok(out)
}

/// A directory below the project, as its files are named in the Dockerfile.
fn relative(directory: &str) -> Result<String, ProjectCommandError> {
    let clean = directory.trim_start_matches("./").trim_end_matches('/');
    let inside = !clean.is_empty()
        && Path::new(clean).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if inside {
        return Ok(clean.to_owned());
    }
    Err(ProjectCommandError::Usage(format!(
        "--output-dir {directory:?} has to be a directory below the project"
    )))
}

fn read(path: &Path) -> Result<String, ProjectCommandError> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    };
    read.map_err(|source| ProjectCommandError::file(path, source))?;
    Ok(text)
}

/// Manifests that an earlier bundle left behind.
fn strangers(root: &Path, directory: &str, files: &[crate::project::File]) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(directory).join("manifests")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let paths = names.map(|name| format!("{directory}/manifests/{name}"));
    let mut paths: Vec<String> = paths.filter(|path| files.iter().all(|file| file.path != *path)).collect();
    paths.sort();
    paths
}
