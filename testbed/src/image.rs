//! Container images without a Docker daemon: a few files in the form of `docker save`, which `ctr`, `docker load`, `podman
//! load` and `skopeo` read. The same content gives the same bytes, and so the same image.

mod unpack;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// One image with one layer, under construction.
#[derive(Clone, Debug)]
pub struct Archive {
    tags: Vec<String>,
    /// By path, so that the order of calls does not change the image.
    entries: BTreeMap<String, Entry>,
    config: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Debug)]
struct Entry {
    mode: u32,
    owner: u32,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    File(Vec<u8>),
    Directory,
    Link(String),
}

impl Archive {
    /// An empty root file system. `tag` is the full name that pods use, with registry and version.
    pub fn new(tag: &str) -> Self {
        Self { tags: vec![tag.to_owned()], entries: BTreeMap::new(), config: BTreeMap::new() }
    }

    /// Another name for the same image.
    pub fn tag(&mut self, tag: &str) -> &mut Self {
        self.tags.push(tag.to_owned());
        self
    }

    /// The same under another name alone.
    pub fn renamed(&self, tag: &str) -> Self {
        Self { tags: vec![tag.to_owned()], ..self.clone() }
    }

    /// The image's names.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// A file, owned by root. Directories above it are made.
    pub fn file(&mut self, path: &str, content: impl Into<Vec<u8>>, mode: u32) -> &mut Self {
        self.entry(path, Entry { mode, owner: 0, content: Content::File(content.into()) })
    }

    /// A file with the content of one of this machine's.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn file_from(&mut self, path: &str, source: &Path, mode: u32) -> Result<&mut Self> {
        let content = fs::read(source).map_err(Error::file(source))?;
        Ok(self.file(path, content, mode))
    }

    /// A directory of this machine with all that is in it, or a file. Only the right to execute is kept of modes.
    ///
    /// # Errors
    /// When something of it cannot be read.
    pub fn tree_from(&mut self, path: &str, source: &Path) -> Result<&mut Self> {
        if !source.is_dir() {
            let executable = crate::paths::is_executable(source);
            return self.file_from(path, source, if executable { 0o755 } else { 0o644 });
        }
        self.directory(path, 0o755, 0);
        for entry in fs::read_dir(source).map_err(Error::file(source))? {
            let entry = entry.map_err(Error::file(source))?;
            self.tree_from(&format!("{path}/{}", entry.file_name().to_string_lossy()), &entry.path())?;
        }
        Ok(self)
    }

    /// A directory with this owner and group.
    pub fn directory(&mut self, path: &str, mode: u32, owner: u32) -> &mut Self {
        self.entry(path, Entry { mode, owner, content: Content::Directory })
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.entry(path, Entry { mode: 0o777, owner: 0, content: Content::Link(target.to_owned()) })
    }

    /// What a container runs.
    pub fn entrypoint(&mut self, arguments: &[&str]) -> &mut Self {
        self.set("Entrypoint", json!(arguments))
    }

    /// Arguments that a pod's `args` replace.
    pub fn arguments(&mut self, arguments: &[&str]) -> &mut Self {
        self.set("Cmd", json!(arguments))
    }

    /// `user` or `user:group`, as numbers so that `runAsNonRoot` can be checked.
    pub fn user(&mut self, user: &str) -> &mut Self {
        self.set("User", json!(user))
    }

    /// `NAME=value` pairs.
    pub fn environment(&mut self, variables: &[&str]) -> &mut Self {
        self.set("Env", json!(variables))
    }

    /// The working directory.
    pub fn working_directory(&mut self, path: &str) -> &mut Self {
        self.set("WorkingDir", json!(path))
    }

    /// What registries and people show: `org.opencontainers.image.*`.
    pub fn labels(&mut self, labels: &[(&str, &str)]) -> &mut Self {
        let labels: Map<String, Value> =
            labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        self.set("Labels", Value::Object(labels))
    }

    /// Writes it as a docker-archive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let mut output = fs::File::create(file).map_err(Error::file(file))?;
        write_all(std::slice::from_ref(self), &mut output)
    }

    fn entry(&mut self, path: &str, entry: Entry) -> &mut Self {
        let path = path.trim_matches('/');
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default().to_owned();
            let directory = Entry { mode: 0o755, owner: 0, content: Content::Directory };
            self.entries.entry(above).or_insert(directory);
        }
        self.entries.insert(path.to_owned(), entry);
        self
    }

    fn set(&mut self, key: &'static str, value: Value) -> &mut Self {
        self.config.insert(key, value);
        self
    }

    fn layer(&self) -> std::io::Result<Vec<u8>> {
        let mut layer = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = header(entry.mode, entry.owner);
            match &entry.content {
                Content::File(content) => {
                    header.set_size(content.len() as u64);
                    layer.append_data(&mut header, path, content.as_slice())?;
                }
                Content::Directory => {
                    header.set_entry_type(tar::EntryType::Directory);
                    layer.append_data(&mut header, format!("{path}/"), std::io::empty())?;
                }
                Content::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    layer.append_link(&mut header, path, target)?;
                }
            }
        }
        layer.into_inner()
    }

    /// The image's configuration, in the form of the OCI image specification.
    fn configuration(&self, layer: &str) -> Value {
        json!({
            "architecture": architecture(), "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "pilothouse testbed"}],
        })
    }
}

/// Writes several images as one docker-archive; layers that are the same are written once.
///
/// # Errors
/// When it cannot be written.
pub fn write_all(images: &[Archive], output: &mut dyn Write) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::Other(format!("the image archive cannot be written: {error}"));
    let (mut files, mut manifest) = (BTreeMap::new(), Vec::new());
    for image in images {
        let layer = image.layer().map_err(failed)?;
        let layer_digest = digest(&layer);
        let configuration = image.configuration(&layer_digest).to_string().into_bytes();
        let (layer_file, configuration_file) =
            (format!("{layer_digest}.tar"), format!("{}.json", digest(&configuration)));
        manifest.push(json!({"Config": configuration_file, "RepoTags": image.tags, "Layers": [layer_file]}));
        files.insert(layer_file, layer);
        files.insert(configuration_file, configuration);
    }
    let mut archive = tar::Builder::new(output);
    let manifest = Value::Array(manifest).to_string().into_bytes();
    for (name, content) in files.iter().chain([(&"manifest.json".to_owned(), &manifest)]) {
        let mut header = header(0o644, 0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_slice()).map_err(failed)?;
    }
    archive.finish().map_err(failed)
}

fn header(mode: u32, owner: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_uid(u64::from(owner));
    header.set_gid(u64::from(owner));
    header.set_mtime(0);
    header.set_size(0);
    header
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As Go and images name it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "amd64",
        other => other,
    }
}

#[cfg(test)]
mod tests;
