//! The rules for `crds/` (`rules/crds.go`).

use super::{Linter, Severity::Error, documents::Documents, ensure, object::Object, templates::unparsable};

const DIRECTORY: &str = "crds/";

impl Linter<'_> {
    pub(super) fn custom_resources(&mut self) {
        let is_file = self.directory.file("crds").is_some();
        if !is_file && !self.directory.is_directory("crds") {
            return;
        }
        if !self.rule(Error, DIRECTORY, ensure(!is_file, || "not a directory".to_owned())) {
            return;
        }
        let Some(chart) = self.load_for(DIRECTORY) else { return };
        for crd in chart.crds() {
            let name = &crd.file.name;
            for document in Documents::new(&crd.file.data) {
                match document {
                    Ok(Some(object)) => self.custom_resource(name, &object),
                    Ok(None) => {}
                    Err(text) => {
                        self.rule(Error, name, Err(unparsable(&text)));
                        return;
                    }
                }
            }
        }
    }

    fn custom_resource(&mut self, name: &str, object: &Object) {
        let group = object.api_version.starts_with("apiextensions.k8s.io");
        self.rule(Error, name, ensure(group, || "apiVersion is not in 'apiextensions.k8s.io'".to_owned()));
        let kind = object.kind == "CustomResourceDefinition";
        self.rule(Error, name, ensure(kind, || "object kind is not 'CustomResourceDefinition'".to_owned()));
    }
}
