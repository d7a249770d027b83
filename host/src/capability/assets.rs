//! `assets`: trees of files given to the binding.

use std::sync::Arc;

use crate::asset::{Asset, AssetError};
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

impl assets::Host for HookState {
    async fn stat(&mut self, name: String) -> wasmtime::Result<Result<assets::Tree, assets::Error>> {
        if let Err(reason) = self.budget.take(name.len()) {
            return Ok(Err(assets::Error::TooLarge(reason.to_owned())));
        }
        let asset = match self.asset(&name) {
            Ok(asset) => asset,
            Err(error) => return Ok(Err(error)),
        };
        let state = tokio::task::spawn_blocking(move || asset.stat()).await?;
        Ok(state
            .map(|state| assets::Tree { name, digest: state.digest.clone(), size: state.size })
            .map_err(|error| wit_error(&error)))
    }

    async fn read(&mut self, name: String) -> wasmtime::Result<Result<Vec<assets::File>, assets::Error>> {
        if let Err(reason) = self.budget.take(name.len()) {
            return Ok(Err(assets::Error::TooLarge(reason.to_owned())));
        }
        let asset = match self.asset(&name) {
            Ok(asset) => asset,
            Err(error) => return Ok(Err(error)),
        };
        let files = match tokio::task::spawn_blocking(move || asset.read()).await? {
            Ok((_, files)) => files,
            Err(error) => return Ok(Err(wit_error(&error))),
        };
        let bytes = files.iter().map(|file| file.content.len() + file.path.len()).sum();
        if let Err(reason) = self.budget.take_bytes(bytes) {
            return Ok(Err(assets::Error::TooLarge(reason.to_owned())));
        }
        Ok(Ok(files
            .into_iter()
            .map(|file| assets::File { path: file.path, content: file.content })
            .collect()))
    }
}

fn wit_error(error: &AssetError) -> assets::Error {
    match error {
        AssetError::TooLarge { .. } => assets::Error::TooLarge(error.to_string()),
        AssetError::Unreadable { .. } | AssetError::Outside { .. } => {
            assets::Error::Unreadable(error.to_string())
        }
    }
}
