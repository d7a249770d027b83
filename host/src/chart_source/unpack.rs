//! Charts as trees of files of one's own: copied from a directory, or taken out of an archive.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// What a chart may hold, unpacked.
const MAX_BYTES: u64 = 256 << 20;
/// Files that it may have.
const MAX_FILES: usize = 20_000;
/// A link to a directory above would go round for ever.
const MAX_DEPTH: usize = 32;
/// Directories that belong to the person's tools, not to the chart.
const NOT_COPIED: [&str; 1] = [".git"];

/// Brings a chart, a directory or an archive, into a directory that there is.
///
/// # Errors
/// What the system says; when an archive is none, wants to write outside, or is too large.
pub fn into_directory(chart: &Path, target: &Path) -> io::Result<()> {
    if chart.is_dir() { copy(chart, target, &mut Budget::default(), 0) } else { unpack(chart, target) }
}

/// What is left to be written.
struct Budget {
    bytes: u64,
    files: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, files: MAX_FILES }
    }
}

impl Budget {
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.bytes.checked_sub(bytes).zip(self.files.checked_sub(1));
        (self.bytes, self.files) = left.ok_or_else(|| {
            io::Error::other(format!("the chart has more than {MAX_FILES} files or {MAX_BYTES} bytes"))
        })?;
        Ok(())
    }
}

fn copy(from: &Path, to: &Path, budget: &mut Budget, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other(format!("{}: more than {MAX_DEPTH} directories deep", from.display())));
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if NOT_COPIED.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        // Links are followed, as Helm follows them.
        let metadata = fs::metadata(&source)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", source.display())))?;
        if metadata.is_dir() {
            fs::create_dir(&target)?;
            copy(&source, &target, budget, depth + 1)?;
        } else if metadata.is_file() {
            budget.take(metadata.len())?;
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn unpack(archive: &Path, target: &Path) -> io::Result<()> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("{} is no chart archive: {error}", archive.display()))
    };
    let mut budget = Budget::default();
    let mut archive = tar::Archive::new(MultiGzDecoder::new(fs::File::open(archive)?));
    for entry in archive.entries().map_err(named)? {
        let mut entry = entry.map_err(named)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = inside(&entry.path().map_err(named)?).map_err(named)?;
        let Some(path) = path else { continue };
        let size = entry.size();
        budget.take(size)?;
        let path = target.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = fs::File::create(&path)?;
        io::copy(&mut entry.by_ref().take(size), &mut file).map_err(named)?;
    }
    Ok(())
}

/// A path without the chart's own directory; none for what is not below one.
fn inside(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let outside =
        || io::Error::new(io::ErrorKind::InvalidData, format!("{} leads out of it", path.display()));
    if !matches!(parts.next(), Some(Component::Normal(_))) {
        return Err(outside());
    }
    let mut inner = PathBuf::new();
    for part in parts {
        let Component::Normal(name) = part else { return Err(outside()) };
        inner.push(name);
    }
    Ok((inner != Path::new("")).then_some(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut builder =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, text) in entries {
            let mut header = tar::Header::new_gnu();
            // What `set_path` would refuse, an attacker writes all the same.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> (tempfile::TempDir, io::Result<()>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chart.tgz");
        fs::write(&path, bytes).unwrap();
        fs::create_dir(directory.path().join("chart")).unwrap();
        let done = into_directory(&path, &directory.path().join("chart"));
        (directory, done)
    }

    #[test]
    fn an_archive_is_unpacked_without_its_own_directory() {
        let (directory, done) =
            unpacked(&archive(&[("web/Chart.yaml", "a"), ("web/charts/b/Chart.yaml", "c")]));
        done.unwrap();
        let text = |path: &str| fs::read_to_string(directory.path().join("chart").join(path)).unwrap();
        assert_eq!((text("Chart.yaml"), text("charts/b/Chart.yaml")), ("a".to_owned(), "c".to_owned()));
    }

    #[test]
    fn an_archive_cannot_write_outside_and_what_is_none_is_named() {
        for path in ["../x", "web/../../x", "/etc/x"] {
            let (directory, done) = unpacked(&archive(&[(path, "x")]));
            let said = done.unwrap_err().to_string();
            assert!(said.contains("chart.tgz is no chart archive") && said.contains("leads out"), "{said}");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        }
        let (_directory, done) = unpacked(b"<html>");
        assert!(done.unwrap_err().to_string().contains("chart.tgz is no chart archive"));
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_copied_with_what_its_links_lead_to_and_a_circle_ends() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("templates")).unwrap();
        fs::create_dir_all(from.join(".git")).unwrap();
        fs::write(directory.path().join("values.yaml"), "v").unwrap();
        std::os::unix::fs::symlink("../values.yaml", from.join("values.yaml")).unwrap();
        fs::create_dir(&to).unwrap();
        into_directory(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("values.yaml")).unwrap(), "v");
        assert!(fs::symlink_metadata(to.join("values.yaml")).unwrap().is_file());
        assert!(!to.join(".git").exists());
        std::os::unix::fs::symlink("..", from.join("templates/up")).unwrap();
        let other = directory.path().join("other");
        fs::create_dir(&other).unwrap();
        assert!(into_directory(&from, &other).unwrap_err().to_string().contains("deep"));
    }
}
