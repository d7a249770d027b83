//! The files of the configuration: grants and watches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::AppError;
use crate::asset::Asset;
use crate::binding::{Binding, RELEASE};
use crate::capability::grants::{GrantSpec, GrantsFile};
use crate::cli::run::RunArgs;
use crate::controller::supervisor::Supervisor;
use crate::object::Gvk;
use crate::plugin::manifest::Manifest;
use crate::watches_file::{self, ChartPlace, WatchEntry};

/// What the files of the configuration say.
pub(super) struct Configuration {
    pub(super) grants: Arc<GrantsFile>,
    entries: Vec<WatchEntry>,
    pub(super) namespaces: Vec<String>,
}

impl Configuration {
    /// Reads them all. An entry of the watches file that is wrong is left out, aloud.
    ///
    /// # Errors
    /// When a file cannot be read, or nothing of it can be used.
    pub(super) fn read(args: &RunArgs) -> Result<Self, AppError> {
        let mut grants = match &args.grants {
            Some(path) => read_grants(path)?,
            None => GrantsFile::default(),
        };
        let entries = match watches_path(args) {
            Some(path) => read_watches(&path)?,
            None => Vec::new(),
        };
        let has_kinds = !entries.is_empty() || !args.releases.is_empty();
        if has_kinds && !grants.plugins.contains_key(&args.watches_plugin) {
            // As operator-sdk has it: whoever names the charts lets the operator's account install them.
            tracing::info!(
                plugin = args.watches_plugin,
                "the watches file, or --releases, grants the plugin what it asks for, within the RBAC of the host's account"
            );
            let spec = GrantSpec { all_requested: true, ..GrantSpec::default() };
            grants.plugins.insert(args.watches_plugin.clone(), spec);
        }
        let namespaces =
            args.namespace.iter().map(|ns| ns.trim().to_owned()).filter(|ns| !ns.is_empty()).collect();
        Ok(Self { grants: Arc::new(grants), entries, namespaces })
    }

    /// Whether there is a watches file, as a Helm operator has it.
    pub(super) fn has_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Binds the kinds of the watches file, and `Release` where that was asked for; the answer is the trees to be watched.
    pub(super) fn bind(&self, args: &RunArgs, supervisor: &Arc<Supervisor>) -> Vec<Arc<Asset>> {
        let mut assets = Vec::new();
        let manifest = supervisor.manifest_of(&args.watches_plugin);
        if manifest.is_none() && (!self.entries.is_empty() || !args.releases.is_empty()) {
            tracing::error!(
                plugin = args.watches_plugin,
                "the plugin for the watches file is not there yet; its kinds wait for it"
            );
        }
        for entry in &self.entries {
            let mut binding = binding(args, manifest.as_ref());
            binding.gvk = Arc::new(entry.gvk.clone());
            binding.selector.clone_from(&entry.selector);
            binding.settings = Arc::from(settings(args, &entry.settings));
            match &entry.chart {
                ChartPlace::Disk(path) => {
                    // By its path: that is what errors name.
                    let asset = Arc::new(Asset::new(&path.display().to_string(), path));
                    assets.push(Arc::clone(&asset));
                    binding.assets = vec![asset];
                }
                ChartPlace::Elsewhere(place) => binding.charts = vec![place.clone()],
            }
            binding.resync = entry.reconcile_period.unwrap_or(args.reconcile_period);
            binding.concurrency = entry.concurrency;
            binding.account.clone_from(&entry.account);
            binding.origin.clone_from(&entry.origin);
            supervisor.bind(binding);
        }
        if !args.releases.is_empty() {
            let mut binding = binding(args, manifest.as_ref());
            binding.settings = Arc::from(settings(args, &json!({"fromSpec": true})));
            binding.charts.clone_from(&args.releases);
            binding.account.clone_from(&args.releases_account);
            binding.names_account = true;
            supervisor.bind(binding);
        }
        assets
    }
}

/// A binding to the plugin of the watches file, for the kind `Release` until somebody says another.
fn binding(args: &RunArgs, manifest: Option<&Manifest>) -> Binding {
    let kind = Arc::new(Gvk::new(RELEASE.0, RELEASE.1, RELEASE.2));
    let plugin = Arc::from(args.watches_plugin.as_str());
    Binding {
        finalizer: manifest.and_then(|manifest| manifest.finalizer.as_deref()).map(Arc::from),
        legacy_finalizers: manifest.map(|manifest| manifest.legacy_finalizers.clone()).unwrap_or_default(),
        ..Binding::new(&plugin, kind, args.reconcile_period, "--releases")
    }
}

/// The settings of a kind, and what the flags say for all of them.
fn settings(args: &RunArgs, settings: &Value) -> String {
    let mut settings = settings.clone();
    if let (true, Some(map)) = (args.suppress_override_values, settings.as_object_mut()) {
        map.insert("suppressOverrideValues".to_owned(), true.into());
    }
    settings.to_string()
}

fn watches_path(args: &RunArgs) -> Option<PathBuf> {
    let default = Path::new("watches.yaml");
    args.watches_file.clone().or_else(|| default.is_file().then(|| default.to_owned()))
}

fn read_watches(path: &Path) -> Result<Vec<WatchEntry>, AppError> {
    let text = read_text(path)?;
    let read = watches_file::parse(path, &text, &|name| std::env::var(name).ok());
    let watches_file::Read { entries, errors, ignored } = read;
    for key in &ignored {
        tracing::warn!("{key}");
    }
    for error in &errors {
        tracing::error!(%error, "entry of the watches file left out; the others are watched");
    }
    if let (true, Some(first)) = (entries.is_empty(), errors.first()) {
        return Err(AppError::Nothing(first.to_string()));
    }
    Ok(entries)
}

fn read_grants(path: &Path) -> Result<GrantsFile, AppError> {
    let text = read_text(path)?;
    let wrong = |message| AppError::Config { path: path.display().to_string(), message };
    let grants: GrantsFile = serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    grants.check().map_err(|error| wrong(error.to_string()))?;
    Ok(grants)
}

fn read_text(path: &Path) -> Result<String, AppError> {
    std::fs::read_to_string(path)
        .map_err(|error| AppError::Config { path: path.display().to_string(), message: error.to_string() })
}
