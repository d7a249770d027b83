//! [`Str`]: Go's `string`, an immutable run of bytes that is usually, but not always, UTF-8.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A Go string: shared bytes, cheap to clone, with a free `&str` view when they are valid UTF-8.
///
/// Go cuts and joins strings by byte (`substr 0 2 "héllo"`), so a value can hold half a character.
/// Whether the bytes are UTF-8 is settled once, when the string is made.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Utf8(Rc<str>),
    /// Never valid UTF-8: [`Str::from_bytes`] is the only place that makes it.
    Raw(Rc<[u8]>),
}

impl Str {
    /// Makes a string of any bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self(Repr::Utf8(Rc::from(text))),
            Err(_) => Self(Repr::Raw(Rc::from(bytes))),
        }
    }

    /// The bytes, which is what Go's `len`, slicing, comparison and hashing work on.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Raw(bytes) => bytes,
        }
    }

    /// The text, or `None` when the bytes are not UTF-8.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Raw(_) => None,
        }
    }

    /// The text with every invalid byte run replaced by U+FFFD; borrowed when nothing is invalid.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Raw(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    /// Length in bytes, as Go's `len`.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether the string has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

impl Default for Str {
    fn default() -> Self {
        Self(Repr::Utf8(Rc::from("")))
    }
}

impl From<&Str> for Str {
    fn from(text: &Str) -> Self {
        text.clone()
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self(Repr::Utf8(Rc::from(text)))
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self(Repr::Utf8(Rc::from(text)))
    }
}

impl From<Rc<str>> for Str {
    fn from(text: Rc<str>) -> Self {
        Self(Repr::Utf8(text))
    }
}

impl From<&String> for Str {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for Str {
    fn from(text: Cow<'_, str>) -> Self {
        Self(Repr::Utf8(Rc::from(text)))
    }
}

impl From<char> for Str {
    fn from(character: char) -> Self {
        Self::from(&*character.encode_utf8(&mut [0; 4]))
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes)
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from_bytes(&bytes)
    }
}

impl PartialEq for Str {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Str {}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    /// By bytes. Keys of a map mostly differ in their first byte, which saves calling `memcmp`.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.as_bytes(), other.as_bytes());
        match (a.first(), b.first()) {
            (Some(x), Some(y)) if x != y => x.cmp(y),
            _ => a.cmp(b),
        }
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// Lets a map keyed by [`Str`] be asked with plain bytes.
impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

/// Lossy: bytes that are not UTF-8 show as U+FFFD. Output that must be exact uses [`Str::as_bytes`].
impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str_lossy())
    }
}
