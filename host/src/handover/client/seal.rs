//! Encryption before anything leaves the pod: age, to the public keys of whoever may read it. The host and the storage never see more.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use age::stream::StreamWriter;
use age::x25519::Recipient;
use age::{Decryptor, Encryptor, Identity, IdentityFile};
use bytes::Bytes;

use super::ClientError;

/// Public keys, given one by one and in a file of one on each line.
///
/// # Errors
/// [`ClientError::Keys`] for what is no key, without showing it: it may be a private one.
pub fn recipients(given: &[String], file: Option<&Path>) -> Result<Vec<Recipient>, ClientError> {
    let text = file.map(std::fs::read_to_string).transpose();
    let text = text.map_err(|error| {
        file.map_or(ClientError::Keys(String::new()), |path| ClientError::file(path)(error))
    })?;
    let lines = text.as_deref().unwrap_or_default().lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let all: Vec<&str> = given.iter().map(String::as_str).chain(lines).collect();
    if file.is_some() && all.is_empty() {
        return Err(ClientError::Keys("the file of recipients names none".to_owned()));
    }
    let parsed = all.iter().enumerate().map(|(index, text)| {
        let wrong = |_| ClientError::Keys(format!("recipient {} is no public key of age (age1…)", index + 1));
        Recipient::from_str(text).map_err(wrong)
    });
    parsed.collect()
}

/// Private keys of a file.
///
/// # Errors
/// [`ClientError::Keys`].
pub fn identities(path: &Path) -> Result<Vec<Box<dyn Identity + Send + Sync>>, ClientError> {
    let file = std::fs::File::open(path).map_err(ClientError::file(path))?;
    let unusable = |why: String| ClientError::Keys(format!("{}: {why}", path.display()));
    let parsed =
        IdentityFile::from_buffer(BufReader::new(file)).map_err(|error| unusable(error.to_string()))?;
    let keys = parsed.into_identities().map_err(|error| unusable(error.to_string()))?;
    if keys.is_empty() {
        return Err(unusable("it holds no private key of age".to_owned()));
    }
    Ok(keys)
}

/// Where the library writes, and we read.
#[derive(Clone, Debug, Default)]
struct Spill(Arc<Mutex<Vec<u8>>>);

impl Write for Spill {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Spill {
    fn take(&self) -> Bytes {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

/// Encrypts pieces as they come, or lets them through.
pub struct Sealer(Option<(StreamWriter<Spill>, Spill)>);

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sealer").field(&self.0.is_some()).finish()
    }
}

impl Sealer {
    /// For these; nobody: nothing is encrypted.
    ///
    /// # Errors
    /// [`ClientError::Keys`].
    pub fn new(recipients: &[Recipient]) -> Result<Self, ClientError> {
        if recipients.is_empty() {
            return Ok(Self(None));
        }
        let keys = |error: String| ClientError::Keys(error);
        let each = recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(each).map_err(|error| keys(error.to_string()))?;
        let spill = Spill::default();
        let writer = encryptor.wrap_output(spill.clone()).map_err(|error| keys(error.to_string()))?;
        Ok(Self(Some((writer, spill))))
    }

    /// What is to be sent for a piece; maybe nothing yet.
    ///
    /// # Errors
    /// [`ClientError::Sealed`].
    pub fn piece(&mut self, piece: Bytes) -> Result<Bytes, ClientError> {
        let Some((writer, spill)) = &mut self.0 else { return Ok(piece) };
        writer.write_all(&piece).map_err(|error| ClientError::Sealed(error.to_string()))?;
        Ok(spill.take())
    }

