//! The files that every project begins with.

use super::File;

/// A project that is to be.
#[derive(Clone, Debug)]
pub struct Description {
    /// Prefix of all its objects.
    pub name: String,
    /// What groups end with.
    pub domain: String,
    /// The image that the operator's image is built from.
    pub operator_image: String,
}

/// Where the text that OLM shows is written.
pub fn csv_base(project: &str) -> String {
    format!("config/manifests/bases/{project}.clusterserviceversion.yaml")
}

macro_rules! skeleton {
    ($($path:literal),* $(,)?) => { [$(($path, include_str!(concat!("skeleton/", $path)))),*] };
}

/// Paths and texts, with `@…@` for what a project decides.
const FILES: [(&str, &str); 28] = skeleton![
    "Dockerfile",
    "Makefile",
    "config/crd/kustomization.yaml",
    "config/default/kustomization.yaml",
    "config/default/manager_metrics_patch.yaml",
    "config/default/metrics_service.yaml",
    "config/manager/kustomization.yaml",
    "config/manager/manager.yaml",
    "config/manifests/kustomization.yaml",
    "config/network-policy/allow-metrics-traffic.yaml",
    "config/network-policy/kustomization.yaml",
    "config/prometheus/kustomization.yaml",
    "config/prometheus/monitor.yaml",
    "config/rbac/kustomization.yaml",
    "config/rbac/leader_election_role.yaml",
    "config/rbac/leader_election_role_binding.yaml",
    "config/rbac/metrics_auth_role.yaml",
    "config/rbac/metrics_auth_role_binding.yaml",
    "config/rbac/metrics_reader_role.yaml",
    "config/rbac/role.yaml",
    "config/rbac/role_binding.yaml",
    "config/rbac/service_account.yaml",
    "config/samples/kustomization.yaml",
    "config/scorecard/bases/config.yaml",
    "config/scorecard/kustomization.yaml",
    "config/scorecard/patches/basic.config.yaml",
    "config/scorecard/patches/olm.config.yaml",
    "watches.yaml",
];

/// The files of a project without a kind, but for `PROJECT`.
pub fn files(project: &Description) -> Vec<File> {
    let mut files: Vec<File> =
        FILES.iter().map(|(path, text)| File::new(*path, filled(text, project))).collect();
    files.push(File::new(".gitignore", filled(include_str!("skeleton/gitignore"), project)));
    files.push(File::new(".dockerignore", filled(include_str!("skeleton/dockerignore"), project)));
    let csv = include_str!("skeleton/config/manifests/bases/csv.yaml");
    files.push(File::new(csv_base(&project.name), filled(csv, project)));
    // The Dockerfile copies the directory, also before there is a chart.
    files.push(File::new("helm-charts/.gitkeep", ""));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The text of one of them, for a project that lacks it.
pub fn file(path: &str, project: &Description) -> Option<String> {
    files(project).into_iter().find(|file| file.path == path).map(|file| file.text)
}

fn filled(text: &str, project: &Description) -> String {
    text.replace("@project@", &project.name)
        .replace("@domain@", &project.domain)
        .replace("@image@", &project.operator_image)
        .replace("@title@", &title(&project.name))
}

/// `playerstats-operator` as a heading: `Playerstats Operator`.
pub fn title(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    name.split('-').filter(|part| !part.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::yaml_text;

    fn project() -> Description {
        Description {
            name: "shop-operator".to_owned(),
            domain: "example.com".to_owned(),
            operator_image: "registry.example/helm-operator:v1".to_owned(),
        }
    }

    #[test]
    fn every_file_is_filled_and_every_yaml_can_be_read() {
        for File { path, text } in files(&project()) {
            for placeholder in ["@project@", "@domain@", "@image@", "@title@"] {
                assert!(!text.contains(placeholder), "{path}: {placeholder}");
            }
            if path.ends_with(".yaml") {
                yaml_text::read_all(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            }
        }
    }

    #[test]
    fn a_project_is_laid_out_as_operator_sdk_does() {
        let paths: Vec<String> = files(&project()).into_iter().map(|file| file.path).collect();
        let listing = include_str!("skeleton/listing.txt");
        assert_eq!(paths.join("\n") + "\n", listing);
    }
}
