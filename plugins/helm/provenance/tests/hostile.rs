//! Keyrings and provenance files that are cut, changed or made up.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use helm_provenance::{Keyring, verify};
use proptest::prelude::*;

const NOW: i64 = 1_795_400_000;
const NAME: &str = "signed-0.1.0.tgz";
const KEYS: [&str; 12] = [
    "rsa.gpg",
    "p256.gpg",
    "p384.gpg",
    "p521.gpg",
    "ed25519.gpg",
    "dsa.gpg",
    "certifier.gpg",
    "one.gpg",
    "rsa.secret.gpg",
    "certifier.secret.gpg",
    "ed25519.asc",
    "revoked-key.gpg",
];

fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn accepts(provenance: &[u8], keyring: &[u8]) -> bool {
    verify(&data(NAME), provenance, keyring, "keyring", NAME, NOW).is_ok()
}

#[test]
fn keyrings_may_be_cut_anywhere() {
    for name in KEYS {
        let whole = data(name);
        for end in 0..whole.len() {
            // That there is no panic is the point; a key that is whole may be read before the cut.
            let _ = Keyring::read(&whole[..end], name);
        }
        assert!(Keyring::read(&whole, name).is_ok(), "{name}");
    }
}

#[test]
fn a_keybox_may_be_cut_anywhere() {
    let whole = data("all.kbx");
    for end in (0..whole.len()).step_by(7) {
        let _ = Keyring::read(&whole[..end], "all.kbx");
    }
    assert!(Keyring::read(&whole, "all.kbx").is_ok());
}

#[test]
fn a_provenance_file_that_is_cut_is_not_accepted() {
    for (provenance, keyring) in [("ed25519.prov", "ed25519.gpg"), ("rsa.prov", "rsa.gpg")] {
        let (whole, keyring) = (data(provenance), data(keyring));
        let end = whole.trim_ascii_end().len();
        // The dashes at the very end are not looked at.
        for cut in 0..end - b"-----".len() {
            assert!(!accepts(&whole[..cut], &keyring), "{provenance} up to {cut}");
        }
        assert!(accepts(&whole, &keyring));
    }
}

#[test]
fn no_byte_of_what_is_signed_can_be_changed() {
    let (whole, keyring) = (data("ed25519.prov"), data("ed25519.gpg"));
    let text = String::from_utf8(whole.clone()).unwrap();
    let start = text.find("apiVersion").unwrap();
    let end = text.find("\n-----BEGIN PGP SIGNATURE").unwrap();
    for at in start..end {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(!accepts(&changed, &keyring), "byte {at}");
    }
}

#[test]
fn no_bit_of_a_signature_can_be_changed() {
    for (provenance, keyring) in
        [("ed25519.prov", "ed25519.gpg"), ("p256.prov", "p256.gpg"), ("dsa.prov", "dsa.gpg")]
    {
        let (whole, keyring) = (data(provenance), data(keyring));
        let text = String::from_utf8(whole).unwrap();
        let (head, armor) = text.split_once("-----BEGIN PGP SIGNATURE-----\n\n").unwrap();
        let (base64, _) = armor.split_once("\n-----END").unwrap();
        let signature = decode(base64);
        // The numbers are the last 64 bytes or so. What stands before them is not all signed.
        for at in signature.len() - 60..signature.len() {
            let mut changed = signature.clone();
            changed[at] ^= 0x10;
            let changed = format!(
                "{head}-----BEGIN PGP SIGNATURE-----\n\n{}\n-----END PGP SIGNATURE-----\n",
                encode(&changed)
            );
            // A length of a number is among these bytes; where it changes there may be too few of them.
            assert!(!accepts(changed.as_bytes(), &keyring), "{provenance}: byte {at}");
        }
    }
}

fn decode(base64: &str) -> Vec<u8> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.decode(base64.replace('\n', "")).unwrap()
}

fn encode(bytes: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text = STANDARD.encode(bytes);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join("\n")
}

#[test]
fn a_binding_of_a_subkey_by_somebody_else_is_refused() {
    // The stranger's primary key before the certifier's subkey: the keyring then holds no such key.
    let (stranger, certifier) = (data("stranger.gpg"), data("certifier.gpg"));
    let subkeys = certifier.windows(2).position(|pair| pair == [0xb9, 0x01]).unwrap();
    let stolen = [&stranger[..], &certifier[subkeys..]].concat();
    assert!(accepts(&data("subkey.prov"), &certifier));
    assert!(!accepts(&data("subkey.prov"), &stolen));
    assert!(!accepts(&data("stranger.prov"), &stolen));
    assert!(accepts(&data("stranger.prov"), &stranger));
}

/// The time that something takes at most: it is told from the square of it by a factor of thousands.
fn soon(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let taken = start.elapsed();
    assert!(taken < Duration::from_secs(20), "{what} took {taken:?}");
}

