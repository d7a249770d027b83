//! An archive as a directory, as Helm unpacks it before it lints it (`chartutil.Expand`).

use super::Directory;
use crate::{archive::read_archive, go_path, metadata::Metadata, yaml};
use helm_template::fmt::quote;

impl Directory {
    /// The files of an archive. Helm unpacks it to a directory whose name nobody can know before; `path` is what messages
    /// say instead.
    ///
    /// # Errors
    /// Helm's words for an archive that is none, or that has no name to unpack it under.
    pub fn of_archive(path: &str, data: &[u8]) -> Result<Self, String> {
        let files = read_archive(data).map_err(|error| error.to_string())?;
        let unreadable = |error: &dyn std::fmt::Display| format!("cannot load Chart.yaml: {error}");
        let mut name = String::new();
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            let yaml = yaml::typed(&file.data).map_err(|error| unreadable(&error))?;
            name = Metadata::decode(yaml).map_err(|error| unreadable(&error))?.name;
        }
        let quoted = || quote(name.as_bytes());
        match &*name {
            "" => Err("chart name not specified".to_owned()),
            "." | ".." => Err(format!("chart name {} is not allowed", quoted())),
            name if go_path::base(name) != name => {
                Err(format!("chart name {} must not contain path separators", quoted()))
            }
            _ => Ok(Self { path: path.to_owned(), files, empty: Vec::new() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn archive(chart_yaml: &str) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.set_size(chart_yaml.len() as u64);
        header.set_path("c/Chart.yaml").unwrap();
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, chart_yaml.as_bytes()).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&builder.into_inner().unwrap()).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn an_archive_becomes_the_directory_it_would_be_unpacked_to() {
        let directory = Directory::of_archive("/a.tgz", &archive("name: c\n")).unwrap();
        assert_eq!(directory.path, "/a.tgz");
        assert_eq!(directory.files[0].name, "Chart.yaml");
    }

    #[test]
    fn an_archive_without_a_name_to_unpack_it_under_is_refused() {
        for (chart_yaml, want) in [
            ("version: 1.0.0\n", "chart name not specified"),
            ("name: ..\n", "chart name \"..\" is not allowed"),
            ("name: a/b\n", "chart name \"a/b\" must not contain path separators"),
            (
                "name: [a]\n",
                "cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .name of type string",
            ),
        ] {
            assert_eq!(Directory::of_archive("", &archive(chart_yaml)).unwrap_err(), want);
        }
        assert_eq!(Directory::of_archive("", b"text").unwrap_err(), "unexpected EOF");
    }
}
