//! What a release would look like now.

use std::rc::Rc;

use helm_chart::{
    Capabilities, Chart, Release as ReleaseFacts, RenderError, RenderSettings, Rules, hook::HookEvent,
    loader::validate_release_name, template::check_installable,
};
use helm_release::{ApplyMethod, Hook, Info, Marks, Release, Status};
use helm_template::Map;
use jiff::Timestamp;
use pilothouse_sdk::{Error, Level};

use crate::{call::Call, chart_record, charts::LoadedChart, lookup::ClusterLookup, post_render};

/// A rendered chart, ready to become a revision.
#[derive(Debug)]
pub(crate) struct Candidate {
    manifest: String,
    hooks: Vec<Hook>,
    notes: String,
    chart: Chart,
    config: Map,
    lookups: Option<String>,
}

impl Candidate {
    /// The objects, hooks left out.
    pub(crate) fn manifest(&self) -> &str {
        &self.manifest
    }

    /// What is told after an operation.
    pub(crate) fn notes(&self) -> &str {
        &self.notes
    }

    /// The hooks.
    pub(crate) fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// What the chart looked up, as a mark.
    pub(crate) fn lookups(&self) -> Option<String> {
        self.lookups.clone()
    }

    /// The revision it becomes, not stored yet.
    ///
    /// # Errors
    /// Permanent: values that no record can hold.
    pub(crate) fn into_release(
        self,
        name: &str,
        namespace: &str,
        revision: u32,
        now: Timestamp,
    ) -> Result<Release, Error> {
        let info = Info {
            first_deployed: Some(now),
            last_deployed: Some(now),
            notes: self.notes,
            ..Info::default()
        };
        Ok(Release {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            version: revision,
            info,
            chart: Some(chart_record::chart_json(&self.chart)?),
            config: Some(chart_record::config_json(&self.config)?),
            manifest: self.manifest,
            hooks: self.hooks,
            apply_method: Some(ApplyMethod::ServerSide),
            extra: Vec::new(),
        })
    }
}

impl Call<'_> {
    /// Whether the chart can be installed under this object's name at all.
    ///
    /// # Errors
    /// Permanent, in Helm's words.
    pub(crate) fn check_chart(&self, chart: &LoadedChart) -> Result<(), Error> {
        let permanent = |error: &dyn std::fmt::Display| Error::permanent("InvalidChart", error.to_string());
        check_installable(&chart.parsed).map_err(|error| permanent(&error))?;
        validate_release_name(&self.owner().release).map_err(|error| permanent(&error))
    }

    /// Renders the chart for a revision.
    ///
    /// # Errors
    /// Helm's words. Permanent, but for charts that look things up: those may do better when the cluster changed.
    pub(crate) fn render(
        &self,
        chart: &LoadedChart,
        values: &Map,
        revision: u32,
        is_upgrade: bool,
    ) -> Result<Candidate, Error> {
        let kinds = self.kinds()?;
        let mut settings = RenderSettings::new(ReleaseFacts {
            name: self.owner().release.clone(),
            namespace: self.owner().namespace.clone(),
            revision: i64::from(revision),
            is_upgrade,
        });
        settings.capabilities = kinds.capabilities(self.kube())?;
        if chart.parsed.chart().rules == Rules::Helm3 {
            settings.capabilities.helm_version = Capabilities::offline(Rules::Helm3).helm_version;
        }
        let lookup = Rc::new(ClusterLookup::new(self)?);
        settings.lookup = Some(Rc::<ClusterLookup>::clone(&lookup));
        let rendered = self.measured("helm_render_seconds", || chart.parsed.render(values, &settings));
        let rendered = rendered.map_err(|error| render_error(chart, &error))?;
        for warning in &rendered.warnings {
            self.ctx().log(Level::Warn, format_args!("{warning}"), &[]);
        }
        let mut hooks = rendered.hooks.iter().cloned().map(hook).collect();
        let manifest = match post_render::read(&self.settings().release)? {
            Some(renderers) => post_render::render(&renderers, &rendered.manifest(), &mut hooks)?,
            None => rendered.manifest(),
        };
        let noted = lookup.noted();
        let lookups = (!noted.is_empty() || chart.mentions("lookup")).then(|| noted.mark());
        Ok(Candidate {
            manifest,
            hooks,
            notes: rendered.notes,
            chart: rendered.chart,
            config: values.clone(),
            lookups,
        })
    }

    /// A revision out of a candidate.
    ///
    /// # Errors
    /// Permanent: values that no record can hold.
    pub(crate) fn new_revision(
        &self,
        candidate: Candidate,
        revision: u32,
        status: Status,
        marks: &Marks,
    ) -> Result<(Release, Marks), Error> {
        let mut release =
            candidate.into_release(&self.owner().release, &self.owner().namespace, revision, self.now())?;
        let description = match status {
            Status::PendingInstall => "Initial install underway",
            _ => "Preparing upgrade",
        };
        release.set_status(status, description);
        Ok((release, marks.clone()))
    }
}

fn render_error(chart: &LoadedChart, error: &RenderError) -> Error {
    let message = error.to_string();
    if chart.mentions("lookup") {
        Error::retry("RenderError", message)
    } else {
        Error::permanent("RenderError", message)
    }
}

fn hook(hook: helm_chart::hook::Hook) -> Hook {
    Hook {
        name: hook.name,
        kind: hook.kind,
        path: hook.path,
        manifest: hook.manifest,
        events: hook.events.into_iter().map(HookEvent::name).map(str::to_owned).collect(),
        weight: hook.weight,
        delete_policies: hook.delete_policies,
        output_log_policies: hook.output_log_policies,
        ..Hook::default()
    }
}
