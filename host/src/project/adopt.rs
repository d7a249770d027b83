//! What becomes of a project of operator-sdk that comes over: its files, changed only where something would be refused, is
//! outdated or is missing. Whoever does it twice changes nothing the second time.

mod crd;
mod dockerfile;
mod kustomization;
mod makefile;
mod manager;
mod proxy;
mod role;

use super::naming::Gvk;
use super::survey::Survey;
use super::yaml_edit::{Document, EditError, documents};
use super::{File, Files};

/// A kind of the project.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its group with the domain, its version, its kind.
    pub gvk: Gvk,
    /// What the plugin says of its chart, or why it cannot say anything.
    pub survey: Result<Survey, String>,
}

/// What is known before a project is looked at.
pub struct Inputs<'a> {
    /// The image that takes the place of helm-operator's.
    pub operator_image: &'a str,
    /// The kinds of `watches.yaml`.
    pub watched: &'a [Watched],
    /// Why the host would not start with these arguments.
    pub refusal: &'a dyn Fn(&[String]) -> Option<String>,
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs").field("watched", &self.watched).finish_non_exhaustive()
    }
}

/// A file that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// As it is to be.
    pub file: File,
    /// What is different, in a few words each.
    pub what: Vec<String>,
}

/// What becomes of a project.
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    /// Files that change.
    pub changed: Vec<Changed>,
    /// Files that should change and cannot be, and why.
    pub left_alone: Vec<(String, String)>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// A text under change.
#[derive(Clone, Debug, Default)]
struct Edited {
    text: String,
    what: Vec<String>,
    notes: Vec<String>,
}

impl Edited {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

type Edit<'a> = dyn Fn(&str) -> Result<Edited, EditError> + 'a;

/// What the resource of a kind is called in the project.
pub fn plural(files: &dyn Files, gvk: &Gvk) -> Option<String> {
    crd::plural(files, gvk)
}

/// Looks at every file that is known of.
pub fn adopt(files: &dyn Files, inputs: &Inputs<'_>) -> Adoption {
    let mut adoption = Adoption::default();
    for path in ["Dockerfile", "build/Dockerfile"] {
        adoption.edit(files, path, &|text| Ok(dockerfile::edit(text, inputs.operator_image)));
    }
    adoption.edit(files, "Makefile", &|text| Ok(makefile::edit(text)));
    for path in ["config/manager/manager.yaml", "deploy/operator.yaml"] {
        adoption.edit(files, path, &|text| each(text, &|document| manager::edit(document, inputs)));
    }
    let patch = "config/default/manager_auth_proxy_patch.yaml";
    adoption.edit(files, patch, &|text| each(text, &proxy::edit));
    for directory in ["config", "config/default", "config/manifests", "config/scorecard", "config/crd"] {
        let path = format!("{directory}/kustomization.yaml");
        adoption.edit(files, &path, &|text| each(text, &kustomization::edit));
    }
    for path in ["config/rbac/role.yaml", "deploy/role.yaml"] {
        adoption.edit(files, path, &|text| role::edit(text, inputs.watched));
    }
    adopt_crds(&mut adoption, files, inputs.watched);
    for watched in inputs.watched {
        match &watched.survey {
            Err(why) => adoption.notes.push(format!(
                "the chart of {} cannot be looked at, so its rights and its CRD were not completed: {why}",
                watched.gvk.kind
            )),
            Ok(survey) => adoption.notes.extend(survey.notes.iter().cloned()),
        }
    }
    adoption.notes.dedup();
    adoption
}

fn adopt_crds(adoption: &mut Adoption, files: &dyn Files, watched: &[Watched]) {
    let mut found: Vec<&Watched> = Vec::new();
    for directory in crd::DIRECTORIES {
        for name in files.names(directory) {
            if !(name.ends_with(".yaml") || name.ends_with(".yml")) {
                continue;
            }
            let path = format!("{directory}/{name}");
            if let Some(text) = files.text(&path) {
                found.extend(watched.iter().filter(|watched| crd::defines(&text, watched)));
            }
            adoption.edit(files, &path, &|text| each(text, &|document| crd::edit(document, watched)));
        }
    }
    for watched in watched {
        if !found.iter().any(|other| other.gvk == watched.gvk) {
            adoption.notes.push(format!(
                "no CustomResourceDefinition of {} in config/crd/bases or deploy/crds",
                watched.gvk.kind
            ));
        }
    }
}

impl Adoption {
    fn edit(&mut self, files: &dyn Files, path: &str, edit: &Edit<'_>) {
        let Some(text) = files.text(path) else { return };
        match edit(&text) {
            Err(error) => self.left_alone.push((path.to_owned(), error.to_string())),
            Ok(edited) => {
                self.notes.extend(edited.notes.into_iter().map(|note| format!("{path}: {note}")));
                if edited.text != text {
                    self.changed.push(Changed { file: File::new(path, edited.text), what: edited.what });
                }
            }
        }
    }
}

/// What an edit of a document leaves behind.
#[derive(Debug, Default)]
struct Log {
    what: Vec<String>,
    notes: Vec<String>,
}

impl Log {
    fn did(&mut self, what: impl Into<String>) {
        self.what.push(what.into());
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// Edits every document of a file; all or none.
fn each(text: &str, edit: &dyn Fn(&mut Document) -> Result<Log, EditError>) -> Result<Edited, EditError> {
    let mut edited = Edited::default();
    for part in documents(text) {
        let mut document = Document::parse(&part)?;
        let log = edit(&mut document)?;
        edited.text.push_str(document.text());
        edited.what.extend(log.what);
        edited.notes.extend(log.notes);
    }
    Ok(edited)
}

#[cfg(test)]
mod tests;
