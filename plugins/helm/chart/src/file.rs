//! A file of a chart.

use std::rc::Rc;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file: its path relative to the chart, with slashes, and what is in it. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the chart, with slashes.
    pub name: String,
    /// Content, without a UTF-8 byte order mark.
    pub data: Rc<[u8]>,
}

impl File {
    /// Makes a file; a UTF-8 byte order mark at its start is dropped, as Helm's loaders do.
    #[must_use]
    pub fn new(name: impl Into<String>, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref();
        let data = data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(data);
        Self { name: name.into(), data: data.into() }
    }
}
