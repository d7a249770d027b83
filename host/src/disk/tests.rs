//! On the real file system, with what kubelet, editors and build tools do.

use std::os::unix::fs::symlink;

use tokio::time::timeout;

use super::*;

const LIMIT: Duration = Duration::from_secs(30);
/// Nothing that was to be told would take so long.
const NEVER: Duration = Duration::from_millis(150);

async fn told(changes: &mut Changes, what: &str) {
    assert!(timeout(LIMIT, changes.settled()).await.unwrap_or_else(|_| panic!("not told: {what}")), "{what}");
}

/// What happened before is of no interest any more.
async fn rest(changes: &mut Changes) {
    while timeout(NEVER, changes.settled()).await.is_ok() {}
}

/// A volume as kubelet's `AtomicWriter` writes it.
struct ConfigMap {
    root: tempfile::TempDir,
    version: usize,
}

impl ConfigMap {
    fn mounted(files: &[(&str, &str)]) -> Self {
        let mut map = Self { root: tempfile::tempdir().unwrap(), version: 0 };
        map.update(files);
        for (name, _) in files {
            let top = Path::new(name).components().next().unwrap().as_os_str();
            let link = map.root.path().join(top);
            if link.symlink_metadata().is_err() {
                symlink(Path::new("..data").join(top), link).unwrap();
            }
        }
        map
    }

    fn update(&mut self, files: &[(&str, &str)]) {
        let root = self.root.path();
        let before = fs::read_link(root.join("..data")).ok();
        self.version += 1;
        let name = format!("..2026_11_21_00_00_{:02}.{}", self.version, self.version);
        for (path, content) in files {
            let file = root.join(&name).join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        symlink(&name, root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        if let Some(before) = before {
            fs::remove_dir_all(root.join(before)).unwrap();
        }
    }
}

#[tokio::test]
async fn every_update_of_a_mounted_config_map_is_told_wherever_the_path_leads_into_it() {
    let files = [("watches.yaml", "0"), ("charts/hello/Chart.yaml", "0")];
    let mut map = ConfigMap::mounted(&files);
    let at = |path: &str| map.root.path().join(path);
    let mut watched = vec![
        ("the volume", Changes::watch(&at(""), RecursiveMode::NonRecursive).unwrap()),
        ("a file", Changes::watch(&at("watches.yaml"), RecursiveMode::Recursive).unwrap()),
        ("a tree behind the links", Changes::watch(&at("charts/hello"), RecursiveMode::Recursive).unwrap()),
    ];
    let chart = at("charts/hello/Chart.yaml");
    for version in 1..=5 {
        let text = version.to_string();
        map.update(&files.map(|(name, _)| (name, text.as_str())));
        for (what, changes) in &mut watched {
            told(changes, &format!("update {version} of {what}")).await;
            rest(changes).await;
        }
        assert_eq!(fs::read_to_string(&chart).unwrap(), text);
    }
}

#[tokio::test]
async fn a_file_that_an_editor_replaces_is_told_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("values.yaml");
    fs::write(&file, "0").unwrap();
    for mode in [RecursiveMode::Recursive, RecursiveMode::NonRecursive] {
        let mut changes = Changes::watch(&file, mode).unwrap();
        for version in 1..=4 {
            let new = directory.path().join(".values.yaml.swp");
            fs::write(&new, version.to_string()).unwrap();
            fs::rename(&new, &file).unwrap();
            told(&mut changes, &format!("replacement {version}")).await;
            rest(&mut changes).await;
            fs::write(&file, "in place").unwrap();
            told(&mut changes, "written in place after a replacement").await;
            rest(&mut changes).await;
        }
    }
}

#[tokio::test]
async fn a_tree_that_is_removed_and_made_again_is_watched_again_to_its_depth() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("project/charts/hello");
    let deep = root.join("templates/nested/x.yaml");
    let make = |text: &str| {
        fs::create_dir_all(deep.parent().unwrap()).unwrap();
        fs::write(&deep, text).unwrap();
    };
    make("0");
    let mut changes = Changes::watch(&root, RecursiveMode::Recursive).unwrap();
    for round in 0..3 {
        fs::remove_dir_all(base.path().join("project")).unwrap();
        told(&mut changes, &format!("removal {round}")).await;
        rest(&mut changes).await;
        make("1");
        told(&mut changes, &format!("return {round}")).await;
        rest(&mut changes).await;
        fs::write(&deep, format!("2 {round}")).unwrap();
        told(&mut changes, &format!("a change deep below, round {round}")).await;
        rest(&mut changes).await;
    }
}

#[tokio::test]
async fn directories_that_are_made_later_are_watched_as_well() {
    let root = tempfile::tempdir().unwrap();
    let mut changes = Changes::watch(root.path(), RecursiveMode::Recursive).unwrap();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    told(&mut changes, "new directories").await;
    rest(&mut changes).await;
    fs::write(root.path().join("a/b/c"), "x").unwrap();
    told(&mut changes, "a file in a new directory").await;
}

#[tokio::test]
async fn what_happens_beside_the_path_and_reading_it_is_not_told() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("charts");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("x"), "0").unwrap();
    let mut changes = Changes::watch(&root, RecursiveMode::Recursive).unwrap();
    fs::write(base.path().join("beside"), "noise").unwrap();
    fs::read(root.join("x")).unwrap();
    assert!(timeout(NEVER, changes.settled()).await.is_err());
    fs::write(root.join("x"), "1").unwrap();
    told(&mut changes, "the change itself").await;
}

#[tokio::test]
async fn a_path_that_is_not_there_is_refused_at_the_start() {
    assert!(Changes::watch(Path::new("/no/such/chart"), RecursiveMode::Recursive).is_err());
}

#[test]
fn a_circle_of_links_ends() {
    let base = tempfile::tempdir().unwrap();
    symlink("b", base.path().join("a")).unwrap();
    symlink("a", base.path().join("b")).unwrap();
    assert!(Places::default().follow(&base.path().join("a")).is_none());
}
