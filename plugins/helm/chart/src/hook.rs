//! Hooks: objects that are created at a point of a release's life (Helm's `pkg/release/v1/hook.go`).

use crate::manifest::Head;

/// Annotation with the events of a hook, separated by commas.
pub const HOOK_ANNOTATION: &str = "helm.sh/hook";
/// Annotation with a whole number; hooks of an event run from the lowest to the highest.
pub const HOOK_WEIGHT_ANNOTATION: &str = "helm.sh/hook-weight";
/// Annotation with the delete policies, separated by commas.
pub const HOOK_DELETE_ANNOTATION: &str = "helm.sh/hook-delete-policy";
/// Annotation with the policies for copying a hook's logs, separated by commas.
pub const HOOK_OUTPUT_LOG_ANNOTATION: &str = "helm.sh/hook-output-log-policy";

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum HookEvent {
    PreInstall,
    PostInstall,
    PreDelete,
    PostDelete,
    PreUpgrade,
    PostUpgrade,
    PreRollback,
    PostRollback,
    Test,
}

impl HookEvent {
    /// The event of a name; `test-success` is Helm 2's name of `test`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }

    /// The name in annotations and release records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
        }
    }
}

/// A hook as the chart declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Name of the object.
    pub name: String,
    /// Kind of the object.
    pub kind: String,
    /// Path of the template it comes from.
    pub path: String,
    /// The document.
    pub manifest: String,
    /// When it runs.
    pub events: Vec<HookEvent>,
    /// Where it stands among the hooks of an event; 0 when the annotation is no number.
    pub weight: i64,
    /// When it is deleted, as written (lower case): Helm knows `before-hook-creation`, `hook-succeeded` and
    /// `hook-failed` and keeps any other text in the release record.
    pub delete_policies: Vec<String>,
    /// When its logs are copied, as written (lower case): `hook-succeeded`, `hook-failed`.
    pub output_log_policies: Vec<String>,
}

impl Hook {
    /// The hook of a document; `None` when one of its events is not known, in which case Helm drops it.
    pub(crate) fn new(path: String, manifest: String, head: &Head, events: &str) -> Option<Self> {
        let events = words(events).map(|event| HookEvent::parse(&event)).collect::<Option<_>>()?;
        let listed =
            |annotation| head.annotations.get(annotation).map_or_else(Vec::new, |list| words(list).collect());
        Some(Self {
            name: head.name.clone(),
            kind: head.kind.clone(),
            path,
            manifest,
            events,
            weight: head
                .annotations
                .get(HOOK_WEIGHT_ANNOTATION)
                .and_then(|weight| weight.parse().ok())
                .unwrap_or(0),
            delete_policies: listed(HOOK_DELETE_ANNOTATION),
            output_log_policies: listed(HOOK_OUTPUT_LOG_ANNOTATION),
        })
    }

    /// Whether it runs at `event`.
    #[must_use]
    pub fn runs_at(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }
}

fn words(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(|word| word.trim().to_lowercase())
}
