//! Charts, parsed once for each digest and kept while the instance lives.

use std::rc::Rc;

use helm_chart::{Chart, File, ParsedChart, load_archive, load_directory};
use pilothouse_sdk::{AssetError, AssetFile, ChartArchive, Context, Error};

/// How many charts an instance keeps.
const MOST_CHARTS: usize = 16;
/// How many bytes of chart files an instance keeps parsed; one chart is always kept.
const MOST_BYTES: u64 = 24 << 20;

/// A parsed chart and what its text gives away.
#[derive(Debug)]
pub(crate) struct LoadedChart {
    /// The chart.
    pub(crate) parsed: ParsedChart,
    /// Digest of its files.
    pub(crate) digest: String,
    /// All texts in which a template may name something.
    texts: Vec<Rc<[u8]>>,
    size: u64,
}

impl LoadedChart {
    /// Name of the chart.
    pub(crate) fn name(&self) -> &str {
        self.parsed.chart().name()
    }

    /// The same chart, parsed in another way.
    pub(crate) fn parsed_as(&self, parsed: ParsedChart) -> Self {
        Self { parsed, digest: self.digest.clone(), texts: self.texts.clone(), size: self.size }
    }

    /// Whether some template, or a default value that may be one, holds these words.
    pub(crate) fn mentions(&self, words: &str) -> bool {
        self.texts.iter().any(|text| contains(text, words.as_bytes()))
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    let Some((first, _)) = words.split_first() else { return true };
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(words) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// The charts an instance keeps, the one used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Charts(Vec<Rc<LoadedChart>>);

/// Why a chart that was fetched cannot be used.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The host has no whole copy any more; it fetches another one.
    Lost(String),
    /// It is none, in Helm's words.
    NoChart(String),
}

impl Charts {
    /// The chart of an asset, parsed now or before.
    ///
    /// # Errors
    /// Permanent until the asset changes: no chart, in Helm's words.
    pub(crate) fn get(&mut self, ctx: &Context, asset: &str) -> Result<Rc<LoadedChart>, Error> {
        let tree =
            ctx.asset(asset).map_err(|error| Error::from(error).context(format_args!("chart {asset}")))?;
        if let Some(chart) = self.known(&tree.digest) {
            return Ok(chart);
        }
        let files = ctx
            .asset_files(asset)
            .map_err(|error| Error::from(error).context(format_args!("chart {asset}")))?;
        let chart = load(files).map_err(|error| {
            Error::permanent("InvalidChart", format!("failed to load chart {asset}: {error}"))
        })?;
        Ok(self.keep(chart, tree.digest, tree.size))
    }

    /// A chart that was fetched, parsed now or before.
    pub(crate) fn fetched(
        &mut self,
        ctx: &Context,
        archive: &ChartArchive,
    ) -> Result<Rc<LoadedChart>, LoadError> {
        if let Some(chart) = self.known(&archive.digest) {
            return Ok(chart);
        }
        let files = ctx.asset_files(&archive.asset).map_err(|error| match error {
            AssetError::TooLarge(why) => LoadError::NoChart(why),
            error => LoadError::Lost(error.to_string()),
        })?;
        let size = files.iter().map(|file| u64::try_from(file.content.len()).unwrap_or(u64::MAX)).sum();
        let chart = load(files).map_err(|error| LoadError::NoChart(error.to_string()))?;
        Ok(self.keep(chart, archive.digest.clone(), size))
    }

    fn known(&mut self, digest: &str) -> Option<Rc<LoadedChart>> {
        let at = self.0.iter().position(|chart| chart.digest == digest)?;
        let chart = self.0.remove(at);
        self.0.push(Rc::clone(&chart));
        Some(chart)
    }

    fn keep(&mut self, chart: Chart, digest: String, size: u64) -> Rc<LoadedChart> {
        let texts = texts(&chart);
        let chart = Rc::new(LoadedChart { texts, parsed: ParsedChart::new(chart), digest, size });
        self.0.push(Rc::clone(&chart));
        self.make_room();
        chart
    }

    fn make_room(&mut self) {
        let too_much = |charts: &[Rc<LoadedChart>]| {
            charts.len() > MOST_CHARTS || charts.iter().map(|chart| chart.size).sum::<u64>() > MOST_BYTES
        };
        while self.0.len() > 1 && too_much(&self.0) {
            self.0.remove(0);
        }
    }
}

/// A chart directory, or an archive that is the only file of its tree.
fn load(files: Vec<AssetFile>) -> Result<Chart, helm_chart::LoadError> {
    let mut warnings = Vec::new();
    if let [file] = files.as_slice()
        && file.content.starts_with(&[0x1f, 0x8b])
    {
        return load_archive(&file.content, &mut warnings);
    }
    let files = files.into_iter().map(|file| File::new(file.path, file.content)).collect();
    load_directory(files, &mut warnings)
}

fn texts(chart: &Chart) -> Vec<Rc<[u8]>> {
    let values = chart.raw.iter().filter(|file| file.name == "values.yaml");
    let own = chart.templates.iter().chain(values).map(|file| Rc::clone(&file.data));
    own.chain(chart.dependencies.iter().flat_map(texts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        for (text, words, found) in [
            ("{{ .Capabilities.APIVersions }}", ".Capabilities", true),
            ("aab", "ab", true),
            ("abc", "abcd", false),
            ("", "a", false),
            ("x", "", true),
        ] {
            assert_eq!(contains(text.as_bytes(), words.as_bytes()), found, "{text} {words}");
        }
    }
}
