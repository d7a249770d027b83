//! What the cluster serves: which kinds live in namespaces, and what templates may ask about it.

use std::collections::HashMap;

use helm_chart::{Capabilities, KubeVersion};
use pilothouse_sdk::{Error, Gvk, Kube, ServedKind};

/// What the cluster serves, as one call saw it.
#[derive(Debug)]
pub(crate) struct Kinds {
    served: Vec<ServedKind>,
    namespaced: HashMap<Gvk, bool>,
}

impl Kinds {
    /// Asks the host.
    pub(crate) fn read(kube: &Kube) -> Result<Self, Error> {
        let served = kube.served_kinds().map_err(|error| Error::from(error).context("discovery"))?;
        let namespaced = served.iter().map(|served| (served.kind.clone(), served.namespaced)).collect();
        Ok(Self { served, namespaced })
    }

    /// Whether objects of the kind live in a namespace; none when the cluster does not serve it.
    pub(crate) fn is_namespaced(&self, kind: &Gvk) -> Option<bool> {
        self.namespaced.get(kind).copied()
    }

    /// `.Capabilities` of this cluster.
    ///
    /// # Errors
    /// A version of the API server that is none.
    pub(crate) fn capabilities(&self, kube: &Kube) -> Result<Capabilities, Error> {
        let version =
            kube.version().map_err(|error| Error::from(error).context("the version of the API server"))?;
        let mut kube_version = KubeVersion::parse(&version.git_version)
            .map_err(|error| Error::retry("InvalidServerVersion", error.to_string()))?;
        (kube_version.major, kube_version.minor) = (version.major, version.minor);
        Ok(Capabilities { kube_version, api_versions: self.api_versions(), ..Capabilities::default() })
    }

    /// `group/version` and `group/version/Kind` of everything served, sorted (`GetVersionSet`).
    fn api_versions(&self) -> Vec<String> {
        let mut versions: Vec<String> = self
            .served
            .iter()
            .flat_map(|served| {
                let version = served.kind.api_version();
                [format!("{version}/{}", served.kind.kind), version]
            })
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }
}
