//! `show`: what a chart brings with it (Helm's `pkg/action/show.go`).

use helm_chart::{Chart, File, json::to_value};
use helm_template::{Map, Value};
use pilothouse_sdk::{CommandAnswer, Host};

use super::chart;
use super::json_path::Template;
use super::options::{Part, ShowOptions};
use crate::chart_record;

/// Names a readme may have, in Helm's order.
const READMES: [&str; 3] = ["readme.md", "readme.txt", "readme"];

/// Shows it.
pub(super) fn show(host: &dyn Host, options: &ShowOptions, answer: &mut CommandAnswer) -> Result<(), String> {
    if options.debug {
        debug(options, answer);
    }
    let chart = chart::load(host, &options.chart, answer)?;
    let wanted = |part: Part| options.part == part || options.part == Part::All;
    let separate = options.part == Part::All;
    let mut out = Vec::new();
    if wanted(Part::Chart) {
        line(&mut out, &metadata(&chart)?);
    }
    if wanted(Part::Values) && chart.values.is_some() {
        if separate {
            line(&mut out, b"---");
        }
        match (&options.json_path, &chart.values) {
            (Some(template), Some(values)) => out.extend(filled(template, values)?),
            _ => {
                for file in chart.raw.iter().filter(|file| file.name == "values.yaml") {
                    line(&mut out, &file.data);
                }
            }
        }
    }
    if wanted(Part::Readme)
        && let Some(readme) = readme(&chart)
    {
        if separate {
            line(&mut out, b"---");
        }
        line(&mut out, &readme.data);
    }
    if wanted(Part::Crds) {
        for crd in chart.crds() {
            if !crd.file.data.starts_with(b"---") {
                line(&mut out, b"---");
            }
            line(&mut out, &crd.file.data);
        }
    }
    answer.output = out;
    Ok(())
}

/// What Helm logs before it reads a chart.
fn debug(options: &ShowOptions, answer: &mut CommandAnswer) {
    let chart = &options.chart;
    chart::tell_debug("original chart version", &[("version", &chart.version)], answer);
    if chart.version.is_empty() && chart.devel {
        chart::tell_debug("setting version to >0.0.0-0", &[], answer);
    }
}

/// What a template makes of the values.
fn filled(template: &str, values: &Map) -> Result<Vec<u8>, String> {
    let parsed =
        Template::parse(template).map_err(|error| format!("error parsing jsonpath {template}: {error}"))?;
    Ok(parsed.print(&Value::Map(values.clone())))
}

fn line(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn readme(chart: &Chart) -> Option<&File> {
    READMES.iter().find_map(|name| chart.files.iter().find(|file| file.name.eq_ignore_ascii_case(name)))
}

/// `Chart.yaml` as Helm writes it again.
fn metadata(chart: &Chart) -> Result<Vec<u8>, String> {
    let json = chart_record::metadata(&chart.metadata).map_err(|error| error.to_string())?;
    helm_yaml::to_yaml(&to_value(&json)).map_err(|error| error.to_string())
}
