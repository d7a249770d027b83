//! The host as a component reaches it: every method is one import of the world.

use std::time::SystemTime;

use super::bindings::pilothouse::operator::{assets, charts, config, events, kube, log, metrics, types};
use crate::{
    Applied, ApplyItem, ApplyOptions, AssetEntry, AssetError, AssetFile, AssetTree, Change, ChartArchive,
    ChartError, ChartSource, ChartStanding, ChartTrouble, Consistency, DeleteOptions, Event, EvictOptions,
    ExecCommand, ExecProgress, Gvk, Host, KubeError, Level, ObjectRef, Ownership, Page, Patch, PatchFormat,
    Propagation, Query, ReadOptions, ServedKind, ServerVersion, Taken,
};

/// The imports of the world `plugin`.
#[derive(Debug)]
pub(super) struct Imports;

impl Host for Imports {
    fn get(&self, object: &ObjectRef, options: &ReadOptions) -> Result<Option<String>, KubeError> {
        Ok(kube::get(&object.into(), &options.into())?)
    }

    fn list(&self, query: &Query, options: &ReadOptions) -> Result<Page, KubeError> {
        let query = kube::Query {
            kind: (&query.kind).into(),
            namespace: query.namespace.clone(),
            label_selector: query.label_selector.clone(),
            field_selector: query.field_selector.clone(),
            limit: query.limit,
            from: query.from.clone(),
        };
        let page = kube::list(&query, &options.into())?;
        Ok(Page { items: page.items, next: page.next, resource_version: page.resource_version })
    }

    fn preview(&self, items: &[ApplyItem], strict: bool) -> Vec<Result<String, KubeError>> {
        let items: Vec<_> = items.iter().map(kube::ApplyItem::from).collect();
        kube::preview(&items, strict).into_iter().map(|answer| answer.map_err(Into::into)).collect()
    }

    fn apply(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>> {
        let items: Vec<_> = items.iter().map(kube::ApplyItem::from).collect();
        let options = kube::ApplyOptions {
            force: options.force,
            dry_run: options.dry_run,
            stop_on_error: options.stop_on_error,
            strict: options.strict,
        };
        let answers = kube::apply(&items, options);
        answers.into_iter().map(|answer| answer.map(Into::into).map_err(Into::into)).collect()
    }

    fn create(&self, object: &str, ownership: Ownership) -> Result<String, KubeError> {
        Ok(kube::create(object, ownership.into())?)
    }

    fn replace(&self, object: &str) -> Result<String, KubeError> {
        Ok(kube::replace(object)?)
    }

    fn patch(&self, object: &ObjectRef, patch: &Patch) -> Result<String, KubeError> {
        let format = match patch.format {
            PatchFormat::Json => kube::PatchFormat::JsonPatch,
            PatchFormat::Merge => kube::PatchFormat::Merge,
            PatchFormat::StrategicMerge => kube::PatchFormat::StrategicMerge,
        };
        Ok(kube::patch(&object.into(), format, &patch.body, &patch.subresource)?)
    }

    fn delete(&self, object: &ObjectRef, options: &DeleteOptions) -> Result<bool, KubeError> {
        let propagation = match options.propagation {
            Propagation::Background => kube::Propagation::Background,
            Propagation::Foreground => kube::Propagation::Foreground,
            Propagation::Orphan => kube::Propagation::Orphan,
        };
        let options = kube::DeleteOptions {
            propagation,
            uid: options.uid.clone(),
            resource_version: options.resource_version.clone(),
            grace_period_seconds: options
                .grace_period
                .map(|time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX)),
        };
        Ok(kube::delete(&object.into(), &options)?)
    }

    fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        bytes: u32,
    ) -> Result<String, KubeError> {
        Ok(kube::logs(namespace, pod, container, bytes)?)
    }

    fn evict(&self, namespace: &str, pod: &str, options: &EvictOptions) -> Result<bool, KubeError> {
        let grace = options.grace_period.map(|time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        Ok(kube::evict(namespace, pod, options.uid.as_deref(), grace)?)
    }

    fn exec(&self, name: &str, attempt: u32, command: &ExecCommand) -> Result<ExecProgress, KubeError> {
        Ok(kube::exec(name, attempt, &command.into())?.into())
    }

    fn exec_progress(&self, name: &str, attempt: u32) -> Result<Option<ExecProgress>, KubeError> {
        Ok(kube::exec_progress(name, attempt)?.map(Into::into))
    }

    fn forget_exec(&self, name: &str) {
        kube::forget_exec(name);
    }

    fn allowed(
        &self,
        verb: &str,
        kind: &Gvk,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<bool, KubeError> {
        Ok(kube::allowed(verb, &kind.into(), namespace, name)?)
    }

    fn served_kinds(&self) -> Result<Vec<ServedKind>, KubeError> {
        Ok(kube::served_kinds()?.into_iter().map(Into::into).collect())
    }

    fn version(&self) -> Result<ServerVersion, KubeError> {
        let kube::ServerVersion { major, minor, git_version } = kube::version()?;
        Ok(ServerVersion { major, minor, git_version })
    }

    fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let level = match level {
            Level::Trace => types::Level::Trace,
            Level::Debug => types::Level::Debug,
            Level::Info => types::Level::Info,
            Level::Warn => types::Level::Warn,
            Level::Error => types::Level::Error,
        };
        log::write(level, message, fields);
    }

    fn publish(&self, event: &Event) {
        events::publish(&event.clone().into());
    }

    fn counter_add(&self, name: &str, value: f64, labels: &[(String, String)]) {
        metrics::counter_add(name, value, labels);
    }

    fn gauge_set(&self, name: &str, value: f64, labels: &[(String, String)]) {
        metrics::gauge_set(name, value, labels);
    }

    fn gauge_count(&self, name: &str, labels: &[(String, String)]) {
        metrics::gauge_count(name, labels);
    }

    fn observe_seconds(&self, name: &str, value: f64, labels: &[(String, String)]) {
        metrics::observe_seconds(name, value, labels);
    }

    fn plugin_config(&self) -> String {
        config::plugin()
    }

    fn binding_config(&self) -> String {
        config::binding()
    }

    fn asset_stat(&self, name: &str) -> Result<AssetTree, AssetError> {
        let assets::Tree { name, digest, size } = assets::stat(name)?;
        Ok(AssetTree { name, digest, size })
    }

    fn asset_read(&self, name: &str) -> Result<Vec<AssetFile>, AssetError> {
        let files = assets::read(name)?;
        Ok(files.into_iter().map(AssetFile::from).collect())
    }

    fn asset_list(&self, name: &str) -> Result<Vec<AssetEntry>, AssetError> {
        let entries = assets::list(name)?;
        Ok(entries.into_iter().map(|assets::Entry { path, size }| AssetEntry { path, size }).collect())
    }

    fn asset_read_files(&self, name: &str, paths: &[String]) -> Result<Vec<AssetFile>, AssetError> {
        let files = assets::read_files(name, paths)?;
        Ok(files.into_iter().map(AssetFile::from).collect())
    }

    fn wish_for_chart(&self, source: &ChartSource) -> Result<ChartStanding, ChartError> {
        let secret = |(namespace, name): &(String, String)| charts::SecretRef {
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let source = charts::Source {
            repository: source.repository.clone(),
            name: source.name.clone(),
            version: source.version.clone(),
            digest: source.digest.clone(),
            interval_ms: u64::try_from(source.interval.as_millis()).unwrap_or(u64::MAX),
            secret: source.secret.as_ref().map(secret),
            plain_http: source.plain_http,
            pass_credentials: source.pass_credentials,
        };
        Ok(charts::wish(&source)?.into())
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl From<charts::Standing> for ChartStanding {
    fn from(charts::Standing { found, trouble }: charts::Standing) -> Self {
        let found = found.map(|charts::Archive { asset, digest, version, location }| ChartArchive {
            asset,
            digest,
            version,
            location,
        });
        let trouble = trouble.map(|charts::Trouble { reason, message }| ChartTrouble { reason, message });
        Self { found, trouble }
    }
}

impl From<charts::Error> for ChartError {
    fn from(error: charts::Error) -> Self {
        match error {
            charts::Error::Denied(why) => Self::Denied(why),
            charts::Error::Invalid(why) => Self::Invalid(why),
            charts::Error::Credentials(why) => Self::Credentials(why),
        }
    }
}

impl From<assets::File> for AssetFile {
    fn from(assets::File { path, content }: assets::File) -> Self {
        Self { path, content }
    }
}

impl From<&ReadOptions> for kube::ReadOptions {
    fn from(options: &ReadOptions) -> Self {
        let consistency = match options.consistency {
            Consistency::Cached => kube::Consistency::Cached,
            Consistency::Live => kube::Consistency::Live,
        };
        Self { consistency, fields: options.fields.clone() }
    }
}

impl From<&ApplyItem> for kube::ApplyItem {
    fn from(item: &ApplyItem) -> Self {
        Self { object: item.object.clone(), ownership: item.ownership.into(), keep: item.keep.clone() }
    }
}

impl From<Ownership> for kube::Ownership {
    fn from(ownership: Ownership) -> Self {
        match ownership {
            Ownership::None => Self::None,
            Ownership::Mark => Self::Mark,
            Ownership::Reference => Self::Reference,
        }
    }
}

impl From<kube::Applied> for Applied {
    fn from(applied: kube::Applied) -> Self {
        let change = match applied.change {
            kube::Change::Unchanged => Change::Unchanged,
            kube::Change::Created => Change::Created,
            kube::Change::Configured => Change::Configured,
        };
        Self {
            change,
            uid: applied.uid,
            resource_version: applied.resource_version,
            generation: applied.generation,
            taken: applied.taken.into_iter().map(Into::into).collect(),
            left: applied.left,
        }
    }
}

impl From<kube::Taken> for Taken {
    fn from(taken: kube::Taken) -> Self {
        Self { manager: taken.manager, fields: taken.fields }
    }
}

impl From<kube::ServedKind> for ServedKind {
    fn from(served: kube::ServedKind) -> Self {
        let kube::ServedKind { kind, resource, namespaced, preferred } = served;
        Self { kind: kind.into(), resource, namespaced, preferred }
    }
}
