//! The definitions (CRDs) of the three kinds, as the types give them.

use definition::{Kind, age, column, schema, wide};
use serde_json::{Value, json};

use crate::{
    BackupPolicySpec, BackupPolicyStatus, BackupSpec, BackupStatus, RestoreSpec, RestoreStatus, names,
};

/// The definitions by the name of the file they are shipped in.
pub fn definitions() -> [(&'static str, Value); 3] {
    [
        ("backuppolicies.yaml", policies().definition()),
        ("backups.yaml", backups().definition()),
        ("restores.yaml", restores().definition()),
    ]
}

/// Names of Jobs, Secrets and keys are made of these: they have to leave room.
fn short_name(most: usize) -> Vec<Value> {
    vec![json!({
        "rule": format!("size(self.metadata.name) <= {most}"),
        "message": format!("the name must have at most {most} characters: Jobs and artefacts are named after it"),
    })]
}

fn policies() -> Kind<'static> {
    Kind {
        group: names::GROUP,
        version: names::VERSION,
        kind: names::POLICY,
        plural: "backuppolicies",
        singular: "backuppolicy",
        short: &["bkpol"],
        description: "What is backed up, when, how and whither.",
        spec: schema::<BackupPolicySpec>(),
        status: schema::<BackupPolicyStatus>(),
        columns: vec![
            column("Schedule", "string", ".spec.schedule.cron", "When backups are taken"),
            column("Suspended", "boolean", ".spec.schedule.suspend", "Are no new ones begun?"),
            column("Last-Success", "date", ".status.lastSuccessTime", "When a backup last succeeded"),
            wide("Next", "string", ".status.nextScheduleTime", "When the next one is due"),
            wide("Phases", "string", ".spec.phases", "Phases of changes it guards"),
            column(
                "Ready",
                "string",
                ".status.conditions[?(@.type==\"Ready\")].status",
                "Can it be followed?",
            ),
            age(),
        ],
        rules: short_name(63),
    }
}

fn backups() -> Kind<'static> {
    Kind {
        group: names::GROUP,
        version: names::VERSION,
        kind: names::BACKUP,
        plural: "backups",
        singular: "backup",
        short: &["bk"],
        description: "One backup of one object.",
        spec: schema::<BackupSpec>(),
        status: schema::<BackupStatus>(),
        columns: vec![
            column("Subject", "string", ".spec.subject.name", "What is backed up"),
            column("Policy", "string", ".spec.policyRef.name", "The policy it comes of"),
            column("Phase", "string", ".status.phase", "How far it is"),
            column("Verified", "boolean", ".status.verified", "Was the artefact shown to be whole?"),
            column("Size", "integer", ".status.artifact.size", "Bytes in the storage"),
            wide("Duration", "string", ".status.duration", "How long it took"),
            wide("Change", "string", ".spec.origin.change", "The change it was taken for"),
            wide("Artifact", "string", ".status.artifact.uri", "Where it is"),
            wide("Message", "string", ".status.message", "What is waited for, or why it failed"),
            age(),
        ],
        rules: short_name(200),
    }
}

fn restores() -> Kind<'static> {
    Kind {
        group: names::GROUP,
        version: names::VERSION,
        kind: names::RESTORE,
        plural: "restores",
        singular: "restore",
        short: &["bkres"],
        description: "The data of a backup, put back.",
        spec: schema::<RestoreSpec>(),
        status: schema::<RestoreStatus>(),
        columns: vec![
            column("Backup", "string", ".spec.backupRef.name", "What is restored"),
            column("Target", "string", ".spec.target.name", "What is to hold the data"),
            column("Phase", "string", ".status.phase", "How far it is"),
            wide("Set-Aside", "string", ".status.setAside", "Backup of the data that is written over"),
            wide("Message", "string", ".status.message", "What is waited for, or why it failed"),
            age(),
        ],
        rules: short_name(190),
    }
}