    /// What is to be sent at the end.
    ///
    /// # Errors
    /// [`ClientError::Sealed`].
    pub fn end(self) -> Result<Bytes, ClientError> {
        let Some((writer, spill)) = self.0 else { return Ok(Bytes::new()) };
        writer.finish().map_err(|error| ClientError::Sealed(error.to_string()))?;
        Ok(spill.take())
    }
}

/// Decrypts what flows, with any of the keys.
///
/// # Errors
/// [`ClientError::Sealed`].
pub fn open<'a, R: Read + 'a>(
    sealed: R,
    keys: &[Box<dyn Identity + Send + Sync>],
) -> Result<impl Read + use<'a, R>, ClientError> {
    let unreadable = |error: age::DecryptError| ClientError::Sealed(error.to_string());
    let decryptor = Decryptor::new(sealed).map_err(unreadable)?;
    decryptor.decrypt(keys.iter().map(|key| &**key as &dyn Identity)).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use age::secrecy::ExposeSecret as _;

    use super::*;

    fn sealed(recipients: &[Recipient], content: &[u8], step: usize) -> Vec<u8> {
        let mut sealer = Sealer::new(recipients).unwrap();
        let mut whole = Vec::new();
        for piece in content.chunks(step) {
            whole.extend(sealer.piece(Bytes::copy_from_slice(piece)).unwrap());
        }
        whole.extend(sealer.end().unwrap());
        whole
    }

    fn opened(sealed: &[u8], key: &age::x25519::Identity) -> std::io::Result<Vec<u8>> {
        let keys: Vec<Box<dyn Identity + Send + Sync>> = vec![Box::new(key.clone())];
        let mut content = Vec::new();
        open(sealed, &keys).map_err(std::io::Error::other)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn every_recipient_reads_it_and_nobody_else_does() {
        let [one, two, stranger] = std::array::from_fn(|_| age::x25519::Identity::generate());
        let content: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        for step in [1_000, 65_536, 1_000_000] {
            let whole = sealed(&[one.to_public(), two.to_public()], &content, step);
            assert_eq!(opened(&whole, &one).unwrap(), content);
            assert_eq!(opened(&whole, &two).unwrap(), content);
            assert!(opened(&whole, &stranger).is_err());
            let mut changed = whole.clone();
            *changed.last_mut().unwrap() ^= 1;
            assert!(opened(&changed, &one).is_err(), "a changed byte");
            assert!(opened(&whole[..whole.len() - 1], &one).is_err(), "a cut one");
        }
        assert_eq!(sealed(&[], &content, 1_000), content);
    }

    #[test]
    fn what_is_encrypted_is_given_on_while_it_comes() {
        let key = age::x25519::Identity::generate();
        let mut sealer = Sealer::new(&[key.to_public()]).unwrap();
        let piece = Bytes::from(vec![7; 64 * 1024]);
        for _ in 0..64 {
            assert!(sealer.piece(piece.clone()).unwrap().len() <= 3 * piece.len());
        }
    }

    #[test]
    fn keys_come_from_arguments_and_files_and_are_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys");
        let key = age::x25519::Identity::generate();
        let (public, private) = (key.to_public().to_string(), key.to_string());
        std::fs::write(&file, format!("# ours\n\n{public}\n")).unwrap();
        assert_eq!(recipients(std::slice::from_ref(&public), Some(&file)).unwrap().len(), 2);
        assert!(recipients(&[], None).unwrap().is_empty());
        let secret = private.expose_secret().to_owned();
        let mixed_up = recipients(std::slice::from_ref(&secret), None).err().unwrap().to_string();
        assert!(!mixed_up.contains(&secret) && mixed_up.contains("recipient 1"), "{mixed_up}");
        std::fs::write(&file, "# nothing\n").unwrap();
        assert!(matches!(recipients(&[], Some(&file)), Err(ClientError::Keys(_))));
        assert!(matches!(identities(&file), Err(ClientError::Keys(_))));
        assert!(matches!(identities(Path::new("/nowhere")), Err(ClientError::File { .. })));
        std::fs::write(&file, format!("# mine\n{secret}\n")).unwrap();
        assert_eq!(identities(&file).unwrap().len(), 1);
        std::fs::write(&file, format!("{secret}x\n")).unwrap();
        assert!(!identities(&file).err().unwrap().to_string().contains(&secret));
    }
}
