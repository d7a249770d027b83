//! The YAML of public charts and of what Helm renders from them.
//!
//! The charts are not part of this repository; they are looked for in `../shared/corpus/helm` next to it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::compare::assert_same;
use helm_fuzzing::Question;

/// Documents are read, and what they hold is written again.
const OPERATIONS: [&str; 3] = ["yaml-to-json", "yaml-again", "yaml-again-pretty"];

/// An archive of the corpus; `None`, and a word about it, if it is not there.
fn archive(name: &str) -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let path = home.join("../../../../shared/corpus/helm").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: there is no {}", path.display());
    None
}

/// The files of an archive whose path fits.
fn files(archive: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<Vec<u8>> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive).unwrap()));
    let mut files = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() && wanted(&entry.path().unwrap()) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.push(bytes);
        }
    }
    files
}

/// Compares the documents, each one once.
fn compare(documents: impl IntoIterator<Item = Vec<u8>>) {
    let mut documents: Vec<Vec<u8>> = documents.into_iter().collect();
    documents.sort();
    documents.dedup();
    for part in documents.chunks(1000) {
        let questions =
            part.iter().flat_map(|document| OPERATIONS.map(|op| Question::yaml(op, document.as_slice())));
        assert_same(&questions.collect::<Vec<_>>());
    }
}

#[test]
fn the_yaml_files_of_public_charts_are_read_and_written_as_by_go() {
    let Some(charts) = archive("charts.tar.gz") else { return };
    let plain_yaml = |path: &Path| {
        path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
            && !path.components().any(|part| part.as_os_str() == "templates")
    };
    let files = files(&charts, plain_yaml);
    assert!(files.len() > 1000, "only {} files", files.len());
    compare(files);
}

#[test]
fn what_helm_renders_from_public_charts_is_read_and_written_as_by_go() {
    let Some(rendered) = archive("expected.tar.gz") else { return };
    let files = files(&rendered, |_| true);
    assert!(files.len() > 500, "only {} files", files.len());
    compare(files.iter().flat_map(|file| {
        let text = String::from_utf8_lossy(file).into_owned();
        text.split("\n---\n").map(|document| document.as_bytes().to_vec()).collect::<Vec<_>>()
    }));
}
