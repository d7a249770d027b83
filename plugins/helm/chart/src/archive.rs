//! Chart archives (`.tgz`): reading them with the refusals of Helm's `pkg/chart/loader/archive`.

use crate::{file::File, go_path};
use flate2::{Compression, GzBuilder, read::MultiGzDecoder};
use std::io::Read;
use tar::{Archive, Builder, Entry, EntryType, Header};
use thiserror::Error;

/// How many bytes the files of one chart may have together, unpacked.
pub const MAX_CHART_BYTES: u64 = 100 * 1024 * 1024;

/// How many entries an archive may have. Helm has no such limit; empty entries would otherwise cost memory
/// that the byte limit does not see.
pub const MAX_ARCHIVE_ENTRIES: usize = 100_000;

/// Why an archive is refused. Texts are Helm's where Helm refuses it too.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Not gzip.
    #[error("gzip: invalid header")]
    NotGzip,
    /// Too short for the head of a gzip stream.
    #[error("{}", if *.0 == 0 { "EOF" } else { "unexpected EOF" })]
    Short(usize),
    /// Broken gzip or tar data.
    #[error("chart archive is damaged: {0}")]
    Damaged(#[from] std::io::Error),
    /// A name with an empty second element, as `chart//etc/passwd`.
    #[error("chart illegally contains absolute paths")]
    AbsolutePath,
    /// An entry that does not lie in the chart's directory.
    #[error("chart illegally contains content outside the base directory: {0:?}")]
    OutsideBase(String),
    /// A name that leads out of the chart with `..`.
    #[error("chart illegally references parent directory")]
    ParentDirectory,
    /// A name with a Windows drive.
    #[error("chart contains illegally named files")]
    IllegalName,
    /// `Chart.yaml` used as the chart's directory.
    #[error("chart yaml not in base directory")]
    ChartYamlMisplaced,
    /// More than [`MAX_CHART_BYTES`] unpacked.
    #[error("decompressed chart is larger than the maximum size {MAX_CHART_BYTES}")]
    TooLarge,
    /// More than [`MAX_ARCHIVE_ENTRIES`].
    #[error("chart archive has more than {MAX_ARCHIVE_ENTRIES} entries")]
    TooManyEntries,
    /// Nothing in it.
    #[error("no files in chart archive")]
    Empty,
}

