//! Which version of etcd a snapshot is of: it stands in the file, a bbolt database, of which a few pages are read.
//!
//! The format: `go.etcd.io/bbolt`, files `internal/common/{page,meta,inode}.go`. The buckets: etcd's `server/storage/schema`.

use crate::version::Version;

/// Pages and depths of honest files are far below these.
const LARGEST_PAGE: u64 = 1 << 20;
const DEEPEST: usize = 16;

const PAGE_HEADER: usize = 16;
const ELEMENT: usize = 16;
const MAGIC: u32 = 0xed0c_daed;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
/// Of an element: its value is a bucket.
const IS_BUCKET: u32 = 1;

/// Why nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError<E> {
    /// It is no bbolt database, or one of a machine of the other byte order.
    #[error("it is no database of etcd that can be read here")]
    Malformed,
    /// A part of it could not be had.
    #[error("{0}")]
    Store(E),
}

/// The version that the data asks for: that of the cluster, or of the storage format if that is higher. None: it does not say, as before
/// 3.5. `read` gives so many bytes from an offset on, fewer only where the file ends.
///
/// # Errors
/// [`SnapshotError`].
pub fn version<E>(
    read: impl FnMut(u64, u32) -> Result<Vec<u8>, E>,
) -> Result<Option<Version>, SnapshotError<E>> {
    let mut file = File { read, page_size: 0 };
    let root = file.root()?;
    let cluster = file.value(&root, b"cluster", b"clusterVersion")?;
    let storage = file.value(&root, b"meta", b"storageVersion")?;
    let parse = |text: Option<Vec<u8>>| String::from_utf8(text?).ok()?.parse::<Version>().ok();
    Ok(parse(cluster).max(parse(storage)))
}

/// Why members of a version cannot begin with a snapshot of another one; none if they can.
pub fn unreadable(snapshot: Version, by: Version) -> Option<String> {
    let newer = snapshot.series() > by.series();
    newer.then(|| {
        let Version { major, minor, .. } = snapshot;
        format!(
            "the backup is of etcd {major}.{minor}, which {by} does not read: the spec.version of the cluster has to be {major}.{minor} or later"
        )
    })
}

struct File<R> {
    read: R,
    page_size: u64,
}

impl<E, R: FnMut(u64, u32) -> Result<Vec<u8>, E>> File<R> {
    /// The page of the buckets. A snapshot has the same in both of its meta pages.
    fn root(&mut self) -> Result<Vec<u8>, SnapshotError<E>> {
        let head = (self.read)(0, 80).map_err(SnapshotError::Store)?;
        let meta = head.get(PAGE_HEADER..).unwrap_or_default();
        let known = u32_at(meta, 0) == Some(MAGIC) && u32_at(meta, 4) == Some(2);
        let whole = meta.get(..56).is_some_and(|bytes| u64_at(meta, 56) == Some(fnv(bytes)));
        let size = u32_at(meta, 8).map(u64::from).filter(|size| (512..=LARGEST_PAGE).contains(size));
        self.page_size = size.filter(|_| known && whole).ok_or(SnapshotError::Malformed)?;
        self.page(u64_at(meta, 16).ok_or(SnapshotError::Malformed)?)
    }

    /// A page with what overflows from it.
    fn page(&mut self, id: u64) -> Result<Vec<u8>, SnapshotError<E>> {
        let offset = id.checked_mul(self.page_size).ok_or(SnapshotError::Malformed)?;
        let mut length = self.page_size;
        loop {
            let wanted = u32::try_from(length).map_err(|_| SnapshotError::Malformed)?;
            let page = (self.read)(offset, wanted).map_err(SnapshotError::Store)?;
            let overflow = u32_at(&page, 12).ok_or(SnapshotError::Malformed)?;
            let all = (u64::from(overflow) + 1).saturating_mul(self.page_size);
            if all <= length {
                return Ok(page);
            }
            if all > LARGEST_PAGE {
                return Err(SnapshotError::Malformed);
            }
            length = all;
        }
    }

    /// A value in a bucket of the root.
    fn value(&mut self, root: &[u8], bucket: &[u8], key: &[u8]) -> Result<Option<Vec<u8>>, SnapshotError<E>> {
        let Some((flags, bucket)) = self.find(root.to_vec(), bucket)? else { return Ok(None) };
        if flags & IS_BUCKET == 0 {
            return Err(SnapshotError::Malformed);
        }
        let page = match u64_at(&bucket, 0).ok_or(SnapshotError::Malformed)? {
            // A small one is kept in its parent.
            0 => bucket.get(16..).unwrap_or_default().to_vec(),
            id => self.page(id)?,
        };
        Ok(self.find(page, key)?.map(|(_, value)| value))
    }

    /// Flags and value of a key, from a page on downwards.
    fn find(&mut self, mut page: Vec<u8>, key: &[u8]) -> Result<Option<(u32, Vec<u8>)>, SnapshotError<E>> {
        for _ in 0..DEEPEST {
            let flags = u16_at(&page, 8).ok_or(SnapshotError::Malformed)?;
            let below = match flags {
                LEAF => return leaf(&page, key).ok_or(SnapshotError::Malformed),
                BRANCH => branch(&page, key).ok_or(SnapshotError::Malformed)?,
                _ => return Err(SnapshotError::Malformed),
            };
            page = self.page(below)?;
        }
        Err(SnapshotError::Malformed)
    }
}

/// Flags and value of a key, if it is there.
type Found = Option<(u32, Vec<u8>)>;

/// What a leaf has under a key; none at all: it is none.
fn leaf(page: &[u8], key: &[u8]) -> Option<Found> {
    for at in elements(page)? {
        let (flags, position) = (u32_at(page, at)?, at.checked_add(size(page, at + 4)?)?);
        let (length, value) = (size(page, at + 8)?, size(page, at + 12)?);
        let end = position.checked_add(length)?;
        if page.get(position..end)? == key {
            return Some(Some((flags, page.get(end..end.checked_add(value)?)?.to_vec())));
        }
    }
    Some(None)
}

/// The page below that has a key, if any has: that of the last element that is not behind it.
fn branch(page: &[u8], key: &[u8]) -> Option<u64> {
    let mut found = None;
    for at in elements(page)? {
        let (position, length) = (at.checked_add(size(page, at)?)?, size(page, at + 4)?);
        let first = page.get(position..position.checked_add(length)?)?;
        if found.is_some() && first > key {
            break;
        }
        found = u64_at(page, at + 8);
    }
    found
}

/// Where the elements of a page begin.
fn elements(page: &[u8]) -> Option<impl Iterator<Item = usize>> {
    let count = usize::from(u16_at(page, 10)?);
    Some((0..count).map(|number| PAGE_HEADER + number * ELEMENT))
}

fn size(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, at)?).ok()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// FNV-1a, by which a meta page is known to be whole.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
