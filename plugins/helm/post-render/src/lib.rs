//! Post-renderers as Flux's `HelmRelease` has them: kustomize's patches and images over rendered objects, then labels
//! and annotations for all of them. Pure: a list of objects goes in and comes out.
//!
//! The results are kustomize's, also where they surprise: elements that a strategic merge patch names come first in
//! their list, `replace` of a JSON patch sets members that are not there, and a patch without a target finds its object by
//! group, version, kind, name and namespace, where no namespace and `default` are the same. Beyond kustomize, the directives
//! `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList` do what Kubernetes does with them, instead of being
//! written into the object. Texts of patches are read as Helm reads YAML, where a plain `y`, `n`, `on` or `off` is a
//! boolean; kustomize takes it for a text in strategic merge patches, and so it is to be quoted here.

mod error;
mod id;
mod image;
mod json_patch;
mod labels;
mod merge;
mod metadata;
mod patch;
mod schema;
mod selector;
mod spec;

use serde_json::Value;

pub use crate::{error::Error, labels::LabelSelector};
use crate::{image::Image, metadata::CommonMetadata, patch::Patch};

/// What is done to the objects of a release, ready to be used.
#[derive(Debug, Clone, Default)]
pub struct PostRenderers {
    renderers: Vec<Renderer>,
    common: CommonMetadata,
}

/// One entry of `postRenderers`.
#[derive(Debug, Clone, Default)]
struct Renderer {
    patches: Vec<Patch>,
    images: Vec<Image>,
}

impl PostRenderers {
    /// Reads an object with `postRenderers` and `commonMetadata`; either may be missing, and nothing else may be there.
    /// Patches are parsed and patterns compiled here.
    ///
    /// # Errors
    ///
    /// [`Error::Spec`] with the place of what cannot be read.
    pub fn read(value: &Value) -> Result<Self, Error> {
        spec::read(value)
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let idle = |renderer: &Renderer| renderer.patches.is_empty() && renderer.images.is_empty();
        self.renderers.iter().all(idle) && self.common.is_empty()
    }

    /// Changes the objects: one renderer after the other, in each all patches before all images, then the common metadata.
    /// An object may be deleted by a patch. After an error the objects are as they were.
    ///
    /// # Errors
    ///
    /// [`Error::Apply`] with the place of the patch that cannot be applied.
    pub fn apply(&self, objects: &mut Vec<Value>) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let mut changed = objects.clone();
        for renderer in &self.renderers {
            for patch in &renderer.patches {
                patch.apply(&mut changed)?;
            }
            for image in &renderer.images {
                changed.iter_mut().for_each(|object| image.apply(object));
            }
        }
        for (index, object) in changed.iter_mut().enumerate() {
            self.common.apply(object).map_err(|problem| Error::apply(format!("object {index}"), problem))?;
        }
        *objects = changed;
        Ok(())
    }
}
