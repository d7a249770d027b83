//! The rules for `values.yaml` (`rules/values.go`).

use super::{
    LintSettings, Linter,
    Severity::{Error, Info},
    ensure,
};
use crate::{
    coalesce::{Warnings, coalesce_tables},
    schema::{SchemaCache, remark_on_schema},
};
use helm_template::Map;
use helm_yaml::Duplicates;

const FILE: &str = "values.yaml";

impl Linter<'_> {
    pub(super) fn values_yaml(&mut self, values: &Map, settings: &LintSettings) {
        let file = self.directory.file(FILE);
        let is_there = file.is_some() || self.directory.is_directory(FILE);
        if !self.rule(Info, FILE, ensure(is_there, || "file does not exist".to_owned())) {
            return;
        }
        let mut warnings = Warnings::new();
        let result = match file {
            Some(file) => self.check_values(&file.data, values, settings, &mut warnings),
            None => Err(format!("unable to parse YAML: read {}/{FILE}: is a directory", self.directory.path)),
        };
        self.remark(&warnings);
        self.rule(Error, FILE, result);
    }

    /// The chart's own values against its own schema; dependencies are left out.
    fn check_values(
        &self,
        data: &[u8],
        values: &Map,
        settings: &LintSettings,
        warnings: &mut Warnings,
    ) -> Result<(), String> {
        let defaults = helm_yaml::from_yaml_map_as(data, Duplicates::LastWins, "common.Values")
            .map_err(|error| format!("unable to parse YAML: {error}"))?;
        let merged = Map::new();
        for table in [values, &defaults] {
            coalesce_tables(&merged, table, warnings).map_err(|error| error.to_string())?;
        }
        match self.directory.file("values.schema.json") {
            Some(schema) if !schema.data.is_empty() && !settings.skip_schema_validation => {
                if settings.debug {
                    remark_on_schema(&schema.data, warnings);
                }
                SchemaCache::default().check_one(&schema.data, &merged)
            }
            _ => Ok(()),
        }
    }
}
