//! Roles that are bound to the operator's account: OLM makes them itself from what the ClusterServiceVersion says.

use serde_json::{Value, json};

use super::{Object, RBAC};

/// Accounts of Deployments and their rules.
pub(super) struct Rights {
    accounts: Vec<String>,
    /// Roles and bindings that are said in other words, by kind and name.
    absorbed: Vec<(String, String)>,
    /// Account and rules, in the namespaces that the operator is for.
    pub(super) permissions: Vec<Value>,
    /// The same for the cluster.
    pub(super) cluster_permissions: Vec<Value>,
}

impl Rights {
    pub(super) fn of(objects: &[Object<'_>]) -> Self {
        let mut accounts: Vec<String> = Vec::new();
        for deployment in objects.iter().filter(|object| object.is("apps", "Deployment")) {
            let account = account_of(*deployment);
            if !accounts.contains(&account) {
                accounts.push(account);
            }
        }
        let mut rights =
            Self { accounts, absorbed: Vec::new(), permissions: Vec::new(), cluster_permissions: Vec::new() };
        for account in rights.accounts.clone() {
            let rules = rights.rules(objects, &account, "RoleBinding");
            rights.permissions.extend(permission(&account, &rules));
            let rules = rights.rules(objects, &account, "ClusterRoleBinding");
            rights.cluster_permissions.extend(permission(&account, &rules));
        }
        rights
    }

    /// The rules of all roles that are bound to an account by bindings of this kind.
    fn rules(&mut self, objects: &[Object<'_>], account: &str, binding_kind: &str) -> Vec<Value> {
        let mut rules = Vec::new();
        for binding in objects.iter().filter(|object| object.is(RBAC, binding_kind)) {
            let subjects = binding.list("/subjects");
            let is_account = |subject: &Value| {
                Object(subject).kind() == "ServiceAccount" && Object(subject).text("/name") == account
            };
            if !subjects.iter().any(is_account) {
                continue;
            }
            let (kind, name) = (binding.text("/roleRef/kind"), binding.text("/roleRef/name"));
            let Some(role) = objects.iter().find(|object| object.is(RBAC, kind) && object.name() == name)
            else {
                continue;
            };
            rules.extend(role.list("/rules").iter().cloned());
            // A binding with more subjects is needed for them, and its role.
            if subjects
                .iter()
                .all(|subject| self.accounts.iter().any(|own| Object(subject).text("/name") == own))
            {
                self.absorbed.push((binding_kind.to_owned(), binding.name().to_owned()));
                self.absorbed.push((kind.to_owned(), name.to_owned()));
            }
        }
        rules
    }

    /// Whether an object has no file of its own.
    pub(super) fn absorbs(&self, object: Object<'_>) -> bool {
        let is_account =
            object.is("", "ServiceAccount") && self.accounts.iter().any(|own| own == object.name());
        let is_role = object.group() == RBAC
            && self.absorbed.iter().any(|(kind, name)| kind == object.kind() && name == object.name());
        is_account || is_role
    }
}

fn permission(account: &str, rules: &[Value]) -> Option<Value> {
    (!rules.is_empty()).then(|| json!({"rules": rules, "serviceAccountName": account}))
}

fn account_of(deployment: Object<'_>) -> String {
    let named = deployment.text("/spec/template/spec/serviceAccountName");
    if named.is_empty() { "default" } else { named }.to_owned()
}
