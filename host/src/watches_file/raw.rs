//! Entries as they are written, with their places.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::chart::ChartKey;
use super::selector::LabelSelector;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Raw {
    #[serde(default)]
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) chart: ChartKey,
    pub(super) watch_dependent_resources: Option<bool>,
    #[serde(default)]
    pub(super) override_values: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) selector: LabelSelector,
    pub(super) reconcile_period: Option<String>,
    pub(super) dry_run_option: Option<String>,
    pub(super) max_history: Option<u64>,
    pub(super) hook_timeout: Option<String>,
    pub(super) service_account_name: Option<String>,
    // What the plugin understands; it says what it does not.
    pub(super) release: Option<Value>,
    // A key of helm-operator-plugins.
    pub(super) max_concurrent_reconciles: Option<usize>,
}

/// Keys that operator-sdk does not have. Whoever misspells one relies on it, where a strange key of an older tool never counted.
const OURS: [&str; 5] =
    ["hookTimeout", "maxConcurrentReconciles", "maxHistory", "release", "serviceAccountName"];
const OPERATOR_SDK: [&str; 9] = [
    "chart",
    "dryRunOption",
    "group",
    "kind",
    "overrideValues",
    "reconcilePeriod",
    "selector",
    "version",
    "watchDependentResources",
];

/// An entry with its first line, counted from one.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) line: u64,
    pub(super) entry: Result<Raw, Wrong>,
    /// Keys that nobody reads.
    pub(super) ignored: Vec<Wrong>,
}

/// What is wrong in an entry, and where; lines and columns are counted from one.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: String,
}

/// The entries of a file. Where the file as a whole is wrong, each top-level item is read by itself.
pub(super) fn entries(text: &str) -> Vec<Written> {
    let chunks = chunks(text);
    // One entry may use what another one anchored.
    if let (Ok(raws), mut ignored) = read::<Vec<Raw>>(text)
        && raws.len() == chunks.len()
    {
        let of = |index: usize| {
            let (mine, others) =
                std::mem::take(&mut ignored).into_iter().partition(|path| path.entry == index);
            ignored = others;
            mine
        };
        let ignored: Vec<Vec<Ignored>> = (0..raws.len()).map(of).collect();
        let parts = chunks.iter().zip(raws).zip(ignored);
        return parts.map(|((chunk, raw), ignored)| written(chunk, raw, &ignored)).collect();
    }
    chunks.iter().map(alone).collect()
}

/// Reads one entry by itself.
fn alone(chunk: &Chunk) -> Written {
    // Empty lines before it keep the line numbers of messages true.
    let padded = format!("{}{}", "\n".repeat(chunk.index), chunk.text);
    match read::<Vec<Raw>>(&padded) {
        (Ok(mut raws), ignored) if raws.len() == 1 => match raws.pop() {
            Some(raw) => written(chunk, raw, &ignored),
            None => wrong(chunk, "no entry".to_owned()),
        },
        (Ok(_), _) => wrong(chunk, "it is no list of entries, each beginning with `- `".to_owned()),
        (Err(error), ignored) => {
            let place = error.location().map_or((chunk.line(), 1), |place| (place.line(), place.column()));
            let mut message = first_words(&error.to_string());
            // What is missing is often there under a wrong name.
            let unknown = ignored.iter().map(|key| (chunk.place(&key.path), &key.path));
            let (place, unknown) = unknown.fold((place, Vec::new()), |(_, mut keys), (place, key)| {
                keys.push(format!("{key:?}"));
                (place, keys)
            });
            if !unknown.is_empty() {
                message = format!("{message}; unknown: {}", unknown.join(", "));
            }
            let entry = Err(Wrong { line: place.0, column: place.1, message });
            Written { line: chunk.line(), entry, ignored: Vec::new() }
        }
    }
}

fn wrong(chunk: &Chunk, message: String) -> Written {
    let line = chunk.line();
    Written { line, entry: Err(Wrong { line, column: 1, message }), ignored: Vec::new() }
}

