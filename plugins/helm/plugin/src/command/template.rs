//! `template`: a chart rendered without installing it (Helm's `pkg/cmd/template.go`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use helm_chart::log::line;
use helm_chart::template::{self, TemplateError};
use helm_chart::{Capabilities, Chart, KubeVersion, ParsedChart, Rules};
use pilothouse_sdk::{CommandAnswer, CommandFile, Host, Kube};

use super::options::{PostRenderer, TemplateOptions};
use super::{chart, post_render, server, values};
use crate::kinds::Kinds;
use crate::lookup::ClusterLookup;

/// Renders and prints.
pub(super) fn template(
    host: &Rc<dyn Host>,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    if matches!(asked.post_renderer, Some(PostRenderer::Output | PostRenderer::Failed(_))) {
        return post_render::output(Rc::clone(host), asked, answer);
    }
    let mut options = options(asked)?;
    let rules: Rules = asked.compat.into();
    if asked.debug && rules == Rules::Helm4 {
        debug(asked, answer);
    }
    let values = values::merged(&**host, &asked.values)?;
    let chart = chart::load_as(&**host, &asked.chart, rules, answer)?;
    let cluster = if asked.server { Some(cluster(Rc::clone(host), rules, &mut options)?) } else { None };
    if chart.metadata.deprecated {
        answer.messages.push(match rules {
            Rules::Helm3 => "WARNING: This chart is deprecated".to_owned(),
            Rules::Helm4 => line("WARN", b"this chart is deprecated", &[]),
        });
    }
    // The instance ends with the command, and all its memory at once.
    let chart = ParsedChart::new(chart);
    let mut remarks = Vec::new();
    let files = template::render_files(&chart, &values, &options, &mut remarks);
    if cluster.is_some() {
        let charts = files.as_ref().map_or(chart.chart(), |files| &files.chart);
        tell_of_cluster(charts, asked, answer);
    }
    if let (Some(PostRenderer::Input), Ok(files)) = (&asked.post_renderer, &files)
        && rules == Rules::Helm4
    {
        chart::tell(&remarks, asked.debug, rules, answer);
        return post_render::input(files, &options, asked, answer);
    }
    let rendered = files.and_then(|files| Ok(files.sort(&mut remarks)?));
    chart::tell(&remarks, asked.debug, rules, answer);
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error) => {
            if asked.debug && matches!(&error, TemplateError::Render { error } if error.after_release()) {
                answer.output = template::invalid(&chart, &values, &options).into_bytes();
            }
            return Err(failed(&error, asked.debug, answer));
        }
    };
    if asked.post_renderer.is_some() {
        return post_render::input_of_helm3(&rendered, &options, asked, answer);
    }
    if let Some((kube, kinds)) = &cluster {
        let manifest = template::manifest(&rendered, &options);
        server::check(kube, kinds, &manifest, &options.release_name, asked)?;
    }
    match &asked.output_dir {
        None => {
            let printed = template::printed(&rendered, &options).map_err(|error| error.to_string())?;
            answer.output = printed.into_bytes();
            again(&**host, &chart, asked, &options, answer)
        }
        Some(directory) => {
            let files = template::files(&rendered, &options);
            write(directory, files, &options, "", asked, answer)
        }
    }
}

/// Renders the chart with other values.
fn again(
    host: &dyn Host,
    chart: &ParsedChart,
    asked: &TemplateOptions,
    options: &template::TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    for values in &asked.again {
        let values = values::merged(host, values)?;
        let rendered = template::render_with_remarks(chart, &values, options, &mut Vec::new())
            .map_err(|error| failed(&error, asked.debug, answer))?;
        let printed = template::printed(&rendered, options).map_err(|error| error.to_string())?;
        answer.output.extend_from_slice(printed.as_bytes());
    }
    Ok(())
}

