//! DER (X.690), as much of it as certificates need.

/// Tags.
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0C;
pub(super) const PRINTABLE_STRING: u8 = 0x13;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// An element of any tag.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
            let bytes = bytes.get(significant..).unwrap_or_default();
            out.push(0x80 | u8::try_from(bytes.len()).unwrap_or(0));
            out.extend_from_slice(bytes);
        }
    }
    out.extend_from_slice(content);
    out
}

/// A sequence of elements.
pub(super) fn sequence(elements: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &elements.concat())
}

/// A number that is not negative, from its bytes, largest first.
pub(super) fn unsigned(bytes: &[u8]) -> Vec<u8> {
    let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = bytes.get(significant..).unwrap_or_default();
    match bytes.first() {
        None => element(INTEGER, &[0]),
        Some(first) if *first >= 0x80 => element(INTEGER, &[&[0], bytes].concat()),
        Some(_) => element(INTEGER, bytes),
    }
}

/// An object identifier from its encoded arcs.
pub(super) fn identifier(arcs: &[u8]) -> Vec<u8> {
    element(OBJECT_IDENTIFIER, arcs)
}

/// Whole bytes as a bit string.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes].concat())
}

/// Reads elements one after the other.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d>(&'d [u8]);

/// An element: its tag, its content, and all of it.
#[derive(Clone, Copy)]
pub(super) struct Element<'d> {
    pub(super) tag: u8,
    pub(super) content: &'d [u8],
    pub(super) whole: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(super) fn new(source: &'d [u8]) -> Self {
        Self(source)
    }

    /// The next element; `None` at the end, and where it is none.
    pub(super) fn next(&mut self) -> Option<Element<'d>> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let count = usize::from(first & 0x7F);
            let (bytes, rest) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        };
        let (content, after) = rest.split_at_checked(length)?;
        let whole = self.0.get(..self.0.len() - after.len())?;
        self.0 = after;
        Some(Element { tag: *tag, content, whole })
    }

    /// The next element when it has the tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<Element<'d>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// The next element only if it has the tag; otherwise it stays.
    pub(super) fn optional(&mut self, tag: u8) -> Option<Element<'d>> {
        let mut ahead = *self;
        let element = ahead.expect(tag)?;
        *self = ahead;
        Some(element)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'d> Element<'d> {
    /// Reads what is within.
    pub(super) fn inside(&self) -> Reader<'d> {
        Reader(self.content)
    }
}
