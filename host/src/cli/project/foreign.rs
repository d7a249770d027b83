//! Flags of operator-sdk that belong to projects in Go or of Ansible roles.

/// Flag, and what to do instead.
const FLAGS: [(&str, &str); 21] = [
    ("--repo", "Go modules; for a chart's repository there is --helm-chart-repo"),
    ("--owner", "licence headers of Go files"),
    ("--license", "licence headers of Go files"),
    ("--skip-go-version-check", "Go; nothing is compiled here"),
    ("--fetch-deps", "Go; the dependencies of charts are always fetched"),
    ("--component-config", "Go; the host reads such a file by `run --config`"),
    ("--multigroup", "Go; kinds of different groups are always allowed here"),
    ("--resource", "Go; a kind is always made"),
    ("--controller", "Go; the host reconciles every kind of watches.yaml"),
    ("--make", "Go; there is no code to generate"),
    ("--namespaced", "Go; kinds of charts are namespaced, as releases are"),
    ("--pattern", "Go"),
    ("--external-api-path", "Go"),
    ("--external-api-domain", "Go"),
    ("--external-api-module", "Go"),
    ("--image", "Go's deploy-image plugin; the image is told by `make deploy IMG=…`"),
    ("--image-container-command", "Go's deploy-image plugin"),
    ("--image-container-port", "Go's deploy-image plugin"),
    ("--run-as-user", "Go's deploy-image plugin; see config/manager/manager.yaml"),
    ("--generate-role", "Ansible; a chart comes by --helm-chart"),
    ("--generate-playbook", "Ansible; a chart comes by --helm-chart"),
];

/// What is said of such a flag; none: it is nobody's.
pub fn hint(flag: &str) -> Option<String> {
    let (_, what) = FLAGS.iter().find(|(name, _)| *name == flag)?;
    Some(format!("{flag} is for projects of another sort than Helm charts: {what}"))
}

/// Checks what kind of project is wanted.
///
/// # Errors
/// For all but charts.
pub(super) fn check_plugins(plugins: &str) -> Result<String, String> {
    for plugin in plugins.split(',').map(str::trim) {
        let known = ["helm", "helm/v1", "helm.sdk.operatorframework.io", "helm.sdk.operatorframework.io/v1"];
        if known.contains(&plugin) {
            continue;
        }
        return Err(match plugin.split(['/', '.']).next().unwrap_or_default() {
            "go" | "base" | "kustomize" | "deploy-image" => {
                "operators in code are plugins of the host (docs/plugin-authoring.md); projects are of charts: helm".to_owned()
            }
            "ansible" => "there are no projects of Ansible roles; projects are of charts: helm".to_owned(),
            _ => "there is only helm".to_owned(),
        });
    }
    Ok(plugins.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_plugins_of_other_sorts_are_refused_with_a_hint() {
        assert!(hint("--repo").unwrap().contains("--helm-chart-repo"));
        assert_eq!(hint("--bogus"), None);
        assert!(check_plugins("helm").is_ok() && check_plugins("helm.sdk.operatorframework.io/v1").is_ok());
        assert!(check_plugins("go/v4").unwrap_err().contains("plugin-authoring"));
        assert!(check_plugins("ansible").unwrap_err().contains("Ansible"));
        assert!(check_plugins("helm,go").is_err());
    }
}