pub(super) fn options(asked: &TemplateOptions) -> Result<template::TemplateOptions, String> {
    let kube_version = match asked.kube_version.as_str() {
        "" => None,
        text => Some(
            KubeVersion::parse(text).map_err(|error| format!("invalid kube version '{text}': {error}"))?,
        ),
    };
    let release_name = match asked.name_template.as_str() {
        "" => asked.release_name.clone(),
        text => template::release_name(text)?,
    };
    Ok(template::TemplateOptions {
        release_name,
        namespace: asked.namespace.clone(),
        kube_version,
        api_versions: asked.api_versions.clone(),
        include_crds: asked.include_crds,
        no_hooks: asked.no_hooks,
        skip_tests: asked.skip_tests,
        show_only: asked.show_only.clone(),
        is_upgrade: asked.is_upgrade,
        skip_schema_validation: asked.skip_schema_validation,
        debug: asked.debug,
        ..template::TemplateOptions::default()
    })
}

/// Lets a rendering see the cluster.
pub(super) fn cluster(
    host: Rc<dyn Host>,
    rules: Rules,
    options: &mut template::TemplateOptions,
) -> Result<(Kube, Rc<Kinds>), String> {
    let kube = Kube::new(host).live();
    let kinds = Rc::new(Kinds::read(&kube).map_err(|error| unreachable(&error))?);
    let mut capabilities = kinds.capabilities(&kube).map_err(|error| unreachable(&error))?;
    capabilities.helm_version = Capabilities::offline(rules).helm_version;
    options.capabilities = Some(capabilities);
    // The cluster knows its version, and what it serves.
    options.kube_version = None;
    options.api_versions.clear();
    options.lookup = Some(Rc::new(ClusterLookup::unnoted(kube.clone(), Rc::clone(&kinds))));
    Ok((kube, kinds))
}

/// What Helm logs when it may look at a cluster.
fn tell_of_cluster(chart: &Chart, asked: &TemplateOptions, answer: &mut CommandAnswer) {
    if !asked.skip_crds && !chart.crds().is_empty() {
        let text =
            b"This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.";
        answer.messages.push(line("WARN", text, &[]));
    }
    if asked.debug && !asked.api_versions.is_empty() {
        let text = "API Version list given outside of client only mode, this list will be ignored";
        chart::tell_debug(text, &[], answer);
    }
}

/// What Helm logs before it reads a chart.
fn debug(asked: &TemplateOptions, answer: &mut CommandAnswer) {
    chart::tell_debug("Original chart version", &[("version", &asked.chart.version)], answer);
    if asked.chart.version.is_empty() && asked.chart.devel {
        chart::tell_debug("setting version to >0.0.0-0", &[], answer);
    }
    chart::tell_debug("Chart path", &[("path", &asked.chart.name)], answer);
}

fn unreachable(error: &pilothouse_sdk::Error) -> String {
    format!("cluster reachability check failed: {error}")
}

pub(super) fn failed(error: &TemplateError, debug: bool, answer: &mut CommandAnswer) -> String {
    let text = error.to_string();
    if let TemplateError::ReleaseName(_) = error {
        let why = text.trim_start_matches(CHECK).as_bytes();
        answer.messages.push(line("ERROR", b"release name check failed", &[("error", why)]));
    }
    if debug { text.replace(HINT, "") } else { text }
}

const CHECK: &str = "release name check failed: ";
const HINT: &str = "\n\nUse --debug flag to render out invalid YAML";

/// Documents as files, and a line for each that says so; `text` is printed behind them.
pub(super) fn write(
    directory: &str,
    documents: impl Iterator<Item = (String, String)>,
    options: &template::TemplateOptions,
    text: &str,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    if let Some(pattern) = options.show_only.first() {
        return Err(TemplateError::NotInChart(pattern.clone()).to_string());
    }
    let (mut told, mut order) = (String::new(), Vec::new());
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (path, document) in documents {
        let path = if asked.release_name_dir { format!("{}/{path}", options.release_name) } else { path };
        let _ = writeln!(told, "wrote {}", joined(directory, &path));
        match texts.get_mut(&path) {
            Some(text) => text.push_str(&document),
            None => {
                order.push(path.clone());
                texts.insert(path, document);
            }
        }
    }
    let _ = writeln!(told, "{text}");
    let file =
        |path: String| texts.remove(&path).map(|text| CommandFile { content: text.into_bytes(), path });
    answer.files = order.into_iter().filter_map(file).collect();
    answer.output = told.into_bytes();
    Ok(())
}

/// Go's `filepath.Join`, for a directory that is shown.
fn joined(directory: &str, path: &str) -> String {
    helm_chart::go_path::join(directory, path)
}
