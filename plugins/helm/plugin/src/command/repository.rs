//! Which version of a chart is meant: among those of a repository's index, or among the tags of a registry (Helm's
//! `pkg/repo/v1/index.go` and `pkg/registry/tag.go`).

use std::borrow::Cow;

use helm_functions::semver::{Constraints, Version};
use helm_template::{Map, Value};
use helm_yaml::Duplicates;
use pilothouse_sdk::{CommandAnswer, Host};
use serde_json::json;

use super::options::{FindChartOptions, PickTagOptions};

/// Finds a chart's archive in an index: `{"url":…,"digest":…,"version":…}`.
pub(super) fn find_chart(
    host: &dyn Host,
    options: &FindChartOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let files = host.asset_read(&options.index).map_err(|error| error.to_string())?;
    let index = files.into_iter().next().map(|file| file.content).unwrap_or_default();
    let entries = entries(&index, &options.name)?;
    let mut entries: Vec<Entry> = entries.iter().filter_map(Entry::read).collect();
    // The newest first; what is no version last.
    entries.sort_by(|a, b| b.parsed.as_ref().map(order).cmp(&a.parsed.as_ref().map(order)));
    let (name, version) = (&options.name, &options.version);
    let found = pick(&entries, version, |entry| (&entry.version, entry.parsed.as_ref()))?;
    let entry = found.ok_or_else(|| format!("no chart version found for {name}-{version}"))?;
    if !version.is_empty() && entry.version != *version && !is_range(version) {
        let text = b"unable to find exact version requested; falling back to closest available version";
        let (name, version, selected) = (name.as_bytes(), version.as_bytes(), entry.version.as_bytes());
        let attributes = [("chart", name), ("requested", version), ("selected", selected)];
        answer.messages.push(helm_chart::log::line("WARN", text, &attributes));
    }
    let url = entry.url.as_deref().ok_or_else(|| {
        let version = if version.is_empty() { String::new() } else { format!(" version {version:?}") };
        format!("chart {name:?}{version} has no downloadable URLs")
    })?;
    let found = json!({"url": url, "digest": entry.digest, "version": entry.version});
    answer.output = found.to_string().into_bytes();
    Ok(())
}

/// Picks a tag.
pub(super) fn pick_tag(options: &PickTagOptions, answer: &mut CommandAnswer) -> Result<(), String> {
    // A tag cannot hold the plus of a version.
    let tags: Vec<_> = options.tags.iter().map(|tag| tag.replace('_', "+")).collect();
    let mut tags: Vec<_> =
        tags.into_iter().filter_map(|tag| Some((Version::parse(&tag).ok()?, tag))).collect();
    tags.sort_by(|(a, _), (b, _)| b.compare(a));
    let version = &options.version;
    let found = pick(&tags, version, |(parsed, tag)| (tag, Some(parsed)))?;
    let (_, tag) = found
        .ok_or_else(|| format!("could not locate a version matching provided version string {version}"))?;
    answer.output = tag.clone().into_bytes();
    Ok(())
}

/// The one that is named exactly, else the first that fits.
fn pick<'a, T>(
    all: &'a [T],
    version: &str,
    of: impl Fn(&'a T) -> (&'a String, Option<&'a Version>),
) -> Result<Option<&'a T>, String> {
    let constraint = if version.is_empty() { "*" } else { version };
    let constraint = Constraints::parse(constraint).map_err(|error| error.to_string())?;
    let exact = all.iter().find(|&one| of(one).0 == version);
    let fitting = || all.iter().find(|&one| of(one).1.is_some_and(|version| constraint.check(version)));
    Ok(exact.or_else(fitting))
}

fn is_range(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    version.contains(['^', '~', '<', '>', '=', '!', '*'])
        || version.contains("||")
        || version.contains(" - ")
        || core.contains(['x', 'X'])
}

/// A version of a chart in an index.
struct Entry {
    version: String,
    parsed: Option<Version>,
    url: Option<String>,
    digest: String,
}

/// Versions in their order.
struct Ordered<'a>(&'a Version);

fn order(version: &Version) -> Ordered<'_> {
    Ordered(version)
}

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.compare(other.0)
    }
}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered<'_> {}

