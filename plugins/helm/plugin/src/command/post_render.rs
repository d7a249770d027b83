//! `--post-renderer`: manifests on their way through a program of the person's.
//!
//! A plugin runs nothing. The host asks for what the program shall read, runs it, and asks again with what it wrote. What
//! has to be known then is handed out as a file and comes back as an asset.

use std::rc::Rc;

use helm_chart::engine::{Rendered, RenderedFiles, append_document};
use helm_chart::manifest::{Sorted, sort_to_install};
use helm_chart::template::{self, TemplateError, TemplateOptions as Rendering};
use helm_chart::{RenderError, Rules, post_render};
use pilothouse_sdk::{CommandAnswer, CommandFile, Host};
use serde::{Deserialize, Serialize};

use super::options::{PostRenderer, TemplateOptions};
use super::template::{cluster, failed, options, write};
use super::{chart, server};

/// What the program wrote.
const OUTPUT: &str = "post-renderer:output";
/// What has to be known when it is done.
const REST: &str = "post-renderer:rest";

/// Paths and texts.
type Documents = Vec<(String, String)>;

/// What the program does not see.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    /// A template may have made it up.
    release_name: String,
    crds: Documents,
    /// With Helm 3, manifests that became files.
    manifests: Documents,
    /// With Helm 3, the hooks.
    hooks: Documents,
}

impl Rest {
    fn read(host: &dyn Host) -> Result<Self, String> {
        serde_json::from_slice(&asset(host, REST)?).map_err(|error| format!("{REST}: {error}"))
    }

    fn hand_out(&self, answer: &mut CommandAnswer) -> Result<(), String> {
        let content = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        answer.files = vec![CommandFile { path: REST.to_owned(), content }];
        Ok(())
    }
}

fn asset(host: &dyn Host, name: &str) -> Result<Vec<u8>, String> {
    let files = host.asset_read(name).map_err(|error| error.to_string())?;
    Ok(files.into_iter().next().map(|file| file.content).unwrap_or_default())
}

/// What the program shall read: everything, hooks as well.
pub(super) fn input(
    rendered: &RenderedFiles,
    options: &Rendering,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let merged = match post_render::merged(&rendered.files) {
        Ok(merged) => merged,
        Err(error) => return Err(failed_bare(&error.into(), asked, answer)),
    };
    answer.output = merged.into_bytes();
    let crds = rendered.chart.crds().into_iter().filter(|_| options.include_crds);
    let crds = crds.map(|crd| (crd.path, String::from_utf8_lossy(&crd.file.data).into_owned())).collect();
    Rest { release_name: options.release_name.clone(), crds, ..Rest::default() }.hand_out(answer)
}

/// What the program of Helm 3 shall read: the manifests as they would be printed, unless they become files.
pub(super) fn input_of_helm3(
    rendered: &Rendered,
    options: &Rendering,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let hooks = template::wanted_hooks(&rendered.hooks, options);
    let hooks = hooks.map(|hook| (hook.path.clone(), hook.manifest.clone())).collect();
    let mut rest = Rest { release_name: options.release_name.clone(), hooks, ..Rest::default() };
    if asked.output_dir.is_some() {
        let without_hooks = Rendering { no_hooks: true, ..options.clone() };
        rest.manifests = template::files(rendered, &without_hooks).collect();
    } else {
        answer.output = template::manifest(rendered, options).into_bytes();
    }
    rest.hand_out(answer)
}

/// What is printed when the program is done, or has failed.
pub(super) fn output(
    host: Rc<dyn Host>,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let rest = Rest::read(&*host)?;
    let mut options = Rendering { release_name: rest.release_name.clone(), ..options(asked)? };
    let rules: Rules = asked.compat.into();
    if let Some(PostRenderer::Failed(why)) = &asked.post_renderer {
        let text = failed_bare(&TemplateError::PostRenderer(why.clone()), asked, answer);
        if asked.debug {
            append_all(&rest.hooks, answer);
        }
        return Err(text);
    }
    let written = asset(&*host, OUTPUT)?;
    if rules == Rules::Helm3 {
        return print_of_helm3(&written, &rest, &options, asked, answer);
    }
    let sorted = sorted(&written, rules, asked, answer)?;
    let mut manifest = String::new();
    for (path, text) in &rest.crds {
        append_document(&mut manifest, path, text);
    }
    for object in &sorted.manifests {
        append_document(&mut manifest, &object.path, &object.content);
    }
    if asked.server {
        let (kube, kinds) = cluster(host, rules, &mut options)?;
        server::check(&kube, &kinds, &manifest, &options.release_name, asked)?;
    }
    let hooks = template::wanted_hooks(&sorted.hooks, &options);
    match &asked.output_dir {
        None => {
            let hooks = hooks.map(|hook| (&*hook.path, &*hook.manifest));
            print(&manifest, hooks, &options, rules, answer)
        }
        Some(directory) => {
            let crds = rest.crds.iter().map(|(path, text)| (path, text));
            let manifests = sorted.manifests.iter().map(|object| (&object.path, &object.content));
            let hooks = hooks.map(|hook| (&hook.path, &hook.manifest));
            let documents = crds.chain(manifests).chain(hooks).map(|(path, text)| document(path, text));
            write(directory, documents, &options, "", asked, answer)
        }
    }
}

/// What the program wrote, as Helm installs it.
fn sorted(
    written: &[u8],
    rules: Rules,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<Sorted, String> {
    let files = match post_render::split(written) {
        Ok(files) => files,
        Err(error) => return Err(failed_bare(&error.into(), asked, answer)),
    };
    let mut remarks = Vec::new();
    let read = files.iter().map(|(path, text)| (&**path, &**text));
    let sorted = sort_to_install(read, rules, &mut remarks);
    chart::tell(&remarks, asked.debug, rules, answer);
    sorted.map_err(|error| {
        if asked.debug {
            answer.output = template::invalid_files(&files).into_bytes();
        }
        failed(&RenderError::from(error).into(), asked.debug, answer)
    })
}

/// Helm 3 prints what the program wrote, and hooks as they were.
fn print_of_helm3(
    written: &[u8],
    rest: &Rest,
    options: &Rendering,
    asked: &TemplateOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let text = String::from_utf8_lossy(written);
    match &asked.output_dir {
        None => {
            let hooks = rest.hooks.iter().map(|(path, text)| (&**path, &**text));
            print(&text, hooks, options, Rules::Helm3, answer)
        }
        Some(directory) => {
            let hooks = rest.hooks.iter().map(|(path, text)| document(path, text));
            let documents = rest.manifests.iter().cloned().chain(hooks);
            write(directory, documents, options, text.trim(), asked, answer)
        }
    }
}

fn print<'a>(
    manifest: &str,
    hooks: impl Iterator<Item = (&'a str, &'a str)>,
    options: &Rendering,
    rules: Rules,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let printed = template::printed_parts(manifest, hooks, options, rules);
    answer.output = printed.map_err(|error| error.to_string())?.into_bytes();
    Ok(())
}

fn document(path: &str, text: &str) -> (String, String) {
    let mut document = String::new();
    append_document(&mut document, path, text);
    (path.to_owned(), document)
}

/// What to say of a failure before which nothing was printed: with `--debug` there is an empty line.
fn failed_bare(error: &TemplateError, asked: &TemplateOptions, answer: &mut CommandAnswer) -> String {
    if asked.debug {
        answer.output = b"\n".to_vec();
    }
    failed(error, asked.debug, answer)
}

fn append_all(documents: &Documents, answer: &mut CommandAnswer) {
    for (path, text) in documents {
        answer.output.extend(document(path, text).1.into_bytes());
    }
}
