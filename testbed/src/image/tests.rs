use std::io::Read as _;

use super::*;

/// The files of a tar, in order, with their content.
fn files(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (path, content)
    });
    entries.collect()
}

fn written(images: &[Archive]) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    write_all(images, &mut bytes).unwrap();
    files(&bytes)
}

fn content<'a>(files: &'a [(String, Vec<u8>)], name: &str) -> &'a [u8] {
    &files.iter().find(|(path, _)| path == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn json_of(files: &[(String, Vec<u8>)], name: &str) -> Value {
    serde_json::from_slice(content(files, name)).unwrap()
}

fn sample() -> Archive {
    let mut image = Archive::new("example.com/a:1");
    image
        .file("/usr/bin/app", "binary", 0o755)
        .link("/bin/app", "/usr/bin/app")
        .directory("/data", 0o770, 65532);
    image.entrypoint(&["/usr/bin/app"]).user("65532:65532");
    image
}

#[test]
fn the_manifest_names_the_tags_the_configuration_and_the_layer() {
    let files = written(&[sample()]);
    let manifest = json_of(&files, "manifest.json");
    assert_eq!(manifest[0]["RepoTags"], json!(["example.com/a:1"]));
    let layer = content(&files, manifest[0]["Layers"][0].as_str().unwrap());
    let configuration = json_of(&files, manifest[0]["Config"].as_str().unwrap());
    assert_eq!(configuration["rootfs"]["diff_ids"], json!([format!("sha256:{}", digest(layer))]));
    assert_eq!(configuration["config"]["Entrypoint"], json!(["/usr/bin/app"]));
    assert_eq!(configuration["config"]["User"], json!("65532:65532"));
}

#[test]
fn directories_above_a_file_are_there_before_it() {
    let layer = sample().layer().unwrap();
    let paths: Vec<String> = files(&layer).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["bin/", "bin/app", "data/", "usr/", "usr/bin/", "usr/bin/app"]);
}

#[test]
fn owners_modes_and_links_are_kept() {
    let layer = sample().layer().unwrap();
    let mut archive = tar::Archive::new(layer.as_slice());
    let headers: Vec<tar::Header> =
        archive.entries().unwrap().map(|entry| entry.unwrap().header().clone()).collect();
    let at =
        |path: &str| headers.iter().find(|header| header.path().unwrap().to_string_lossy() == path).unwrap();
    assert_eq!((at("data/").uid().unwrap(), at("data/").mode().unwrap()), (65532, 0o770));
    assert_eq!(at("usr/bin/app").mode().unwrap(), 0o755);
    assert_eq!(at("bin/app").link_name().unwrap().unwrap().to_string_lossy(), "/usr/bin/app");
}

#[test]
fn the_same_content_gives_the_same_bytes_in_whatever_order_it_was_added() {
    let mut other = Archive::new("example.com/a:1");
    other.user("65532:65532").entrypoint(&["/usr/bin/app"]);
    other.directory("/data", 0o770, 65532).link("/bin/app", "/usr/bin/app").file(
        "/usr/bin/app",
        "binary",
        0o755,
    );
    assert_eq!(written(&[sample()]), written(&[other]));
}

#[test]
fn two_images_share_a_layer_that_is_the_same() {
    let mut other = sample();
    other.tags = vec!["example.com/b:1".to_owned()];
    other.arguments(&["--different"]);
    let files = written(&[sample(), other]);
    assert_eq!(files.iter().filter(|(path, _)| path.ends_with(".tar")).count(), 1);
    assert_eq!(files.iter().filter(|(path, _)| path.ends_with(".json")).count(), 3);
    assert_eq!(json_of(&files, "manifest.json")[1]["RepoTags"], json!(["example.com/b:1"]));
}

#[test]
fn a_tree_keeps_the_right_to_execute_and_nothing_else_of_modes() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(directory.path().join("sub/run"), "").unwrap();
    fs::set_permissions(directory.path().join("sub/run"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(directory.path().join("text"), "").unwrap();
    fs::set_permissions(directory.path().join("text"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut image = Archive::new("example.com/a:1");
    image.tree_from("/project", directory.path()).unwrap();
    assert_eq!(image.entries["project/sub/run"].mode, 0o755);
    assert_eq!(image.entries["project/text"].mode, 0o644);
}

#[test]
fn a_source_that_is_missing_is_named() {
    let error = Archive::new("x:1").file_from("/a", Path::new("/no/such/file"), 0o644).map(drop).unwrap_err();
    assert!(error.to_string().contains("/no/such/file"), "{error}");
}
