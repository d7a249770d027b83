//! The plugin at work says which version of a chart is meant: the commands that also answer at the command line.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::fetch::Chooser;
use crate::asset::Asset;
use crate::command::context;
use crate::plugin::bindings::{CommandAnswer, Invocation};
use crate::plugin::command;
use crate::plugin::registry::Registry;

/// Asks the revision at work.
#[derive(Debug)]
pub struct PluginChooser {
    registry: Arc<Registry>,
    scratch: std::path::PathBuf,
    /// An index takes memory in the host and in the plugin.
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl PluginChooser {
    /// A chooser; indexes go through files in a directory.
    pub fn new(registry: Arc<Registry>, scratch: &std::path::Path) -> Self {
        Self { registry, scratch: scratch.to_owned(), one_at_a_time: tokio::sync::Mutex::default() }
    }

    async fn ask(
        &self,
        plugin: &str,
        name: &str,
        options: Value,
        assets: Vec<Arc<Asset>>,
    ) -> Result<CommandAnswer, String> {
        let revision = self
            .registry
            .active(plugin)
            .ok_or_else(|| format!("no revision of plugin {plugin} is at work"))?;
        let cluster = context::cluster(context::client_of_no_cluster());
        let context = context::context(&revision, assets, &cluster, None);
        let invocation = Invocation { name: name.to_owned(), options: options.to_string() };
        let answer = command::run(&revision, None, context, &invocation).await;
        let (answer, _) = answer.map_err(|error| error.to_string())?;
        match answer.failure {
            Some(failure) => Err(failure),
            None => Ok(answer),
        }
    }
}

#[async_trait]
impl Chooser for PluginChooser {
    async fn pick_tag(&self, plugin: &str, tags: Vec<String>, version: &str) -> Result<String, String> {
        let answer =
            self.ask(plugin, "pick-tag", json!({"tags": tags, "version": version}), Vec::new()).await?;
        String::from_utf8(answer.output).map_err(|error| error.to_string())
    }

    async fn find_chart(
        &self,
        plugin: &str,
        index: Vec<u8>,
        name: &str,
        version: &str,
    ) -> Result<Value, String> {
        let _one = self.one_at_a_time.lock().await;
        let mut file = tempfile::NamedTempFile::new_in(&self.scratch).map_err(|error| error.to_string())?;
        std::io::Write::write_all(&mut file, &index).map_err(|error| error.to_string())?;
        drop(index);
        let asset = Arc::new(Asset::new("index", file.path()));
        let options = json!({"index": "index", "name": name, "version": version});
        let answer = self.ask(plugin, "find-chart", options, vec![asset]).await?;
        serde_json::from_slice(&answer.output).map_err(|error| error.to_string())
    }
}