#[test]
fn great_files_take_no_great_time() {
    const GREAT: usize = 4 << 20;
    let keyring = data("ed25519.gpg");
    let marked = |text: &str| format!("-----BEGIN PGP SIGNED MESSAGE-----\n\n{text}").into_bytes();
    soon("lines", || assert!(!accepts(&marked(&"-\n".repeat(GREAT / 2)), &keyring)));
    soon("a line", || assert!(!accepts(&marked(&" ".repeat(GREAT)), &keyring)));
    soon("beginnings", || {
        assert!(!accepts("\n-----BEGIN PGP SIGNED MESSAGE-----x".repeat(GREAT / 36).as_bytes(), &keyring));
    });
    let blocks = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nno header\n".repeat(GREAT / 47);
    soon("blocks", || assert!(Keyring::read(blocks.as_bytes(), "x").is_err()));
    let blocks =
        format!("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n=aaaa\n{}\n", "\n".repeat(100)).repeat(GREAT / 146);
    soon("empty blocks", || assert!(Keyring::read(blocks.as_bytes(), "x").is_err()));
    soon("markers", || assert!(Keyring::read(&b"\xca\x03PGP".repeat(GREAT / 5), "x").is_ok()));
    soon("partial lengths", || assert!(Keyring::read(&b"\xe0x".repeat(GREAT / 2), "x").is_err()));
}

/// A key that signs a name again and again.
fn self_signed(name: &[u8], times: usize) -> Vec<u8> {
    use ed25519_dalek::{Signer, SigningKey};
    use sha2::{Digest, Sha256};
    let secret = SigningKey::from_bytes(&[7; 32]);
    let key = [&[4, 0, 0, 0, 1, 27][..], secret.verifying_key().as_bytes()].concat();
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let signed_key = [&[0x99, 0, u8::try_from(key.len()).unwrap()][..], &key].concat();
    let fingerprint = sha1::Sha1::digest(&signed_key);
    // When it was made, by whom, and that the key may sign.
    let area = [&[5, 2, 0, 0, 0, 1, 22, 33, 4][..], &fingerprint, &[2, 27, 2]].concat();
    let head = [&[4, 0x13, 27, 8, 0, u8::try_from(area.len()).unwrap()][..], &area].concat();
    let signed = [&signed_key, &[0xb4][..], &length(name), name, &head, &[4, 0xff], &length(&head)].concat();
    let value = secret.sign(&Sha256::digest(&signed)).to_bytes();
    let signature = [&head, &[0, 0, 0, 0][..], &value].concat();
    let packet = |tag: u8, content: &[u8]| [&[0xc0 | tag, 0xff][..], &length(content), content].concat();
    [packet(6, &key), packet(13, name), packet(2, &signature).repeat(times)].concat()
}

#[test]
fn a_long_name_with_many_signatures_takes_no_great_time() {
    let keyring = self_signed(&vec![b'x'; 8 << 20], 10_000);
    soon("signatures", || assert!(Keyring::read(&keyring, "x").is_ok()));
    assert!(Keyring::read(&self_signed(b"x", 1), "x").is_ok());
}

#[test]
fn signatures_within_signatures_do_not_fill_the_stack() {
    let mut signature: Vec<u8> = Vec::new();
    for _ in 0..2000 {
        let mut area = vec![5, 2, 0, 0, 0, 1];
        if !signature.is_empty() {
            area.push(0xff);
            area.extend(u32::try_from(signature.len() + 1).unwrap().to_be_bytes());
            area.push(32);
            area.extend(&signature);
        }
        let Ok(length) = u16::try_from(area.len()) else { break };
        signature = [&[4, 0x19, 1, 8][..], &length.to_be_bytes(), &area, &[0, 0, 0, 0, 0, 0]].concat();
    }
    let length = u32::try_from(signature.len()).unwrap().to_be_bytes();
    let packet = [&[0xc2, 0xff][..], &length, &signature].concat();
    let error = Keyring::read(&packet, "x").unwrap_err().to_string();
    assert_eq!(error, "openpgp: invalid data: too many layers of packets");
}

proptest! {
    #[test]
    fn anything_may_be_a_keyring(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = Keyring::read(&bytes, "x");
    }

    #[test]
    fn any_packets_may_be_a_keyring(
        packets in proptest::collection::vec((0_u8..64, proptest::collection::vec(any::<u8>(), 0..190)), 0..8),
    ) {
        let mut bytes = data("ed25519.gpg");
        for (tag, content) in packets {
            bytes.extend([0xc0 | tag, u8::try_from(content.len()).unwrap()]);
            bytes.extend(content);
        }
        let _ = Keyring::read(&bytes, "x");
    }

    #[test]
    fn a_changed_key_does_not_panic(which in 0..KEYS.len(), at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut keyring = data(KEYS[which]);
        let at = at.index(keyring.len());
        keyring[at] = value;
        let _ = accepts(&data("ed25519.prov"), &keyring);
    }

    #[test]
    fn a_changed_provenance_file_does_not_panic(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut provenance = data("rsa.prov");
        let at = at.index(provenance.len());
        provenance[at] = value;
        let _ = accepts(&provenance, &data("rsa.gpg"));
    }

    #[test]
    fn any_text_may_be_a_provenance_file(text in "(-----BEGIN PGP SIGNED MESSAGE-----\n)?(Hash: SHA256\n)?\n?[ -~\n\r]{0,200}(\n-----BEGIN PGP SIGNATURE-----\n\n[A-Za-z0-9+/=\n]{0,200}\n-----END PGP SIGNATURE-----)?") {
        prop_assert!(!accepts(text.as_bytes(), &data("ed25519.gpg")));
    }
}
