//! Passwords: bcrypt, htpasswd, and those derived by the Master Password algorithm.

use helm_template::CallError;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::platform::Platform;
use crate::random;

/// `bcrypt.DefaultCost`.
const COST: u32 = 10;
/// What `bcrypt` hashes of a password; Go refuses more.
const LONGEST: usize = 72;

/// `bcrypt`: a hash in the format `$2a$`, or the reason why there is none.
pub(super) fn bcrypt(platform: &dyn Platform, password: &[u8]) -> Result<String, CallError> {
    if password.len() > LONGEST {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned()
        );
    }
    let mut salt = [0; 16];
    salt.copy_from_slice(random::bytes(platform, 16)?.get(..16).unwrap_or(&[0; 16]));
    Ok(match ::bcrypt::hash_with_salt(password, COST, salt) {
        Ok(parts) => parts.format_for_version(::bcrypt::Version::TwoA),
        Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
    })
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The forms of passwords: a letter for each character's alphabet.
fn forms(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        "long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        "medium" => &["CvcnoCvc", "CvcCvcno"],
        "short" => &["Cvcn"],
        "basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        "pin" => &["nnnn"],
        _ => return None,
    })
}

fn alphabet(letter: u8) -> &'static [u8] {
    match letter {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// A text with its length in front.
fn with_length(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&length, text].concat()
}

/// `derivePassword`.
pub(super) fn derive(counter: u32, kind: &str, [password, user, site]: [&[u8]; 3]) -> String {
    let Some(forms) = forms(kind) else { return format!("cannot find password template {kind}") };
    let failed = |error: &dyn std::fmt::Display| format!("failed to derive password: {error}");
    let mut key = [0; 64];
    let params = match scrypt::Params::new(15, 8, 2) {
        Ok(params) => params,
        Err(error) => return failed(&error),
    };
    if let Err(error) = scrypt::scrypt(password, &[SEED, &with_length(user)].concat(), &params, &mut key) {
        return failed(&error);
    }
    let message = [SEED, &with_length(site), &counter.to_be_bytes()].concat();
    let seed = match <Hmac<Sha256> as Mac>::new_from_slice(&key) {
        Ok(mac) => mac.chain_update(message).finalize().into_bytes(),
        Err(error) => return failed(&error),
    };
    let byte = |index: usize| usize::from(seed.get(index).copied().unwrap_or(0));
    let form = forms.get(byte(0) % forms.len()).copied().unwrap_or_default();
    let character = |(index, letter): (usize, u8)| {
        let alphabet = alphabet(letter);
        alphabet.get(byte(index + 1) % alphabet.len()).map_or('?', |byte| char::from(*byte))
    };
    form.bytes().enumerate().map(character).collect()
}