impl Entry {
    fn read(entry: &Value) -> Option<Self> {
        let Value::Map(entry) = entry else { return None };
        let text = |key: &str| entry.get(key).and_then(|value| value.as_string().map(ToString::to_string));
        let version = text("version")?;
        let url = match entry.get("urls") {
            Some(Value::List(urls)) => {
                urls.iter().next().and_then(|url| url.as_string().map(ToString::to_string))
            }
            _ => None,
        };
        Some(Self {
            parsed: Version::parse(&version).ok(),
            version,
            url,
            digest: text("digest").unwrap_or_default(),
        })
    }
}

/// What an index holds about one chart.
fn entries(index: &[u8], name: &str) -> Result<Vec<Value>, String> {
    let part = part(index, name).map_or(Cow::Borrowed(index), Cow::Owned);
    let index = helm_yaml::from_yaml_map(&part, Duplicates::LastWins).map_err(|error| error.to_string())?;
    let found = match index.get("entries") {
        Some(Value::Map(entries)) => Map::get(&entries, name),
        _ => None,
    };
    match found {
        Some(Value::List(versions)) if !versions.is_empty() => Ok(versions.iter().cloned().collect()),
        Some(_) => Err("no chart version found".to_owned()),
        None => Err("no chart name found".to_owned()),
    }
}

/// The lines of an index that are about one chart, as an index of their own: indexes of tens of megabytes are common, and
/// all tools write them alike. None where this one is written otherwise.
fn part(index: &[u8], name: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(index).ok()?;
    let start = text.find("\nentries:\n")? + 1;
    let entries = text.get(start..)?;
    let head = format!("\n  {name}:\n");
    let own = entries.find(&head)? + 1;
    let body = entries.get(own..)?;
    let mut end = body.find('\n')? + 1;
    for line in body.get(end..)?.split_inclusive('\n') {
        let inside = line.starts_with("  -") || line.starts_with("   ") || line.trim().is_empty();
        if !inside {
            break;
        }
        end += line.len();
    }
    Some(format!("entries:\n{}", body.get(..end)?).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "apiVersion: v1\nentries:\n  web-more:\n  - version: 9.9.9\n  web:\n  - version: 1.0.0\n    urls: [a]\n\
                         \x20   description: |\n      two\n\n      lines\n  - version: 1.2.0-rc.1\n  - version: 1.1.0\n    urls: [b]\n\
                         \x20   digest: d\n  zoo:\n  - version: 3.0.0\ngenerated: x\n";

    fn found(name: &str, version: &str) -> Result<String, String> {
        let entries = entries(INDEX.as_bytes(), name)?;
        let mut entries: Vec<Entry> = entries.iter().filter_map(Entry::read).collect();
        entries.sort_by(|a, b| b.parsed.as_ref().map(order).cmp(&a.parsed.as_ref().map(order)));
        let found = pick(&entries, version, |entry| (&entry.version, entry.parsed.as_ref()))?;
        found.map(|entry| entry.version.clone()).ok_or_else(|| "none".to_owned())
    }

    #[test]
    fn the_newest_stable_version_is_meant_unless_a_version_or_a_range_is_named() {
        assert_eq!(found("web", "").unwrap(), "1.1.0");
        assert_eq!(found("web", "~1.0").unwrap(), "1.0.0");
        assert_eq!(found("web", "1.2.0-rc.1").unwrap(), "1.2.0-rc.1");
        assert_eq!(found("web", ">0.0.0-0").unwrap(), "1.2.0-rc.1");
        assert_eq!(found("web", "2.x").unwrap_err(), "none");
        assert_eq!(found("we", "").unwrap_err(), "no chart name found");
        assert!(found("web", "nonsense").is_err());
    }

    #[test]
    fn only_the_lines_about_the_chart_are_read() {
        let part = String::from_utf8(part(INDEX.as_bytes(), "web").unwrap()).unwrap();
        assert!(part.starts_with("entries:\n  web:\n  - version: 1.0.0\n"), "{part}");
        assert!(part.contains("lines") && !part.contains("9.9.9") && !part.contains("zoo"), "{part}");
        let json = br#"{"entries":{"web":[{"version":"1.0.0"}]}}"#;
        assert!(self::part(json, "web").is_none());
        assert_eq!(entries(json, "web").unwrap().len(), 1);
    }
}
