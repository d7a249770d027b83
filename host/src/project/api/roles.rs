//! Roles for the people who use a kind.

use super::Addition;
use crate::project::{File, Files};

/// Name, verbs, and for whom.
const ROLES: [(&str, &[&str], &str); 3] = [
    ("admin", &["'*'"], "do everything with"),
    ("editor", &["create", "delete", "get", "list", "patch", "update", "watch"], "make, change and delete"),
    ("viewer", &["get", "list", "watch"], "look at"),
];

/// The files. Two kinds of one name in different groups get different ones.
pub(super) fn of(addition: &Addition<'_>, project: &str, files: &dyn Files) -> Vec<File> {
    let plain = addition.singular();
    let taken = files.text(&path(&plain, "editor")).is_some();
    let name = if taken && !addition.gvk.group.is_empty() {
        format!("{}-{plain}", addition.gvk.group)
    } else {
        plain
    };
    ROLES
        .iter()
        .map(|(role, verbs, may)| {
            File::new(path(&name, role), text(addition, project, &name, role, verbs, may))
        })
        .collect()
}

fn path(name: &str, role: &str) -> String {
    format!("config/rbac/{name}_{role}_role.yaml")
}

fn text(addition: &Addition<'_>, project: &str, name: &str, role: &str, verbs: &[&str], may: &str) -> String {
    let names = &addition.survey.names;
    let verbs: String = verbs.iter().map(|verb| format!("  - {verb}\n")).collect();
    format!(
        "# For people who {may} {plural}. The operator itself does not use it.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    app.kubernetes.io/name: {project}
    app.kubernetes.io/managed-by: kustomize
  name: {name}-{role}-role
rules:
- apiGroups:
  - {group}
  resources:
  - {plural}
  verbs:
{verbs}- apiGroups:
  - {group}
  resources:
  - {plural}/status
  verbs:
  - get
",
        plural = names.plural,
        group = names.qualified_group,
    )
}
