//! Charts that lie elsewhere, as the host of a test has them: what wishes come to is what the test says.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::cluster::Cluster;
use crate::{AssetFile, ChartArchive, ChartError, ChartSource, ChartStanding, ChartTrouble};

/// Before the digest in an asset's name.
const ASSET: &str = "chart:";

/// A chart by its repository and name; versions are the test's affair.
pub(super) type Place = (String, String);

/// What the host has fetched. Survives crashes, as its cache does.
#[derive(Debug, Default)]
pub(super) struct Charts {
    standing: BTreeMap<Place, ChartStanding>,
    archives: BTreeMap<String, Vec<u8>>,
    denied: BTreeSet<Place>,
    /// Wishes that came to something else; who has them is called.
    pub(super) changed: Vec<Place>,
    wished: Vec<ChartSource>,
}

impl Charts {
    /// How a wish stands.
    pub(super) fn wish(&mut self, source: &ChartSource) -> Result<ChartStanding, ChartError> {
        self.wished.push(source.clone());
        let place = (source.repository.clone(), source.name.clone());
        if self.denied.contains(&place) {
            let why =
                format!("{}/{} may not be fetched: --releases does not have this place", place.0, place.1);
            return Err(ChartError::Denied(why));
        }
        Ok(self.standing.get(&place).cloned().unwrap_or_default())
    }

    /// The one file of an archive; none: the name is none of these.
    pub(super) fn file(&self, asset: &str) -> Option<AssetFile> {
        let content = self.archives.get(asset.strip_prefix(ASSET)?)?;
        Some(AssetFile { path: "chart.tgz".to_owned(), content: content.clone() })
    }

    /// The digest in an asset's name.
    pub(super) fn digest(asset: &str) -> &str {
        asset.trim_start_matches(ASSET).trim_start_matches("sha256:")
    }

    fn set(&mut self, repository: &str, name: &str, change: impl FnOnce(&mut ChartStanding)) {
        let place = (repository.to_owned(), name.to_owned());
        change(self.standing.entry(place.clone()).or_default());
        self.changed.push(place);
    }
}

impl Cluster {
    /// A chart elsewhere is resolved and fetched: from now on wishes for it, whatever their range, come to this one.
    pub fn chart_found(&self, repository: &str, name: &str, version: &str, archive: &[u8]) {
        let digest = Sha256::digest(archive)
            .iter()
            .fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"));
        let found = ChartArchive {
            asset: format!("{ASSET}{digest}"),
            digest: digest.clone(),
            version: version.to_owned(),
            location: format!("{repository}/{name}:{version}"),
        };
        let mut state = self.state();
        state.charts.archives.insert(digest, archive.to_vec());
        state.charts.set(repository, name, |standing| {
            *standing = ChartStanding { found: Some(found), trouble: None };
        });
    }

    /// The last attempt to resolve it failed. What was found before stays.
    pub fn chart_trouble(&self, repository: &str, name: &str, reason: &str, message: &str) {
        let trouble = ChartTrouble { reason: reason.to_owned(), message: message.to_owned() };
        self.state().charts.set(repository, name, |standing| standing.trouble = Some(trouble));
    }

    /// What was found is lost, as with a pod and its cache; it is on its way again.
    pub fn chart_lost(&self, repository: &str, name: &str) {
        self.state().charts.set(repository, name, |standing| *standing = ChartStanding::default());
    }

    /// It may not come from there.
    pub fn deny_chart(&self, repository: &str, name: &str) {
        let place = (repository.to_owned(), name.to_owned());
        let mut state = self.state();
        state.charts.denied.insert(place.clone());
        state.charts.changed.push(place);
    }

    /// Wishes for charts, in order.
    pub fn chart_wishes(&self) -> Vec<ChartSource> {
        self.state().charts.wished.clone()
    }
}