/// Packs files, as `helm package` does it: paths with the chart's name in front, and the time of all of them in seconds since
/// 1970.
///
/// # Errors
/// A path that no archive can hold.
pub fn write_archive(files: &[(String, Vec<u8>)], time: u64) -> std::io::Result<Vec<u8>> {
    let gzip = GzBuilder::new().comment("Helm").write(Vec::new(), Compression::default());
    let mut archive = Builder::new(gzip);
    for (path, data) in files {
        let mut header = Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(time);
        archive.append_data(&mut header, path, data.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// Whether `data` starts as a gzip stream with deflate does.
#[must_use]
pub fn is_gzip(data: &[u8]) -> bool {
    data.starts_with(&[0x1f, 0x8b, 0x08])
}

/// Reads all files of a `.tgz`, names relative to the chart (its directory's name is dropped), byte order marks
/// removed. A link becomes an empty file, as in Helm: nothing is ever followed.
///
/// # Errors
/// [`ArchiveError`], see its variants.
pub fn read_archive(data: &[u8]) -> Result<Vec<File>, ArchiveError> {
    const HEAD: usize = 10;
    if data.len() < HEAD {
        return Err(ArchiveError::Short(data.len()));
    }
    if !is_gzip(data) {
        return Err(ArchiveError::NotGzip);
    }
    let mut remaining = MAX_CHART_BYTES;
    let mut files = Vec::new();
    let mut archive = Archive::new(MultiGzDecoder::new(data));
    for (count, entry) in archive.entries()?.enumerate() {
        if count >= MAX_ARCHIVE_ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        let mut entry = entry?;
        if is_directory(&entry) || entry.header().entry_type() == EntryType::XGlobalHeader {
            continue;
        }
        let name = chart_relative(&String::from_utf8_lossy(&entry.path_bytes()))?;
        files.push(File::new(name, read_within(&mut entry, &mut remaining)?));
    }
    if files.is_empty() { Err(ArchiveError::Empty) } else { Ok(files) }
}

fn is_directory<R: Read>(entry: &Entry<'_, R>) -> bool {
    const TYPE_BITS: u32 = 0o170_000;
    const DIRECTORY: u32 = 0o040_000;
    let kind = entry.header().entry_type();
    kind.is_dir()
        || entry.header().mode().is_ok_and(|mode| mode & TYPE_BITS == DIRECTORY)
        || (kind == EntryType::Regular && entry.path_bytes().ends_with(b"/"))
}

fn read_within<R: Read>(entry: &mut Entry<'_, R>, remaining: &mut u64) -> Result<Vec<u8>, ArchiveError> {
    // Only what is read counts: the size of a link's target, for instance, is not data.
    let size = if entry.header().entry_type().is_file() { entry.size() } else { 0 };
    if size > *remaining {
        return Err(ArchiveError::TooLarge);
    }
    let mut data = Vec::new();
    let read = entry.take(*remaining).read_to_end(&mut data)? as u64;
    *remaining -= read.min(*remaining);
    if read < size || *remaining == 0 {
        return Err(ArchiveError::TooLarge);
    }
    Ok(data)
}

/// Checks an entry's name and takes the chart's directory off it. Archives packed on Windows use backslashes.
fn chart_relative(name: &str) -> Result<String, ArchiveError> {
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
    let (top, inner) = name.split_once(delimiter).unwrap_or((name, ""));
    let inner = inner.replace(delimiter, "/");
    if inner.starts_with('/') {
        return Err(ArchiveError::AbsolutePath);
    }
    let inner = go_path::clean(&inner);
    if inner == "." {
        return Err(ArchiveError::OutsideBase(name.to_owned()));
    }
    if inner.starts_with("..") {
        return Err(ArchiveError::ParentDirectory);
    }
    if has_drive(&inner) {
        return Err(ArchiveError::IllegalName);
    }
    if top == "Chart.yaml" {
        return Err(ArchiveError::ChartYamlMisplaced);
    }
    Ok(inner)
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use tar::{Builder, Header};

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// A header whose name is written as it stands: the builder would refuse the ones that matter here.
    fn header(name: &str, kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size);
        header.set_cksum();
        header
    }

    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, data) in entries {
            builder.append(&header(name, *kind, data.len() as u64), *data).unwrap();
        }
        gzip(&builder.into_inner().unwrap())
    }

    fn regular(name: &str) -> Vec<u8> {
        archive(&[(name, EntryType::Regular, b"x")])
    }

    #[test]
    fn files_are_named_relative_to_the_chart_and_lose_their_byte_order_mark() {
        let data = archive(&[
            ("demo/", EntryType::Directory, b""),
            ("demo/Chart.yaml", EntryType::Regular, b"\xef\xbb\xbfname: demo"),
            ("demo/./templates//a.yaml", EntryType::Regular, b"a"),
        ]);
        let files = read_archive(&data).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["Chart.yaml", "templates/a.yaml"]);
        assert_eq!(&*files[0].data, b"name: demo");
    }

    #[test]
    fn windows_separators_are_understood() {
        let files = read_archive(&regular("demo\\templates\\a.yaml")).unwrap();
        assert_eq!(files[0].name, "templates/a.yaml");
    }

    #[test]
    fn names_that_leave_the_chart_are_refused() {
        for (name, want) in [
            ("demo//etc/passwd", "chart illegally contains absolute paths"),
            ("demo/../../etc/passwd", "chart illegally references parent directory"),
            ("demo/..hidden", "chart illegally references parent directory"),
            ("README.md", "chart illegally contains content outside the base directory: \"README.md\""),
            ("demo/./c:/etc", "chart contains illegally named files"),
            ("Chart.yaml/x", "chart yaml not in base directory"),
        ] {
            assert_eq!(read_archive(&regular(name)).unwrap_err().to_string(), want, "{name:?}");
        }
    }

    #[test]
    fn links_become_empty_files_and_global_headers_are_skipped() {
        let mut link = header("demo/link", EntryType::Symlink, 0);
        link.set_link_name("/etc/passwd").unwrap();
        link.set_cksum();
        let mut builder = Builder::new(Vec::new());
        builder.append(&header("pax_global_header", EntryType::XGlobalHeader, 0), &b""[..]).unwrap();
        builder.append(&link, &b""[..]).unwrap();
        let files = read_archive(&gzip(&builder.into_inner().unwrap())).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((files[0].name.as_str(), &*files[0].data), ("link", &b""[..]));
    }

    #[test]
    fn an_empty_archive_and_one_that_is_not_gzip_are_refused() {
        assert!(matches!(read_archive(&archive(&[])).unwrap_err(), ArchiveError::Empty));
        assert!(matches!(read_archive(b"name: demo").unwrap_err(), ArchiveError::NotGzip));
        assert!(matches!(read_archive(b"\x1f\x8b\x08garbage").unwrap_err(), ArchiveError::Damaged(_)));
    }

    #[test]
    fn a_gzip_bomb_is_refused_by_the_size_in_its_header() {
        let mut data = header("demo/bomb", EntryType::Regular, MAX_CHART_BYTES + 1).as_bytes().to_vec();
        data.extend([0; 4096]);
        assert!(matches!(read_archive(&gzip(&data)).unwrap_err(), ArchiveError::TooLarge));
    }

    #[test]
    fn an_archive_cut_short_is_refused() {
        let mut data = header("demo/cut", EntryType::Regular, 5000).as_bytes().to_vec();
        data.extend([b'x'; 100]);
        assert!(read_archive(&gzip(&data)).is_err());
    }
}
