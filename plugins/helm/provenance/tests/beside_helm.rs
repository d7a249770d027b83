//! Keyrings and provenance files beside what `helm verify` said of them (`tests/data/README.md`).

use std::fmt::Write;
use std::path::PathBuf;

use helm_provenance::{Error, Verification, verify};

/// When Helm looked at them.
const NOW: i64 = 1_795_400_000;

/// Keys that Helm knows and we do not: they are refused, with these texts when the keyring holds no other.
const FOREIGN: [(&str, &str); 4] = [
    (
        "k1.prov",
        "invalid data: user ID self-signature invalid: openpgp: unsupported feature: signatures of secp256k1 keys",
    ),
    (
        "bp.prov",
        "invalid data: user ID self-signature invalid: openpgp: unsupported feature: signatures of brainpoolP256r1 keys",
    ),
    (
        "ed448.prov",
        "invalid data: user ID self-signature invalid: openpgp: unsupported feature: signatures of Ed448 keys",
    ),
    ("v6.prov", "unsupported feature: public key version 6"),
];

fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `helm verify` prints.
fn printed(result: &Result<Verification, Error>) -> String {
    match result {
        Ok(verification) => {
            let mut text = String::new();
            for name in &verification.signed_by {
                writeln!(text, "Signed by: {name}").unwrap();
            }
            text.push_str("Using Key With Fingerprint: ");
            for byte in verification.fingerprint {
                write!(text, "{byte:02X}").unwrap();
            }
            write!(text, "\nChart Hash Verified: {}", verification.file_hash).unwrap();
            text
        }
        Err(error) => format!("Error: {error}"),
    }
}

struct Case {
    name: String,
    archive: Vec<u8>,
    provenance: String,
    keyring: String,
    expected: String,
}

impl Case {
    fn all() -> Vec<Self> {
        let table = String::from_utf8(data("cases.tsv")).unwrap();
        let case = |line: &str| {
            let [name, content, provenance, keyring, expected] =
                line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let mut archive = data("signed-0.1.0.tgz");
            if content == "tampered" {
                *archive.last_mut().unwrap() ^= 1;
            }
            let expected = expected.replace("\\n", "\n").replace("\\\\", "\\");
            Self {
                name: name.to_owned(),
                archive,
                provenance: provenance.to_owned(),
                keyring: keyring.to_owned(),
                expected,
            }
        };
        table.lines().map(case).collect()
    }

    fn verify(&self) -> Result<Verification, Error> {
        let (provenance, keyring) = (data(&self.provenance), data(&self.keyring));
        verify(&self.archive, &provenance, &keyring, &self.keyring, &self.name, NOW)
    }
}

#[test]
fn answers_are_those_of_helm() {
    let cases = Case::all();
    assert!(cases.len() > 120, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let printed = printed(&case.verify());
        let is_foreign = FOREIGN.iter().any(|(provenance, _)| *provenance == case.provenance);
        if printed != case.expected && !is_foreign {
            let Case { name, provenance, keyring, expected, .. } = case;
            writeln!(wrong, "{name} {provenance} {keyring}\n  here: {printed}\n  Helm: {expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn keys_of_unknown_kinds_are_refused_and_do_not_hide_others() {
    for case in Case::all() {
        let Some((_, text)) = FOREIGN.iter().find(|(provenance, _)| *provenance == case.provenance) else {
            continue;
        };
        let alone = case.keyring == case.provenance.replace(".prov", ".gpg");
        let expected = if alone {
            format!("failed to load keyring: openpgp: {text}")
        } else {
            "openpgp: signature made by unknown entity".to_owned()
        };
        assert_eq!(case.verify().unwrap_err().to_string(), expected, "{}", case.keyring);
    }
}

#[test]
fn a_signature_of_the_newer_version_is_named() {
    let (archive, provenance) = (data("signed-0.1.0.tgz"), data("v6.prov"));
    let keyring = data("ed25519.gpg");
    let error = verify(&archive, &provenance, &keyring, "x", "signed-0.1.0.tgz", NOW).unwrap_err();
    assert_eq!(error.to_string(), "openpgp: unsupported feature: signature packet version 6");
}
