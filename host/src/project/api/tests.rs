use super::*;
use crate::project::survey::ChartName;

fn survey(kind: &str, plural: &str, chart: &str) -> Survey {
    let rule = Rule {
        api_groups: vec!["batch".to_owned()],
        resources: vec!["jobs".to_owned()],
        verbs: rbac::MANAGE.iter().map(|&verb| verb.to_owned()).collect(),
        why: vec!["templates/backup/job.yaml".to_owned()],
        found: "rendered".to_owned(),
        scope: "namespace".to_owned(),
        ..Rule::default()
    };
    let secrets = Rule { found: "base".to_owned(), ..rbac::host_rules().remove(0) };
    Survey {
        chart: ChartName { name: chart.to_owned(), version: "1.2.3".to_owned() },
        names: Names {
            group: "charts".to_owned(),
            qualified_group: "charts.example.com".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        },
        crd: json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}),
        sample_spec: "# How many.\nreplicas: 1\n".to_owned(),
        rules: vec![secrets, rule],
        notes: Vec::new(),
    }
}

fn skeleton_files() -> Vec<File> {
    skeleton::files(&Description {
        name: "shop".to_owned(),
        domain: "example.com".to_owned(),
        operator_image: "i".to_owned(),
    })
}

fn added(project: &Project, files: &mut Vec<File>, kind: &str, plural: &str) -> Project {
    let survey = survey(kind, plural, plural);
    let changes = add(project, &Addition::of(&survey), files).unwrap();
    for file in changes.edited.into_iter().chain(changes.created) {
        files.retain(|old| old.path != file.path);
        files.push(file);
    }
    Project::parse(&files.text("PROJECT").unwrap()).unwrap()
}

#[test]
fn a_second_kind_is_added_behind_the_first_in_every_file() {
    let mut files = skeleton_files();
    let project = added(&Project::new("shop", "example.com"), &mut files, "Shop", "shops");
    let project = added(&project, &mut files, "Till", "tills");
    assert_eq!(project.kinds().len(), 2);
    let text = |path: &str| files.text(path).unwrap();
    let watches = yaml_text::read(&text(WATCHES)).unwrap();
    assert_eq!(watches[0]["kind"], json!("Shop"));
    assert_eq!(watches[1]["chart"], json!("helm-charts/tills"));
    assert!(text(WATCHES).ends_with("#+kubebuilder:scaffold:watch\n"));
    let resources = |path: &str| yaml_text::read(&text(path)).unwrap()["resources"].clone();
    assert_eq!(
        resources("config/crd/kustomization.yaml"),
        json!(["bases/charts.example.com_shops.yaml", "bases/charts.example.com_tills.yaml"])
    );
    assert_eq!(
        resources("config/samples/kustomization.yaml"),
        json!(["charts_v1alpha1_shop.yaml", "charts_v1alpha1_till.yaml"])
    );
    assert_eq!(resources("config/rbac/kustomization.yaml").as_array().unwrap().len(), 8 + 6);
    let role = text("config/rbac/role.yaml");
    assert!(role.contains("## Rules for charts.example.com/v1alpha1, Kind: Till\n"), "{role}");
    assert!(role.contains("# templates/backup/job.yaml.\n- apiGroups:\n  - batch\n"), "{role}");
    let csv = yaml_text::read(&text(&skeleton::csv_base("shop"))).unwrap();
    let owned = &csv["spec"]["customresourcedefinitions"]["owned"];
    assert_eq!(owned[1]["name"], json!("tills.charts.example.com"));
    assert_eq!(owned[0]["resources"][1]["kind"], json!("Job"));
    let sample = text("config/samples/charts_v1alpha1_till.yaml");
    assert!(sample.contains("\n  # How many.\n  replicas: 1\n"), "{sample}");
    // What the host needs for every chart stands there once.
    assert_eq!(role.matches("\n  - secrets\n").count(), 1);
    assert_eq!(yaml_text::read(&sample).unwrap()["spec"], json!({"replicas": 1}));
}

#[test]
fn the_same_kind_twice_is_refused() {
    let mut files = skeleton_files();
    let project = added(&Project::new("shop", "example.com"), &mut files, "Shop", "shops");
    let survey = survey("Shop", "shops", "shops");
    let again = add(&project, &Addition::of(&survey), &files);
    assert!(matches!(again, Err(ApiError::Project(_))), "{again:?}");
    // Somebody took it out of PROJECT only.
    let fresh = Project::new("shop", "example.com");
    let again = add(&fresh, &Addition::of(&survey), &files);
    assert!(matches!(again, Err(ApiError::Watched(_))), "{again:?}");
}

#[test]
fn files_without_their_markers_or_gone_are_no_obstacle() {
    let mut files = skeleton_files();
    for file in &mut files {
        file.text = file
            .text
            .lines()
            .filter(|line| !line.contains("+kubebuilder"))
            .fold(String::new(), |text, line| format!("{text}{line}\n"));
    }
    files.retain(|file| file.path != "config/samples/kustomization.yaml");
    let project = added(&Project::new("shop", "example.com"), &mut files, "Shop", "shops");
    added(&project, &mut files, "Till", "tills");
    let text = |path: &str| files.text(path).unwrap();
    assert_eq!(yaml_text::read(&text(WATCHES)).unwrap().as_array().unwrap().len(), 2);
    let role = yaml_text::read(&text("config/rbac/role.yaml")).unwrap();
    assert_eq!(role["rules"].as_array().unwrap().len(), 5 + 2 * 4);
    let samples = yaml_text::read(&text("config/samples/kustomization.yaml")).unwrap();
    assert_eq!(samples["resources"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_is_no_yaml_is_named() {
    let mut files = skeleton_files();
    for file in &mut files {
        if file.path == "config/crd/kustomization.yaml" {
            "resources: [".clone_into(&mut file.text);
        }
    }
    let survey = survey("Shop", "shops", "shops");
    let project = Project::new("shop", "example.com");
    let said = add(&project, &Addition::of(&survey), &files).map(|_| ()).unwrap_err().to_string();
    assert!(said.starts_with("config/crd/kustomization.yaml: "), "{said}");
}

#[test]
fn kinds_are_words_for_people() {
    assert_eq!(skeleton::title(&words_of("PlayerStats")), "Player Stats");
    assert_eq!(skeleton::title(&words_of("Player-stats")), "Player Stats");
    assert_eq!(skeleton::title(&words_of("HTTPRoute")), "HTTPRoute");
}
