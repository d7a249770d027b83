//! The values a person gives (Helm's `pkg/cli/values`).

use helm_chart::strvals::{self, Style};
use helm_chart::values::merge_maps;
use helm_chart::yaml::load_values;
use helm_template::{Map, Value};
use pilothouse_sdk::{AssetError, Host};

use super::options::ValuesOptions;

/// Files first, then what `--set` and its sisters say, each kind in the order given.
pub(super) fn merged(host: &dyn Host, options: &ValuesOptions) -> Result<Map, String> {
    let mut values = Map::new();
    for file in &options.files {
        let data = content(host, &file.asset)?;
        let read = load_values(&data).map_err(|error| format!("failed to parse {}: {error}", file.name))?;
        values = merge_maps(&values, &read);
    }
    for line in &options.set_json {
        values = set_json(line, values)?;
    }
    let set = |lines: &[String], flag: &str, style: fn() -> Style<'static>| {
        let failed = |error| format!("failed parsing {flag} data: {error}");
        lines.iter().try_for_each(|line| strvals::parse_into(line, style(), &values).map_err(failed))
    };
    set(&options.set, "--set", || Style::Typed)?;
    set(&options.set_string, "--set-string", || Style::String)?;
    for line in &options.set_file {
        let mut read = |path: &str| content(host, &format!("set-file:{path}"));
        strvals::parse_into(line, Style::File(&mut read), &values)
            .map_err(|error| format!("failed parsing --set-file data: {error}"))?;
    }
    set(&options.set_literal, "--set-literal", || Style::Literal)?;
    Ok(values)
}

/// A whole object, or `path=JSON`.
fn set_json(line: &str, values: Map) -> Result<Map, String> {
    if !line.trim().starts_with('{') {
        strvals::parse_into(line, Style::Json, &values)
            .map_err(|_| format!("failed parsing --set-json data {line}"))?;
        return Ok(values);
    }
    let wrong = || format!("failed parsing --set-json data JSON: {line}");
    match helm_chart::json::parse(line.trim().as_bytes()) {
        Ok(Value::Map(map)) => Ok(merge_maps(&values, &map)),
        _ => Err(wrong()),
    }
}

/// The bytes of a file the person named.
fn content(host: &dyn Host, asset: &str) -> Result<Vec<u8>, String> {
    let files = host.asset_read(asset).map_err(|error| unreadable(asset, &error))?;
    Ok(files.into_iter().next().map(|file| file.content).unwrap_or_default())
}

/// In Go's words: `open PATH: no such file or directory`.
fn unreadable(asset: &str, error: &AssetError) -> String {
    match error {
        AssetError::Unreadable(text) if text.contains("No such file") => {
            let path =
                asset.strip_prefix("set-file:").or_else(|| text.split_once(": ").map(|(path, _)| path));
            format!("open {}: no such file or directory", path.unwrap_or(asset))
        }
        other => other.to_string(),
    }
}
