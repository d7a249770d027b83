//! What others packed, as contents of an image.

use std::io::Read;
use std::path::{Component, Path};

use tar::EntryType;

use super::{Archive, Content, Entry};
use crate::error::{Error, Result};

impl Archive {
    /// What is in a stream of tar, where `wanted` wants its path (without a slash before it). All of it belongs to root, and
    /// no program runs as its owner. Devices are left out.
    ///
    /// # Errors
    /// When the stream breaks off, or has a hard link to what is not there.
    pub fn unpack(&mut self, stream: impl Read, wanted: &dyn Fn(&str) -> bool) -> Result<&mut Self> {
        let mut stream = tar::Archive::new(stream);
        for entry in stream.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let path = inside(&entry.path().map_err(failed)?);
            if path.is_empty() || !wanted(&path) {
                continue;
            }
            let mode = entry.header().mode().map_err(failed)? & 0o1777;
            if let Some(content) = self.content(&mut entry, &path)? {
                self.entry(&path, Entry { mode, owner: 0, content });
            }
        }
        Ok(self)
    }

    /// None: it is left out.
    fn content(&self, entry: &mut tar::Entry<'_, impl Read>, path: &str) -> Result<Option<Content>> {
        let target = entry.link_name().map_err(failed)?.unwrap_or_default().into_owned();
        Ok(match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content).map_err(failed)?;
                Some(Content::File(content))
            }
            EntryType::Link => {
                let known = self.entries.get(&inside(&target)).map(|known| known.content.clone());
                let missing = || format!("{path} is a link to {}, which is not there", target.display());
                Some(known.ok_or_else(|| Error::Other(missing()))?)
            }
            EntryType::Symlink => Some(Content::Link(target.to_string_lossy().into_owned())),
            // One that is a link to another stays that.
            EntryType::Directory if !self.entries.contains_key(path) => Some(Content::Directory),
            _ => None,
        })
    }
}

/// For `map_err`.
#[expect(clippy::needless_pass_by_value, reason = "that gives it away")]
fn failed(error: std::io::Error) -> Error {
    Error::Other(format!("a package cannot be read: {error}"))
}

/// A path from the root of what was packed; nothing leads out of that.
fn inside(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: EntryType, mode: u32, size: u64) -> tar::Header {
        let mut header = super::super::header(mode, 1000);
        header.set_entry_type(kind);
        header.set_size(size);
        header
    }

    /// As dpkg-deb writes packages.
    fn package() -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_data(&mut header(EntryType::Directory, 0o755, 0), "./", std::io::empty()).unwrap();
        tar.append_data(&mut header(EntryType::Directory, 0o755, 0), "./bin/", std::io::empty()).unwrap();
        tar.append_data(&mut header(EntryType::Regular, 0o4755, 3), "./usr/bin/su", &b"elf"[..]).unwrap();
        tar.append_link(&mut header(EntryType::Link, 0o755, 0), "./usr/bin/sg", "./usr/bin/su").unwrap();
        tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), "./bin/sh", "dash").unwrap();
        tar.append_data(&mut header(EntryType::Regular, 0o644, 2), "./usr/share/doc/a", &b"no"[..]).unwrap();
        tar.append_data(&mut header(EntryType::Char, 0o666, 0), "./dev/null", std::io::empty()).unwrap();
        tar.into_inner().unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<Archive> {
        let mut image = Archive::new("x:1");
        image.unpack(bytes, &|path| !path.starts_with("usr/share/doc/"))?;
        Ok(image)
    }

    #[test]
    fn files_links_and_directories_are_there_and_what_is_not_wanted_and_devices_are_not() {
        let image = unpacked(&package()).unwrap();
        let paths: Vec<&str> = image.entries.keys().map(String::as_str).collect();
        assert_eq!(paths, ["bin", "bin/sh", "usr", "usr/bin", "usr/bin/sg", "usr/bin/su"]);
        let content = |path: &str| match &image.entries[path].content {
            Content::File(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Link(target) => format!("-> {target}"),
            Content::Directory => "/".to_owned(),
        };
        assert_eq!([content("usr/bin/sg"), content("bin/sh"), content("bin")], ["elf", "-> dash", "/"]);
    }

    #[test]
    fn no_program_runs_as_its_owner_and_all_belongs_to_root() {
        let image = unpacked(&package()).unwrap();
        assert_eq!((image.entries["usr/bin/su"].mode, image.entries["usr/bin/su"].owner), (0o755, 0));
    }

    #[test]
    fn a_directory_that_is_a_link_already_stays_one() {
        let mut image = Archive::new("x:1");
        image.link("/bin", "usr/bin");
        image.unpack(package().as_slice(), &|path| path == "bin").unwrap();
        assert!(matches!(&image.entries["bin"].content, Content::Link(target) if target == "usr/bin"));
    }

    #[test]
    fn a_stream_that_breaks_off_and_a_link_to_nothing_are_errors() {
        let whole = package();
        let file_is_cut = whole.get(..5 * 512 + 1).unwrap();
        assert!(unpacked(file_is_cut).is_err());
        let mut image = Archive::new("x:1");
        let error = image.unpack(whole.as_slice(), &|path| path != "usr/bin/su").map(drop).unwrap_err();
        assert!(error.to_string().contains("usr/bin/sg"), "{error}");
    }
}
