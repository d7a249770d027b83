//! Whose rules a chart is rendered by: charts that were written for Helm 3 can be rendered as it did.

/// A generation of Helm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// 4.3.1.
    #[default]
    Helm4,
    /// 3.19.0: defaults that are null stay, webhooks are kinds that nobody knows, white space around documents is taken off,
    /// `.Chart` is a struct, some functions are missing, and errors of templates are Go's.
    Helm3,
}
