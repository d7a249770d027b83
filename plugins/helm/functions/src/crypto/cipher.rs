//! `encryptAES` and `decryptAES`: AES-256 in CBC, the password being the key.

use aes::Aes256;
use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::CallError;

use crate::encoding::base::decode_base64;
use crate::platform::Platform;
use crate::random;
use crate::register::fail;

const BLOCK: usize = 16;

/// The first 32 bytes, filled up with zeros.
fn key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    for (to, from) in key.iter_mut().zip(password) {
        *to = *from;
    }
    key
}

fn vector(bytes: &[u8]) -> [u8; BLOCK] {
    let mut vector = [0; BLOCK];
    for (to, from) in vector.iter_mut().zip(bytes) {
        *to = *from;
    }
    vector
}

/// The random vector and the padded text's cipher in base64; nothing of nothing.
pub(super) fn encrypt(platform: &dyn Platform, password: &[u8], text: &[u8]) -> Result<String, CallError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let start = random::bytes(platform, BLOCK)?;
    let cipher = cbc::Encryptor::<Aes256>::new(&key(password).into(), &vector(&start).into());
    Ok(STANDARD.encode([start, cipher.encrypt_padded_vec::<Pkcs7>(text)].concat()))
}

/// The text of such a cipher. The padding is taken at its word.
pub(super) fn decrypt(password: &[u8], text: &[u8]) -> Result<Vec<u8>, CallError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = decode_base64(text).map_err(|error| fail(error.to_string()))?;
    let Some((start, body)) = bytes.split_at_checked(BLOCK) else {
        // The slice has what was decoded, but its memory is as long as Go made it.
        return Err(fail(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {}",
            text.len() / 4 * 3
        )));
    };
    let cipher = cbc::Decryptor::<Aes256>::new(&key(password).into(), &vector(start).into());
    let plain = cipher
        .decrypt_padded_vec::<NoPadding>(body)
        .map_err(|_| fail("crypto/cipher: input not full blocks"))?;
    let Some(padding) = plain.last().map(|byte| usize::from(*byte)) else {
        return Err(fail("runtime error: index out of range [-1]"));
    };
    let Some(length) = plain.len().checked_sub(padding) else {
        let (length, padding) = (plain.len().cast_signed(), padding.cast_signed());
        return Err(fail(format!("runtime error: slice bounds out of range [:{}]", length - padding)));
    };
    Ok(plain.get(..length).unwrap_or_default().to_vec())
}
