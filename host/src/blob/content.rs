//! Content on its way: taken out of its encoding, counted, and held against its proof.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::BlobError;

/// The longest line of JSON.
const LINE: usize = 8 * 1024 * 1024;
/// Bytes of a sha256.
const DIGEST: usize = 32;

/// How content stands in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As it is.
    #[default]
    Plain,
    /// One JSON value on each line: base64 at a pointer, an error at another.
    JsonLines {
        /// Pointer to the content.
        content: String,
        /// Pointer to an error.
        error: String,
    },
}

/// How whole content is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Proof {
    /// Lower-case hex of all of it.
    pub sha256: Option<String>,
    /// The last 32 bytes are the sha256 of those before.
    pub trailer: bool,
}

impl Proof {
    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        self.sha256.is_some() || self.trailer
    }
}

/// Takes content out of an answer's pieces.
#[derive(Debug)]
pub struct Decoder {
    encoding: Encoding,
    line: BytesMut,
}

impl Decoder {
    /// For an encoding.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, line: BytesMut::new() }
    }

    /// The content in a piece.
    ///
    /// # Errors
    /// [`BlobError::Corrupt`], also for an error that the server sent instead of content.
    pub fn piece(&mut self, piece: Bytes) -> Result<Vec<Bytes>, BlobError> {
        if self.encoding == Encoding::Plain {
            return Ok(vec![piece]);
        }
        let mut contents = Vec::new();
        let mut rest = piece.as_ref();
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(at);
            self.line.extend_from_slice(line);
            let whole = self.line.split();
            contents.extend(self.content(&whole)?);
            rest = after.get(1..).unwrap_or_default();
        }
        self.line.extend_from_slice(rest);
        if self.line.len() > LINE {
            return Err(BlobError::Corrupt(format!("a line of the answer has more than {LINE} bytes")));
        }
        Ok(contents)
    }

    /// The content after the last line's end.
    ///
    /// # Errors
    /// As [`piece`](Self::piece).
    pub fn end(&mut self) -> Result<Option<Bytes>, BlobError> {
        let line = self.line.split();
        self.content(&line)
    }

    fn content(&self, line: &[u8]) -> Result<Option<Bytes>, BlobError> {
        let Encoding::JsonLines { content, error } = &self.encoding else { return Ok(None) };
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let corrupt = |why: &str| BlobError::Corrupt(format!("a line of the answer {why}"));
        let value: Value = serde_json::from_slice(line).map_err(|_| corrupt("is not JSON: it breaks off"))?;
        if let Some(said) = value.pointer(error).filter(|said| !said.is_null()) {
            let said: String = said.to_string().chars().take(512).collect();
            return Err(BlobError::Unavailable(format!("the server ended its answer with {said}")));
        }
        match value.pointer(content) {
            // What is empty is left out by gateways.
            None => Ok(None),
            Some(text) => {
                let text = text.as_str().ok_or_else(|| corrupt("has no text where the content is"))?;
                STANDARD.decode(text).map(|bytes| Some(bytes.into())).map_err(|_| corrupt("holds no base64"))
            }
        }
    }
}

/// Counts and digests content.
#[derive(Debug)]
pub struct Scale {
    all: Sha256,
    /// Of all but what may be the trailer.
    front: Option<Sha256>,
    /// The last bytes, which may be the trailer.
    held: Vec<u8>,
    /// Bytes up to now.
    pub bytes: u64,
    most: u64,
}

impl Scale {
    /// For content of at most so many bytes.
    pub fn new(proof: &Proof, most: u64) -> Self {
        let front = proof.trailer.then(Sha256::new);
        Self { all: Sha256::new(), front, held: Vec::new(), bytes: 0, most }
    }

