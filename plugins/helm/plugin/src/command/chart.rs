//! A chart out of an asset.

use std::iter::Peekable;

use helm_chart::ignore::{HELM_IGNORE, IgnoreRules};
use helm_chart::loader::load_kept;
use helm_chart::log::{Level, Remark};
use helm_chart::{Chart, File, LoadError, Rules, load_archive};
use pilothouse_sdk::{AssetEntry, AssetFile, CommandAnswer, Host};

use super::options::NamedChart;

/// Bytes of files that are asked for at once, unless one alone is larger.
const BATCH: u64 = 1 << 20;
/// Bytes of memory that are asked for beforehand.
const MOST_RESERVED: usize = 16 << 20;

/// Loads a chart; what is odd about it becomes messages.
pub(super) fn load(host: &dyn Host, chart: &NamedChart, answer: &mut CommandAnswer) -> Result<Chart, String> {
    load_as(host, chart, Rules::default(), answer)
}

/// Loads a chart that is rendered by somebody's rules.
pub(super) fn load_as(
    host: &dyn Host,
    chart: &NamedChart,
    rules: Rules,
    answer: &mut CommandAnswer,
) -> Result<Chart, String> {
    let mut warnings = Vec::new();
    let chart = if chart.directory {
        load_kept(directory(host, chart)?, &mut warnings).map_err(|error| error.to_string())
    } else {
        let data = archive(host, chart)?;
        load_archive(&data, &mut warnings).map_err(|error| not_an_archive(&chart.name, &data, &error))
    };
    tell(&warnings, false, rules, answer);
    Ok(chart?.with_rules(rules))
}

/// Tells what Helm logs; what helps to find an error only to who asked for it.
pub(super) fn tell(remarks: &[Remark], debug: bool, rules: Rules, answer: &mut CommandAnswer) {
    let told = remarks.iter().filter(|remark| debug || remark.level() > Level::Debug);
    match rules {
        Rules::Helm4 => answer.messages.extend(told.map(Remark::line)),
        Rules::Helm3 => answer.messages.extend(told.filter_map(Remark::line_of_helm3)),
    }
}

/// What Helm logs for who looks for an error.
pub(super) fn tell_debug(message: &str, attributes: &[(&'static str, &str)], answer: &mut CommandAnswer) {
    answer.messages.push(Remark::new(Level::Debug, message, attributes).line());
}

/// The archive's bytes.
fn archive(host: &dyn Host, chart: &NamedChart) -> Result<Vec<u8>, String> {
    let files = host.asset_read(&chart.asset).map_err(|error| error.to_string())?;
    Ok(files.into_iter().next().map(|file| file.content).unwrap_or_default())
}

/// The files of a directory that `.helmignore` leaves.
fn directory(host: &dyn Host, chart: &NamedChart) -> Result<Vec<File>, String> {
    let text = |error: pilothouse_sdk::AssetError| error.to_string();
    let entries = host.asset_list(&chart.asset).map_err(text)?;
    reserve(entries.iter().map(|entry| entry.size).sum());
    let rules = rules(host, &chart.asset, &entries)?;
    let mut ignored = rules.files();
    let mut wanted = entries.into_iter().filter(|entry| !ignored.ignores(&entry.path)).peekable();
    let mut files = Vec::new();
    while wanted.peek().is_some() {
        let read = host.asset_read_files(&chart.asset, &batch(&mut wanted)).map_err(text)?;
        files.extend(read.into_iter().map(|AssetFile { path, content }| File::new(path, content)));
    }
    Ok(files)
}

/// Makes the memory grow at once by what a chart of this size usually takes: each time it grows is a call of the host. What
/// is not touched of it costs nothing.
fn reserve(bytes: u64) {
    let wanted = usize::try_from(bytes).unwrap_or(MOST_RESERVED).saturating_mul(3).min(MOST_RESERVED);
    let mut room = Vec::<u8>::new();
    // Where that much is not to be had, less may do.
    let _ = room.try_reserve_exact(wanted);
    drop(std::hint::black_box(room));
}

/// The paths of as many files as one answer shall hold: the host has each answer in memory while it hands it over.
fn batch(entries: &mut Peekable<impl Iterator<Item = AssetEntry>>) -> Vec<String> {
    let (mut paths, mut bytes) = (Vec::new(), 0_u64);
    while let Some(entry) = entries.next_if(|entry| paths.is_empty() || bytes + entry.size <= BATCH) {
        bytes += entry.size;
        paths.push(entry.path);
    }
    paths
}

/// What `.helmignore` says.
pub(super) fn rules(host: &dyn Host, asset: &str, entries: &[AssetEntry]) -> Result<IgnoreRules, String> {
    let mut rules = IgnoreRules::default();
    if entries.iter().any(|entry| entry.path == HELM_IGNORE) {
        let files = host.asset_read_files(asset, &[HELM_IGNORE.to_owned()]);
        for file in files.map_err(|error| error.to_string())? {
            rules = IgnoreRules::parse(&String::from_utf8_lossy(&file.content)).map_err(|e| e.to_string())?;
        }
    }
    rules.add_defaults().map_err(|error| error.to_string())?;
    Ok(rules)
}

/// `ensureArchive` of Helm's loader.
fn not_an_archive(name: &str, data: &[u8], error: &LoadError) -> String {
    if helm_chart::archive::is_gzip(data) {
        return match error {
            LoadError::Unreadable(_) => "unable to load chart archive".to_owned(),
            other => other.to_string(),
        };
    }
    if name.ends_with(".yml") || name.ends_with(".yaml") {
        return format!("file '{name}' seems to be a YAML file, but expected a gzipped archive");
    }
    format!("file '{name}' does not appear to be a gzipped archive; got '{}'", content_type(data))
}

/// The part of Go's `http.DetectContentType` that a file mistaken for a chart is likely to need.
fn content_type(data: &[u8]) -> &'static str {
    let binary = |byte: &u8| matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    // Helm looks at a buffer of this size, whatever was read into it.
    const BUFFER: usize = 512;
    let start = data.get(..BUFFER).unwrap_or(data);
    match start {
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        _ if data.len() < BUFFER || start.iter().any(binary) => "application/octet-stream",
        _ => "text/plain; charset=utf-8",
    }
}
