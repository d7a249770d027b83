//! `--verify`: a chart is used only when its provenance file vouches for it. The keys, the archive and what the real helm says
//! of them are those of the crate that verifies (`plugins/helm/provenance/tests/data`).

use std::fs;
use std::path::PathBuf;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use super::{Place, place};

const ARCHIVE: &str = "signed-0.1.0.tgz";

fn data(name: &str) -> Vec<u8> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../plugins/helm/provenance/tests/data");
    fs::read(data.join(name)).unwrap()
}

/// The archive with a provenance file beside it, and a keyring.
fn signed(place: &Place, provenance: &str, keyring: &str) {
    fs::write(place.path().join(ARCHIVE), data(ARCHIVE)).unwrap();
    fs::write(place.path().join(format!("{ARCHIVE}.prov")), data(provenance)).unwrap();
    fs::write(place.path().join("keys.gpg"), data(keyring)).unwrap();
}

const VERIFY: [&str; 5] = ["template", "rel", ARCHIVE, "--verify", "--keyring=keys.gpg"];

#[test]
fn a_chart_is_rendered_when_a_key_of_the_keyring_vouches_for_it() {
    let Some(place) = place() else { return };
    signed(&place, "rsa.prov", "rsa.gpg");
    let plain = place.printed(&["template", "rel", ARCHIVE]);
    assert_eq!(place.printed(&VERIFY), plain);
    place.printed(&["show", "chart", ARCHIVE, "--verify", "--keyring=keys.gpg"]);
    fs::create_dir(place.path().join(".gnupg")).unwrap();
    fs::write(place.path().join(".gnupg/pubring.kbx"), data("all.kbx")).unwrap();
    assert_eq!(place.printed(&VERIFY[..4]), plain, "GnuPG's own keyring");
}

#[test]
fn a_chart_that_nobody_vouches_for_is_refused_before_anything_else_is_read() {
    let Some(place) = place() else { return };
    signed(&place, "rsa.prov", "stranger.gpg");
    let with_values = [&VERIFY[..], &["-f", "none.yaml"]].concat();
    assert_eq!(place.refused(&with_values), "Error: openpgp: signature made by unknown entity");
    signed(&place, "rsa.prov", "rsa.gpg");
    let mut tampered = data(ARCHIVE);
    *tampered.last_mut().unwrap() ^= 1;
    fs::write(place.path().join(ARCHIVE), tampered).unwrap();
    let refused = place.refused(&VERIFY);
    assert!(refused.starts_with("Error: sha256 sum does not match for signed-0.1.0.tgz: "), "{refused}");
    signed(&place, "tampered-text.prov", "rsa.gpg");
    assert!(place.refused(&VERIFY).starts_with("Error: openpgp: "));
}

#[test]
fn files_that_are_missing_or_of_the_wrong_kind_are_told_in_helms_words() {
    let Some(place) = place() else { return };
    signed(&place, "rsa.prov", "rsa.gpg");
    let path = |name: &str| place.path().join(name).display().to_string();
    let said = |chart: &str, keyring: &str| {
        place.refused(&["template", "rel", chart, "--verify", "--keyring", keyring])
    };
    assert_eq!(said("./web", "keys.gpg"), "Error: unpacked charts cannot be verified");
    fs::copy(place.path().join(ARCHIVE), place.path().join("signed.tar.gz")).unwrap();
    assert_eq!(said("signed.tar.gz", "keys.gpg"), "Error: chart must be a tgz file");
    assert_eq!(
        said(ARCHIVE, "none.gpg"),
        "Error: failed to load keyring: open none.gpg: no such file or directory"
    );
    let home = place.refused(&VERIFY[..4]);
    let keys = path(".gnupg/pubring.gpg");
    assert_eq!(home, format!("Error: failed to load keyring: open {keys}: no such file or directory"));
    assert_eq!(said(ARCHIVE, "web"), "Error: failed to load keyring: read web: is a directory");
    let beside = path(&format!("{ARCHIVE}.prov"));
    fs::remove_file(&beside).unwrap();
    assert_eq!(
        said(ARCHIVE, "keys.gpg"),
        format!("Error: could not load provenance file {beside}: stat {beside}: no such file or directory")
    );
    fs::create_dir(&beside).unwrap();
    let directory = format!("Error: failed to read provenance file: read {beside}: is a directory");
    assert_eq!(said(ARCHIVE, "keys.gpg"), directory);
}

/// A repository with the archive and, at some paths, its provenance file; its URL.
async fn repository() -> String {
    let index = "apiVersion: v1\nentries:\n  signed:\n  - name: signed\n    version: 0.1.0\n    urls: \
                 [with/signed-0.1.0.tgz]\n  bare:\n  - name: bare\n    version: 0.1.0\n    urls: [without/signed-0.1.0.tgz]\n";
    let router = Router::new()
        .route("/index.yaml", get(move || async move { index }))
        .route("/with/signed-0.1.0.tgz", get(|| async { data(ARCHIVE) }))
        .route("/with/signed-0.1.0.tgz.prov", get(|| async { data("rsa.prov") }))
        .route("/without/signed-0.1.0.tgz", get(|| async { data(ARCHIVE) }))
        .fallback(|| async { StatusCode::NOT_FOUND });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provenance_of_a_chart_is_fetched_from_where_the_chart_came_from() {
    let Some(place) = place() else { return };
    signed(&place, "rsa.prov", "rsa.gpg");
    let plain = place.printed(&["template", "rel", ARCHIVE]);
    let url = repository().await;
    assert_eq!(place.printed(&line(&["signed", "--repo", &url])), plain);
    assert_eq!(place.printed(&line(&[&format!("{url}/with/{ARCHIVE}")])), plain);
    let missing = format!("Error: failed to fetch provenance \"{url}/without/{ARCHIVE}.prov\"");
    assert_eq!(place.refused(&line(&["bare", "--repo", &url])), missing);
    assert_eq!(place.refused(&line(&[&format!("{url}/without/{ARCHIVE}")])), missing);
}

fn line<'a>(reference: &[&'a str]) -> Vec<&'a str> {
    [&["template", "rel"], reference, &["--verify", "--keyring=keys.gpg"]].concat()
}