    /// Takes a piece.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`].
    pub fn add(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        self.bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if self.bytes > self.most {
            return Err(BlobError::TooLarge(format!("the content has more than {} bytes", self.most)));
        }
        self.all.update(piece);
        if let Some(front) = &mut self.front {
            self.held.extend_from_slice(piece);
            let settled = self.held.len().saturating_sub(DIGEST);
            front.update(self.held.get(..settled).unwrap_or_default());
            self.held.drain(..settled);
        }
        Ok(())
    }

    /// The sha256 of all, if the proof holds.
    ///
    /// # Errors
    /// [`BlobError::Corrupt`].
    pub fn weigh(self, proof: &Proof) -> Result<String, BlobError> {
        let digest = hex(&self.all.finalize());
        if let Some(wanted) = proof.sha256.as_ref().filter(|wanted| **wanted != digest) {
            return Err(BlobError::Corrupt(format!("the content's sha256 is {digest}, not {wanted}")));
        }
        if let Some(front) = self.front
            && front.finalize().as_slice() != self.held
        {
            return Err(BlobError::Corrupt(
                "the content does not end in the sha256 of what is before: it broke off, or was changed"
                    .to_owned(),
            ));
        }
        Ok(digest)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etcd() -> Encoding {
        Encoding::JsonLines { content: "/result/blob".to_owned(), error: "/error".to_owned() }
    }

    fn decoded(text: &str, step: usize) -> Result<Vec<u8>, BlobError> {
        let mut decoder = Decoder::new(etcd());
        let mut whole = Vec::new();
        for piece in text.as_bytes().chunks(step) {
            whole.extend(decoder.piece(Bytes::copy_from_slice(piece))?.concat());
        }
        whole.extend(decoder.end()?.unwrap_or_default());
        Ok(whole)
    }

    #[test]
    fn lines_of_a_gateway_are_content_however_they_are_cut() {
        let line = |text: &str| {
            format!("{{\"result\":{{\"remaining_bytes\":\"9\",\"blob\":\"{}\"}}}}\n", STANDARD.encode(text))
        };
        let text =
            format!("{}{}\n{{\"result\":{{}}}}\n{}", line("one"), line("two"), line("three").trim_end());
        for step in [1, 7, 1000] {
            assert_eq!(decoded(&text, step).unwrap(), b"onetwothree");
        }
        assert!(matches!(decoded(text.split_at(text.len() - 3).0, 9), Err(BlobError::Corrupt(_))));
        let failed = format!("{}{{\"error\":{{\"message\":\"etcdserver: corrupt\"}}}}\n", line("one"));
        assert!(decoded(&failed, 9).unwrap_err().to_string().contains("etcdserver: corrupt"));
    }

    #[test]
    fn a_trailer_is_the_sha256_of_what_is_before_it() {
        let proof = Proof { sha256: None, trailer: true };
        let content: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
        let whole = [content.clone(), Sha256::digest(&content).to_vec()].concat();
        let weigh = |bytes: &[u8], step: usize| {
            let mut scale = Scale::new(&proof, u64::MAX);
            bytes.chunks(step).for_each(|piece| scale.add(piece).unwrap());
            scale.weigh(&proof)
        };
        for step in [1, 31, 32, 33, 4096] {
            assert_eq!(weigh(&whole, step).unwrap(), hex(&Sha256::digest(&whole)));
            assert!(matches!(weigh(&whole[..whole.len() - 1], step), Err(BlobError::Corrupt(_))));
            assert!(matches!(weigh(&content, step), Err(BlobError::Corrupt(_))));
        }
        assert!(matches!(weigh(b"", 1), Err(BlobError::Corrupt(_))));
    }

    #[test]
    fn another_digest_and_too_many_bytes_are_told() {
        let proof = Proof { sha256: Some("00".to_owned()), trailer: false };
        let mut scale = Scale::new(&proof, 3);
        scale.add(b"abc").unwrap();
        assert!(matches!(scale.add(b"d"), Err(BlobError::TooLarge(_))));
        assert!(scale.weigh(&proof).unwrap_err().to_string().contains("not 00"));
    }
}
