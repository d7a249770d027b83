//! `pilothouse init`.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;

use super::create::{self, Made};
use super::on_disk::OnDisk;
use super::transaction::Transaction;
use super::{ApiArgs, OPERATOR_IMAGE, ProjectCommandError, foreign, here};
use crate::project::naming::{check_domain, check_project, project_of_directory};
use crate::project::project_file::{self, Project};
use crate::project::skeleton::{self, Description};
use crate::project::{File, Files as _};

/// Make a project that reconciles Helm charts, in this directory.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    // The last one wins, as with Go's flags.
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse init --plugins helm --domain example.com --helm-chart ./mychart
  pilothouse init --domain example.com --group apps --version v1alpha1 --kind AppService
  pilothouse init --domain example.com --helm-chart app --helm-chart-repo https://charts.example.com --helm-chart-version '^1.2'
  pilothouse init --domain example.com --helm-chart oci://registry.example.com/charts/app:1.2.3

Then `make docker-build docker-push deploy IMG=registry.example.com/my-operator:v0.0.1`."
)]
pub struct InitArgs {
    /// What the project is made of: helm.
    #[arg(long, value_name = "PLUGINS", default_value = "helm", value_parser = foreign::check_plugins)]
    pub plugins: String,
    /// What groups of kinds end with.
    #[arg(long, value_name = "DOMAIN", default_value = "my.domain")]
    pub domain: String,
    /// Prefix of everything the project deploys. Default: the directory's name.
    #[arg(long, value_name = "NAME")]
    pub project_name: Option<String>,
    /// Version of the project's form.
    #[arg(long, value_name = "VERSION", default_value = "3", value_parser = ["3"], hide = true)]
    pub project_version: String,
    /// Image that the operator's image is built from.
    #[arg(long, env = "PILOTHOUSE_OPERATOR_IMAGE", value_name = "IMAGE", default_value = OPERATOR_IMAGE)]
    pub operator_image: String,
    /// The first kind.
    #[command(flatten)]
    pub api: ApiArgs,
}

/// Makes the project, and its first kind where one is named.
///
/// # Errors
/// [`ProjectCommandError`]; then nothing was written.
pub fn execute(args: &InitArgs) -> Result<String, ProjectCommandError> {
    let root = here()?;
    let description = describe(args, &root)?;
    if root.join(project_file::FILE).exists() && !args.api.force {
        return Err(ProjectCommandError::Exists(root.display().to_string()));
    }
    create::check(&args.api, args.api.is_wanted())?;
    let mut transaction = Transaction::begin(&root)?;
    let project = Project::new(&description.name, &description.domain);
    let mut files = skeleton::files(&description);
    files.push(File::new(project_file::FILE, project.text()?));
    refuse_clashes(&files, &root, args.api.force)?;
    let made = if args.api.is_wanted() {
        let disk = OnDisk::with(&root, files.clone());
        let made = create::make(&args.api, &project, &disk, &root, &mut transaction)?;
        files.retain(|file| made.edited.iter().all(|edited| edited.path != file.path));
        Some(made)
    } else {
        None
    };
    for file in &files {
        transaction.file(&file.path, &file.text)?;
    }
    transaction.commit()?;
    Ok(told(&description, made.as_ref()))
}

fn describe(args: &InitArgs, root: &Path) -> Result<Description, ProjectCommandError> {
    let directory = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match &args.project_name {
        Some(name) => name.clone(),
        None => project_of_directory(&directory),
    };
    if args.project_name.is_none() && check_project(&name).is_err() {
        return Err(ProjectCommandError::Usage(format!(
            "the directory's name {directory:?} cannot be a project's; give one with --project-name"
        )));
    }
    check_project(&name)?;
    check_domain(&args.domain)?;
    if args.operator_image.split_whitespace().count() != 1 {
        return Err(ProjectCommandError::Usage(format!("{:?} is no image", args.operator_image)));
    }
    if !args.api.kind.is_empty() && !args.api.version.is_empty() {
        create::gvk_of(&args.api).check(&args.domain)?;
    }
    Ok(Description { name, domain: args.domain.clone(), operator_image: args.operator_image.clone() })
}

fn refuse_clashes(files: &[File], root: &Path, force: bool) -> Result<(), ProjectCommandError> {
    let disk = OnDisk::new(root);
    let other = |file: &&File| {
        std::fs::symlink_metadata(root.join(&file.path)).is_ok()
            && disk.text(&file.path).as_ref() != Some(&file.text)
    };
    let clashes: Vec<String> = files.iter().filter(other).map(|file| file.path.clone()).collect();
    if clashes.is_empty() || force { Ok(()) } else { Err(ProjectCommandError::Clash(clashes)) }
}

fn told(description: &Description, made: Option<&Made>) -> String {
    let mut begun = format!(
        "Project {} is there; its kinds are in groups of {}.\n",
        description.name, description.domain
    );
    if description.operator_image == OPERATOR_IMAGE {
        let _ = writeln!(
            begun,
            "Its image is built from {OPERATOR_IMAGE}, which `docker build` of Pilothouse's deploy/Dockerfile makes \
             (--target helm-operator); --operator-image names another one."
        );
    }
    match made {
        Some(made) => begun + &made.told(),
        None => begun + "Next: define a resource with:\n$ pilothouse create api --help\n",
    }
}
