//! `assets`: trees of files given to the binding, and charts that were handed out in the same call.

use std::sync::{Arc, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::charts::ASSET;
use crate::asset::{Asset, AssetError, AssetFile, Entry};
use crate::plugin::bindings::assets;
use crate::plugin::instance::HookState;

impl HookState {
    fn asset(&self, name: &str) -> Result<Arc<Asset>, assets::Error> {
        self.context
            .binding
            .assets
            .iter()
            .find(|asset| asset.name == name)
            .cloned()
            .ok_or(assets::Error::Unknown)
    }
}

impl HookState {
    /// Asks a tree for something, off the async workers; the name and what comes back are counted.
    async fn ask<T: Send + 'static>(
        &mut self,
        name: &str,
        bytes: usize,
        question: impl FnOnce(&Asset) -> Result<T, AssetError> + Send + 'static,
        size: impl FnOnce(&T) -> usize,
    ) -> wasmtime::Result<Result<T, assets::Error>> {
        if let Err(reason) = self.budget.take(name.len() + bytes) {
            return Ok(Err(assets::Error::TooLarge(reason.to_owned())));
        }
        let asset = match self.asset(name) {
            Ok(asset) => asset,
            Err(error) => return Ok(Err(error)),
        };
        // A runtime of one thread has nobody else to serve: the command line's.
        let alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        let answered = if alone {
            question(&asset)
        } else {
            tokio::task::spawn_blocking(move || question(&asset)).await?
        };
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(wit_error(&error))),
        };
        let settled = self.budget.take_bytes(size(&answer));
        Ok(settled.map(|()| answer).map_err(|reason| assets::Error::TooLarge(reason.to_owned())))
    }
}

impl HookState {
    /// The digest of a chart that was handed out in this call.
    fn handed(&self, name: &str) -> Option<String> {
        let digest = name.strip_prefix(ASSET)?;
        let wishes = self.context.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.handed.get(digest).cloned()
    }

    /// The one file of such a chart.
    async fn archive(&mut self, name: &str, digest: &str) -> Result<assets::File, assets::Error> {
        self.budget.take(name.len()).map_err(|reason| assets::Error::TooLarge(reason.to_owned()))?;
        let charts = self.context.charts.clone().ok_or(assets::Error::Unknown)?;
        let content =
            charts.read(digest).await.map_err(|error| assets::Error::Unreadable(error.to_string()))?;
        let settled = self.budget.take_bytes(content.len());
        settled.map_err(|reason| assets::Error::TooLarge(reason.to_owned()))?;
        Ok(assets::File { path: "chart.tgz".to_owned(), content })
    }
}

impl assets::Host for HookState {
    async fn stat(&mut self, name: String) -> wasmtime::Result<Result<assets::Tree, assets::Error>> {
        if let Some(digest) = self.handed(&name) {
            let file = self.archive(&name, &digest).await;
            let size = |file: assets::File| u64::try_from(file.content.len()).unwrap_or(u64::MAX);
            let digest = digest.trim_start_matches("sha256:").to_owned();
            return Ok(file.map(|file| assets::Tree { name, digest, size: size(file) }));
        }
        let state = self.ask(&name, 0, Asset::stat, |_| 0).await?;
        Ok(state.map(|state| assets::Tree { name, digest: state.digest.clone(), size: state.size }))
    }

    async fn read(&mut self, name: String) -> wasmtime::Result<Result<Vec<assets::File>, assets::Error>> {
        if let Some(digest) = self.handed(&name) {
            return Ok(self.archive(&name, &digest).await.map(|file| vec![file]));
        }
        let files =
            self.ask(&name, 0, |asset| asset.read().map(|(_, files)| files), |files| bytes(files)).await?;
        Ok(files.map(wit_files))
    }

    async fn list(&mut self, name: String) -> wasmtime::Result<Result<Vec<assets::Entry>, assets::Error>> {
        let entries = self
            .ask(&name, 0, Asset::list, |entries| entries.iter().map(|entry| entry.path.len() + 8).sum())
            .await?;
        let entry = |Entry { path, size, .. }: &Entry| assets::Entry { path: path.clone(), size: *size };
        Ok(entries.map(|entries| entries.iter().map(entry).collect()))
    }

    async fn read_files(
        &mut self,
        name: String,
        paths: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<assets::File>, assets::Error>> {
        let asked = paths.iter().map(String::len).sum();
        let files =
            self.ask(&name, asked, move |asset| asset.read_files(&paths), |files| bytes(files)).await?;
        Ok(files.map(wit_files))
    }
}

fn bytes(files: &[AssetFile]) -> usize {
    files.iter().map(|file| file.content.len() + file.path.len()).sum()
}

fn wit_files(files: Vec<AssetFile>) -> Vec<assets::File> {
    files.into_iter().map(|AssetFile { path, content }| assets::File { path, content }).collect()
}

fn wit_error(error: &AssetError) -> assets::Error {
    match error {
        AssetError::TooLarge { .. } | AssetError::TooManyFiles { .. } | AssetError::TooDeep { .. } => {
            assets::Error::TooLarge(error.to_string())
        }
        AssetError::Unreadable { .. } | AssetError::Outside { .. } => {
            assets::Error::Unreadable(error.to_string())
        }
    }
}