fn written(chunk: &Chunk, raw: Raw, ignored: &[Ignored]) -> Written {
    let line = chunk.line();
    let mut told = Vec::new();
    for Ignored { path, .. } in ignored {
        let (line, column) = chunk.place(path.rsplit('.').next().unwrap_or(path));
        if let Some(meant) = meant(path) {
            let message = format!("unknown key {path:?}: is it {meant:?}?");
            return Written { line, entry: Err(Wrong { line, column, message }), ignored: told };
        }
        told.push(Wrong { line, column, message: format!("unknown key {path:?}, ignored") });
    }
    Written { line, entry: Ok(raw), ignored: told }
}

/// The key that somebody meant: another spelling of one with capitals, which Go takes for the same, or a slip in one of ours.
fn meant(key: &str) -> Option<&'static str> {
    let same = |known: &&&'static str| known.eq_ignore_ascii_case(key);
    let near =
        |known: &&&'static str| strsim::damerau_levenshtein(known, key) <= 2 || is_shortened(known, key);
    OPERATOR_SDK.iter().chain(&OURS).find(same).or_else(|| OURS.iter().find(near)).copied()
}

/// `serviceAccount` for `serviceAccountName`: whoever writes it wants fewer rights, and must not get all.
fn is_shortened(known: &str, key: &str) -> bool {
    let (known, key) = (known.to_ascii_lowercase(), key.to_ascii_lowercase());
    key.len() >= 7 && (known.starts_with(&key) || key.starts_with(&known))
}

/// A key that was not read.
#[derive(Debug)]
struct Ignored {
    /// Of the entry, counted from zero.
    entry: usize,
    /// Below the entry, with dots.
    path: String,
}

fn read<R: for<'de> Deserialize<'de>>(text: &str) -> (Result<R, serde_saphyr::Error>, Vec<Ignored>) {
    let mut ignored = Vec::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |deserializer| {
        serde_ignored::deserialize(deserializer, |path| {
            let path = path.to_string();
            let (entry, path) = path.split_once('.').unwrap_or(("0", &path));
            ignored.push(Ignored { entry: entry.parse().unwrap_or(0), path: path.replace("?.", "") });
        })
    });
    (read, ignored)
}

/// The first line of a parser's message, without its picture of the source and its place, which is told apart.
fn first_words(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let after_place = line.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    after_place.map_or(line, |(_, words)| words).to_owned()
}

/// A top-level list item.
#[derive(Debug)]
struct Chunk {
    /// Of its first line.
    index: usize,
    text: String,
}

impl Chunk {
    fn line(&self) -> u64 {
        line_of(self.index)
    }

    /// Where a key stands for the first time.
    fn place(&self, key: &str) -> (u64, u64) {
        let starts = |line: &str| {
            let rest = line.trim_start_matches([' ', '-', '"', '\'']);
            let after = rest.strip_prefix(key)?.trim_start_matches(['"', '\'', ' ']);
            let is_key = after.starts_with(':');
            is_key.then(|| u64::try_from(line.len() - rest.len() + 1).unwrap_or(1))
        };
        let mut lines = self.text.lines().enumerate();
        let found = lines.find_map(|(index, line)| Some((line_of(self.index + index), starts(line)?)));
        found.unwrap_or((self.line(), 1))
    }
}

fn line_of(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1)
}

/// Top-level list items. A file of another form is one chunk.
fn chunks(text: &str) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("- ") || **line == "-")
        .map(|(i, _)| i)
        .collect();
    let head = lines.iter().take(starts.first().copied().unwrap_or(0));
    let plain_head =
        head.clone().all(|line| line.trim().is_empty() || line.starts_with('#') || line.starts_with("---"));
    if starts.is_empty() || !plain_head {
        let blank = lines
            .iter()
            .all(|line| line.trim().is_empty() || line.starts_with('#') || line.starts_with("---"));
        return if blank { Vec::new() } else { vec![Chunk { index: 0, text: text.to_owned() }] };
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| Chunk {
            index: *start,
            text: lines.get(*start..end).unwrap_or_default().join("\n"),
        })
        .collect()
}
