//! The repositories that dependencies come from: which they are, and their indexes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Requirement, Update, is_oci, tell};
use crate::chart_source::LocateError;
use crate::chart_source::repository::{self, Entry};
use crate::error_text::without_login;
use crate::whole_file;

/// Where dependencies come from.
pub(super) struct Repositories {
    /// Those that somebody added.
    pub(super) known: Vec<Entry>,
    /// The index that a dependency is looked for in, by its name.
    names: HashMap<String, String>,
    cache: PathBuf,
}

impl Repositories {
    /// The index for a dependency; none: it comes from elsewhere.
    pub(super) fn index_of(&self, dependency: &str) -> Option<(&str, PathBuf)> {
        let name = self.names.get(dependency)?;
        Some((name, self.cache.join(format!("{name}-index.yaml"))))
    }
}

/// Finds out which repositories are meant, and fetches their indexes.
pub(super) fn update(
    update: &Update<'_>,
    requirements: &mut [Requirement],
) -> Result<Repositories, LocateError> {
    let known = repository::entries(update.settings)?;
    let cache = repository::cache(update.settings);
    let mut all = Repositories { known, names: HashMap::new(), cache };
    all.resolve(update, requirements)?;
    all.add_unknown(requirements)?;
    if !all.known.is_empty() {
        tell("Hang tight while we grab the latest from your chart repositories...");
        for entry in once_each(&all.known) {
            fetch_index(entry, &all.cache, true);
        }
        tell("Update Complete. ⎈Happy Helming!⎈");
    }
    Ok(all)
}

impl Repositories {
    /// Puts URLs where names of repositories stand.
    fn resolve(&mut self, update: &Update<'_>, requirements: &mut [Requirement]) -> Result<(), LocateError> {
        let mut missing = Vec::new();
        for requirement in requirements.iter_mut().filter(|requirement| !requirement.repository.is_empty()) {
            let repository = &requirement.repository;
            if repository.starts_with("file://") {
                update.local(repository)?;
                if update.settings.debug {
                    tell(&format!("Repository from local path: {repository}"));
                }
                continue;
            }
            if is_oci(repository) {
                continue;
            }
            let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
            let is_meant = |entry: &&Entry| match alias {
                Some(alias) => entry.name == alias,
                None => same(&entry.url, repository),
            };
            if let Some(entry) = self.known.iter().find(is_meant) {
                self.names.insert(requirement.name.clone(), entry.name.clone());
                if alias.is_some() {
                    requirement.repository = entry.url.clone();
                }
            } else if !is_request_uri(repository) {
                missing.push(repository.clone());
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(LocateError::NotFound(undefined(&missing))) }
    }

    /// Fetches the indexes of repositories that nobody added.
    fn add_unknown(&mut self, requirements: &[Requirement]) -> Result<(), LocateError> {
        let is_remote = |url: &str| !(url.is_empty() || url.starts_with("file://") || is_oci(url));
        let mut told = Vec::new();
        for requirement in requirements {
            let url = &requirement.repository;
            if !is_remote(url) || self.names.contains_key(&requirement.name) {
                continue;
            }
            let name = format!("helm-manager-{}", hex(&Sha256::digest(url.as_bytes())));
            self.names.insert(requirement.name.clone(), name.clone());
            if told.is_empty() {
                tell("Getting updates for unmanaged Helm repositories...");
            }
            if !told.contains(&name) {
                fetch_index(&Entry::unknown(&name, url), &self.cache, false);
                told.push(name);
            }
        }
        Ok(())
    }
}

/// Fetches an index and says how that went; an older one may do.
fn fetch_index(entry: &Entry, cache: &Path, is_known: bool) {
    let kept = repository::fetch_index(entry).and_then(|bytes| {
        std::fs::create_dir_all(cache)?;
        Ok(whole_file::rewrite(&cache.join(format!("{}-index.yaml", entry.name)), &bytes)?)
    });
    let url = without_login(&entry.url);
    let shown = if is_known { &entry.name } else { &url };
    match kept {
        Ok(()) => tell(&format!("...Successfully got an update from the {shown:?} chart repository")),
        Err(error) => {
            let url = if is_known { format!(" ({url})") } else { String::new() };
            tell(&format!("...Unable to get an update from the {shown:?} chart repository{url}:\n\t{error}"));
        }
    }
}

/// Of those with the same URL the last.
fn once_each(entries: &[Entry]) -> Vec<&Entry> {
    let url = |entry: &Entry| entry.url.trim_end_matches('/').to_owned();
    let is_last = |(index, entry): &(usize, &Entry)| {
        !entries.iter().skip(index + 1).any(|later| url(later) == url(entry))
    };
    entries.iter().enumerate().filter(is_last).map(|(_, entry)| entry).collect()
}

/// Helm's `urlutil.Equal`, as far as repositories are written differently.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Go's `url.ParseRequestURI`: an absolute path or a URL.
fn is_request_uri(text: &str) -> bool {
    text.starts_with('/') || text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn undefined(missing: &[String]) -> String {
    let mut text =
        format!("no repository definition for {}. Please add them via 'helm repo add'", missing.join(", "));
    let is_word =
        |name: &String| !name.contains("//") && !name.starts_with('@') && !name.starts_with("alias:");
    if missing.iter().any(is_word) {
        text.push_str(
            "\nNote that repositories must be URLs or aliases. For example, to refer to the \"example\"\n\
             repository, use \"https://charts.example.com/\" or \"@example\" instead of\n\
             \"example\". Don't forget to add the repo, too ('helm repo add').",
        );
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_repository_is_told_with_a_hint() {
        assert!(is_request_uri("https://c.example/x") && is_request_uri("/x") && !is_request_uri("stable"));
        assert!(!is_request_uri("@stable"));
        assert!(undefined(&["stable".into()]).contains("Note that repositories must be URLs"));
        assert!(!undefined(&["@stable".into()]).contains("Note"));
    }

    #[test]
    fn a_repository_that_was_added_twice_is_asked_once() {
        let all = [("a", "https://c.example"), ("b", "https://c.example/"), ("c", "https://d")];
        let all = all.map(|(name, url)| Entry::unknown(name, url));
        let names: Vec<&str> = once_each(&all).into_iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
