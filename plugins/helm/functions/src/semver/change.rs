//! Versions made from others.

use super::{SemverError, Version};

impl Version {
    /// The version itself with its text made anew, but for the `v` in front.
    fn renamed(mut self) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }

    fn released(&self) -> Self {
        Self { pre: String::new(), metadata: String::new(), ..self.clone() }
    }

    /// `IncMajor`. Go panics where the number does not fit.
    pub(super) fn next_major(&self) -> Result<Self, String> {
        let major = following(self.major, "major")?;
        Ok(Self { major, minor: 0, patch: 0, ..self.released() }.renamed())
    }

    /// `IncMinor`.
    pub(super) fn next_minor(&self) -> Result<Self, String> {
        let minor = following(self.minor, "minor")?;
        Ok(Self { minor, patch: 0, ..self.released() }.renamed())
    }

    /// `IncPatch`: a pre-release is followed by its release.
    pub(super) fn next_patch(&self) -> Result<Self, String> {
        let patch = if self.pre.is_empty() { following(self.patch, "patch")? } else { self.patch };
        Ok(Self { patch, ..self.released() }.renamed())
    }

    /// `SetPrerelease`.
    pub(super) fn with_prerelease(&self, pre: &str) -> Result<Self, SemverError> {
        for part in pre.split('.').filter(|_| !pre.is_empty()) {
            if !is_identifier(part) {
                return Err(SemverError::Prerelease);
            }
            if part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(SemverError::LeadingZero);
            }
        }
        Ok(Self { pre: pre.to_owned(), ..self.clone() }.renamed())
    }

    /// `SetMetadata`.
    pub(super) fn with_metadata(&self, metadata: &str) -> Result<Self, SemverError> {
        if !metadata.is_empty() && !metadata.split('.').all(is_identifier) {
            return Err(SemverError::Metadata);
        }
        Ok(Self { metadata: metadata.to_owned(), ..self.clone() }.renamed())
    }
}

fn following(number: u64, name: &str) -> Result<u64, String> {
    number.checked_add(1).ok_or_else(|| format!("{name} version increment would overflow uint64"))
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
