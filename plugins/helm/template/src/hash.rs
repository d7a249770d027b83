//! A fast hash for names. They come from charts that are trusted not to attack their own rendering;
//! the worst they could do is slow it down, which the limits do not see but the host's deadline does.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A map with keys that are hashed fast.
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// A set of what is hashed fast.
pub(crate) type FastSet<K> = HashSet<K, BuildHasherDefault<FastHasher>>;

/// Multiplies and rotates, eight bytes at a time.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FastHasher(u64);

impl FastHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for FastHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.mix(byte.into());
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    /// The high bits are mixed best, and the table looks at both ends.
    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// A word of a source text, as a key. Equality looks at eight bytes at a time: on WebAssembly the standard library's looks at
/// one.
#[derive(Debug, Clone, Copy, Eq)]
pub(crate) struct Word<'s>(pub(crate) &'s [u8]);

impl PartialEq for Word<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let ((words, rest), (others, others_rest)) = (self.0.as_chunks::<8>(), other.0.as_chunks::<8>());
        let same = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_le_bytes(*a) == u64::from_le_bytes(*b);
        self.0.len() == other.0.len()
            && words.iter().zip(others).all(same)
            && rest.iter().zip(others_rest).all(|(a, b)| a == b)
    }
}

impl Hash for Word<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{FastMap, Word};
    use crate::Str;

    #[test]
    fn words_are_equal_as_their_bytes_are() {
        let texts =
            ["", "a", "b", "ab", "includes", "included", "chart.labels", "chart.labelS", "chart.label"];
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            assert_eq!(Word(a.as_bytes()) == Word(b.as_bytes()), a == b, "{a} {b}");
        }
    }

    #[test]
    fn thousands_of_similar_names_are_found_again() {
        let names = (0..10_000).map(|n| Str::from(format!("chart.labels-{n}")));
        let map: FastMap<Str, usize> = names.clone().zip(0..).collect();
        assert_eq!(map.len(), 10_000);
        assert!(names.zip(0..).all(|(name, n)| map.get(&name) == Some(&n)));
    }
}
