//! What can be wrong with post-renderers.

use thiserror::Error;

/// Why post-renderers cannot be read or applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// They are not written as they should be.
    #[error("{place}: {problem}")]
    Spec {
        /// `postRenderers[0].kustomize.patches[1].target.name`.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// They do not fit the objects.
    #[error("{place}: {problem}")]
    Apply {
        /// The patch, or the object.
        place: String,
        /// What is wrong there, in kustomize's words if it has any.
        problem: String,
    },
}

impl Error {
    pub(crate) fn spec(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Spec { place: place.into(), problem: problem.into() }
    }

    pub(crate) fn apply(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Apply { place: place.into(), problem: problem.into() }
    }
}
