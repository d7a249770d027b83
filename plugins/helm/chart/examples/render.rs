//! Renders a chart directory or archive as `helm template` does, and says how long loading, the first and
//! further renderings took: `cargo run --release -p helm-chart --example render -- DIR [VALUES…]`.

use anyhow::{Context, Result, bail};
use helm_chart::{
    Chart, File, ParsedChart, TemplateOptions, load_archive, load_directory, template, values::merge_maps,
    yaml::load_values,
};
use helm_template::Map;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

const RUNS: u32 = 10;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { bail!("usage: render CHART [VALUES_FILE…]") };
    let mut values = Map::new();
    for file in arguments {
        let data = fs::read(&file).with_context(|| format!("cannot read {file}"))?;
        values = merge_maps(&values, &load_values(&data)?);
    }
    let files = Source::read(Path::new(&path))?;
    let started = Instant::now();
    let chart = ParsedChart::new(files.load()?);
    let load = started.elapsed();

    let options = TemplateOptions::default();
    let started = Instant::now();
    let output = template(&chart, &values, &options)?;
    let first = started.elapsed();
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let started = Instant::now();
        let again = template(&chart, &values, &options)?;
        best = best.min(started.elapsed());
        std::hint::black_box(again);
    }
    #[expect(clippy::print_stdout, reason = "this is what the program is for")]
    {
        print!("{output}");
    }
    #[expect(clippy::print_stderr, reason = "figures must not mix with the manifests")]
    {
        eprintln!(
            "load {:.2} ms, parse and render {:.2} ms, render again {:.2} ms (best of {RUNS}), {} bytes",
            milliseconds(load),
            milliseconds(first),
            milliseconds(best),
            output.len()
        );
    }
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

enum Source {
    Directory(Vec<File>),
    Archive(Vec<u8>),
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Ok(Self::Archive(fs::read(path)?));
        }
        let mut files = Vec::new();
        collect(path, "", &mut files).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::Directory(files))
    }

    fn load(&self) -> Result<Chart> {
        let mut warnings = Vec::new();
        Ok(match self {
            Self::Directory(files) => load_directory(files.clone(), &mut warnings)?,
            Self::Archive(data) => load_archive(data, &mut warnings)?,
        })
    }
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            files.push(File::new(name, fs::read(&path)?));
        }
    }
    Ok(())
}
