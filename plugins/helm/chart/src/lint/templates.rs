//! The rules for templates and what they write (`rules/template.go`).

use super::{
    LintSettings, Linter,
    Severity::{Error, Warning},
    documents::Documents,
    ensure, lifecycle,
    object::{self, Object},
};
use crate::{
    capabilities::{Capabilities, KubeVersion},
    chart::Chart,
    coalesce::Warnings,
    engine::{self, RenderSettings},
    go_path,
    release::Release,
};
use helm_template::{Map, fmt::quote};
use std::collections::HashMap;

const DIRECTORY: &str = "templates/";
/// Go's `bufio.MaxScanTokenSize`.
const LONGEST_LINE: usize = 64 * 1024;

impl Linter<'_> {
    pub(super) fn templates(&mut self, values: &Map, settings: &LintSettings) {
        let is_file = self.directory.file("templates").is_some();
        let is_there = is_file || self.directory.is_directory("templates");
        if !self.rule(Warning, DIRECTORY, ensure(is_there, || "directory does not exist".to_owned())) {
            return;
        }
        if !self.rule(Error, DIRECTORY, ensure(!is_file, || "not a directory".to_owned())) {
            return;
        }
        let Some(chart) = self.load_for(DIRECTORY) else { return };
        let kube_version =
            settings.kube_version.clone().unwrap_or_else(|| Capabilities::default().kube_version);
        match self.render(&chart, values, settings, &kube_version) {
            Ok(Some(written)) => {
                for template in chart.templates.iter() {
                    let path = go_path::join(chart.name(), &template.name);
                    let written = written.get(&path).map(Vec::as_slice).unwrap_or_default();
                    if !self.template(&template.name, written, &kube_version) {
                        return;
                    }
                }
            }
            Ok(None) => {}
            Err(text) => {
                self.rule(Error, DIRECTORY, Err(text));
            }
        }
    }

    /// What the templates wrote, by their full names.
    fn render(
        &mut self,
        chart: &Chart,
        values: &Map,
        settings: &LintSettings,
        kube_version: &KubeVersion,
    ) -> Result<Option<HashMap<String, Vec<u8>>>, String> {
        let mut how = RenderSettings::new(Release::install("test-release", &settings.namespace));
        how.capabilities.kube_version = kube_version.clone();
        how.skip_schema_validation = settings.skip_schema_validation;
        how.debug = settings.debug;
        let (how, log) = how.linting();
        let mut warnings = Warnings::new();
        let rendered = engine::lint(chart, values, &how, &mut warnings);
        self.remark(&warnings);
        self.report.log.append(&mut log.borrow_mut());
        let rendered = rendered.map_err(|error| error.to_string())?;
        Ok(rendered.map(|files| {
            files.into_iter().map(|(path, bytes)| (path, engine::strip_no_value(&bytes))).collect()
        }))
    }

    /// One template; whether to go on with the next.
    fn template(&mut self, name: &str, written: &[u8], kube_version: &KubeVersion) -> bool {
        self.rule(Error, name, extension(name));
        let is_yaml =
            [".yaml", ".yml"].iter().any(|yaml| go_path::extension(name).eq_ignore_ascii_case(yaml));
        if !is_yaml || String::from_utf8_lossy(written).trim().is_empty() {
            return true;
        }
        self.rule(Warning, name, top_indent(written));
        for document in Documents::new(written) {
            match document {
                Ok(Some(object)) => self.object(name, &object, written, kube_version),
                Ok(None) => {}
                Err(text) => {
                    self.rule(Error, name, Err(unparsable(&text)));
                    return false;
                }
            }
        }
        true
    }

    fn object(&mut self, name: &str, object: &Object, written: &[u8], kube_version: &KubeVersion) {
        self.rule(Warning, name, object.check_name());
        let deprecation = lifecycle::deprecation(&object.api_version, &object.kind, kube_version);
        self.rule(Warning, name, deprecation.map_or(Ok(()), Err));
        self.rule(Error, name, selector(object, written));
        self.rule(Error, name, list_annotations(object, written));
    }
}

/// How a document that cannot be read is reported.
pub(super) fn unparsable(text: &str) -> String {
    format!("unable to parse YAML: {text}")
}

fn extension(name: &str) -> Result<(), String> {
    let extension = go_path::extension(name);
    ensure([".yaml", ".yml", ".tpl", ".txt"].contains(&extension), || {
        format!("file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt")
    })
}

/// The first line that is not empty must not be indented.
fn top_indent(written: &[u8]) -> Result<(), String> {
    for line in written.split(|&byte| byte == b'\n') {
        ensure(line.len() < LONGEST_LINE, || "bufio.Scanner: token too long".to_owned())?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if String::from_utf8_lossy(line).trim().is_empty() {
            continue;
        }
        return ensure(!line.starts_with(b" ") && !line.starts_with(b"\t"), || {
            let line = quote(line);
            format!("document starts with an illegal indent: {line}, which may cause parsing problems")
        });
    }
    Ok(())
}

/// Workloads need a selector; Helm is content when the word stands anywhere in the file.
fn selector(object: &Object, written: &[u8]) -> Result<(), String> {
    let kind = &*object.kind;
    if !["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"].contains(&kind) {
        return Ok(());
    }
    let written = String::from_utf8_lossy(written);
    ensure(written.contains("matchLabels") || written.contains("matchExpressions"), || {
        let name = quote(object.name.as_bytes());
        format!("a {kind} must contain matchLabels or matchExpressions, and {name} does not")
    })
}

fn list_annotations(object: &Object, written: &[u8]) -> Result<(), String> {
    if object.kind != "List" {
        return Ok(());
    }
    let annotations = object::annotations_of_items(written).map_err(|text| unparsable(&text))?;
    let has_policy = annotations.iter().any(|map| map.contains_key("helm.sh/resource-policy"));
    ensure(!has_policy, || "annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned())
}
