//! Words that scripts rely on: the group, kinds, labels, annotations, finalizers and reasons.

/// The API group.
pub const GROUP: &str = "backup.pilothouse.dev";
/// The version of the group.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of the three kinds.
pub const API_VERSION: &str = "backup.pilothouse.dev/v1alpha1";
/// Kind of a policy.
pub const POLICY: &str = "BackupPolicy";
/// Kind of a backup.
pub const BACKUP: &str = "Backup";
/// Kind of a restore.
pub const RESTORE: &str = "Restore";

/// Labels of everything that is made for a backup or a restore.
pub mod label {
    /// Name of the `Backup`.
    pub const BACKUP: &str = "backup.pilothouse.dev/backup";
    /// Name of the `Restore`.
    pub const RESTORE: &str = "backup.pilothouse.dev/restore";
    /// Name of the `BackupPolicy`.
    pub const POLICY: &str = "backup.pilothouse.dev/policy";
    /// What a Job is for: `dump`, `trial`, `restore`, `tool`.
    pub const ROLE: &str = "backup.pilothouse.dev/role";
}

/// Types and reasons of conditions.
pub mod condition {
    /// The artefact is whole and was shown to be.
    pub const VERIFIED: &str = "Verified";
    /// A command that was to release a database could not be carried out.
    pub const QUIESCED: &str = "Quiesced";
}
