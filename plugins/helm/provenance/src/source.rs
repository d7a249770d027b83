//! Bytes that come one piece after the other, as Go's readers give them.

use crate::error::PgpError;

/// Where bytes come from. A source may end with an error: the packets before it have been read by then.
pub(crate) trait Source {
    /// Reads some bytes, at most as many as there is room for; none at the end.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError>;
}

impl Source for &[u8] {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError> {
        let taken = into.len().min(self.len());
        if let (Some(room), Some((head, tail))) = (into.get_mut(..taken), self.split_at_checked(taken)) {
            room.copy_from_slice(head);
            *self = tail;
        }
        Ok(taken)
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There is nothing more, just where something begins.
    End,
    /// Something is wrong.
    Error(PgpError),
}

impl<E: Into<PgpError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Fills as much of the room as there are bytes for.
pub(crate) fn fill(source: &mut dyn Source, into: &mut [u8]) -> Result<usize, PgpError> {
    let mut filled = 0;
    while let Some(room) = into.get_mut(filled..).filter(|room| !room.is_empty()) {
        match source.read(room)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Reads an array that has to be there.
pub(crate) fn array<const N: usize>(source: &mut dyn Source) -> Result<[u8; N], PgpError> {
    let mut bytes = [0; N];
    if fill(source, &mut bytes)? < N {
        return Err(PgpError::UnexpectedEnd);
    }
    Ok(bytes)
}

/// Reads an array; when there is nothing at all, that is an end.
pub(crate) fn array_or_end<const N: usize>(source: &mut dyn Source) -> Result<[u8; N], Stop> {
    let mut bytes = [0; N];
    match fill(source, &mut bytes)? {
        0 => Err(Stop::End),
        filled if filled < N => Err(PgpError::UnexpectedEnd.into()),
        _ => Ok(bytes),
    }
}

/// Reads one byte that has to be there.
pub(crate) fn byte(source: &mut dyn Source) -> Result<u8, PgpError> {
    array::<1>(source).map(|[byte]| byte)
}

/// Reads as many bytes as are announced. All callers announce 65535 at most, so that is all a liar can make us hold.
pub(crate) fn bytes(source: &mut dyn Source, announced: u16) -> Result<Vec<u8>, PgpError> {
    let mut bytes = vec![0; usize::from(announced)];
    if fill(source, &mut bytes)? < bytes.len() {
        return Err(PgpError::UnexpectedEnd);
    }
    Ok(bytes)
}

/// Reads all there is.
pub(crate) fn rest(source: &mut dyn Source) -> Result<Vec<u8>, PgpError> {
    let mut all = Vec::new();
    let mut piece = [0; 512];
    loop {
        let read = source.read(&mut piece)?;
        match piece.get(..read) {
            None | Some([]) => return Ok(all),
            Some(read) => all.extend_from_slice(read),
        }
    }
}

/// Reads over all there is; that it cannot be read is no matter.
pub(crate) fn consume(source: &mut dyn Source) {
    let mut piece = [0; 1024];
    while source.read(&mut piece).is_ok_and(|read| read > 0) {}
}

/// A source that keeps what went through it.
pub(crate) struct Recorder<'a> {
    source: &'a mut dyn Source,
    seen: Vec<u8>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(source: &'a mut dyn Source) -> Self {
        Self { source, seen: Vec::new() }
    }

    pub(crate) fn into_seen(self) -> Vec<u8> {
        self.seen
    }
}

impl Source for Recorder<'_> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PgpError> {
        let read = self.source.read(into)?;
        self.seen.extend_from_slice(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}
