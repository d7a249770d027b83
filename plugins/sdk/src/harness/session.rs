//! The host as a plugin in a test reaches it: every call is checked, counted, recorded, and may fail on purpose.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, time::SystemTime};

use super::{
    asked::Request,
    budget::{Budget, Limits},
    calls::{Call, Caller, Verb},
    charts::{Charts, Place},
    cluster::{Cluster, LogLine, Published},
    faults::Fault,
    logs::log_of,
    metrics::{is_metric_name, series},
    object::{not_found, ref_of, skipped},
    ownership::Owner,
    rights::Rights,
    settings::Settings,
    store::{Part, Store, Writer},
};
use crate::{
    AnnouncerOfTests, Applied, ApplyItem, ApplyOptions, AssetEntry, AssetError, AssetFile, AssetTree,
    ChartError, ChartSource, ChartStanding, DeleteOptions, Event, EvictOptions, ExecCommand, ExecProgress,
    Gvk, Host, Identity, IssuerOfTests, KubeError, Level, ObjectRef, Outside, Ownership, Page, Patch, Query,
    ReadOptions, ServedKind, ServerVersion, Stores,
};

mod items;
mod refusal;

/// One hook call's way to the cluster, or a user's.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) cluster: Cluster,
    writer: Writer,
    pub(super) plugin: String,
    /// None: a user, whose requests are not recorded and not held up.
    pub(super) rights: Option<Rights>,
    caller: Caller,
    pub(super) owner: Option<Owner>,
    pub(super) budget: RefCell<Budget>,
    settings: Rc<Settings>,
    /// Kinds that were asked for and are not served.
    missing: RefCell<BTreeSet<Gvk>>,
    /// Charts that were wished for.
    wished: RefCell<BTreeSet<Place>>,
    began: SystemTime,
    /// Identities of this call.
    pub(super) identities: RefCell<Vec<Identity>>,
}

impl Session {
    pub(super) fn of_user(cluster: Cluster, writer: Writer) -> Self {
        Self::new(cluster, writer, String::new(), None, Rc::default())
    }

    pub(super) fn by_hand(cluster: Cluster, plugin: &str, settings: Rc<Settings>) -> Self {
        let writer = Writer { manager: format!("pilothouse-{plugin}"), cause: None };
        Self::new(cluster, writer, plugin.to_owned(), Some(Rights::default()), settings)
    }

    fn new(
        cluster: Cluster,
        writer: Writer,
        plugin: String,
        rights: Option<Rights>,
        settings: Rc<Settings>,
    ) -> Self {
        let began = cluster.now();
        Self {
            began,
            cluster,
            writer,
            plugin,
            rights,
            caller: Caller::Plugin,
            owner: None,
            budget: RefCell::new(Budget::new(Limits::default())),
            settings,
            missing: RefCell::default(),
            wished: RefCell::default(),
            identities: RefCell::default(),
        }
    }

    /// The session of a hook call for an object.
    pub(super) fn of_hook(
        cluster: Cluster,
        plugin: &str,
        manager: &str,
        rights: Rights,
        owner: Owner,
        limits: Limits,
        settings: Rc<Settings>,
    ) -> Self {
        let writer = Writer { manager: manager.to_owned(), cause: Some(owner.reference.clone()) };
        let budget = RefCell::new(Budget::new(limits));
        Self {
            budget,
            owner: Some(owner),
            ..Self::new(cluster, writer, plugin.to_owned(), Some(rights), settings)
        }
    }

    /// The same for a person at a command line: what is changed is not the hook's own doing.
    pub(super) fn of_person(mut self) -> Self {
        self.writer.cause = None;
        self
    }

    pub(super) fn is_person(&self) -> bool {
        self.writer.cause.is_none()
    }

    /// The same with the host as caller: children and their pruning, without budget.
    pub(super) fn into_host(mut self) -> Self {
        self.caller = Caller::Host;
        let limits = Limits { host_calls: u64::MAX, host_bytes: u64::MAX, ..Limits::default() };
        self.budget = RefCell::new(Budget::new(limits));
        self
    }

    /// The host's own writes on objects: under its own account and manager.
    pub(super) fn of_host(cluster: Cluster, cause: &ObjectRef) -> Self {
        let writer = Writer { manager: "pilothouse".to_owned(), cause: Some(cause.clone()) };
        Self::new(cluster, writer, String::new(), Some(Rights::default()), Rc::default()).into_host()
    }

    pub(super) fn missing_kinds(&self) -> BTreeSet<Gvk> {
        self.missing.borrow().clone()
    }

    pub(super) fn wished(&self) -> BTreeSet<Place> {
        self.wished.borrow().clone()
    }

    /// Carries out one request: budget, rights, faults, the act, the record, and the crash if one is due.
    pub(super) fn request<T>(
        &self,
        request: Request,
        act: impl FnOnce(&mut Store) -> Result<T, KubeError>,
    ) -> Result<T, KubeError> {
        if self.caller == Caller::Plugin && self.rights.is_some() && request.takes_time {
            self.cluster.spend_latency(self.began)?;
        }
        let mut state = self.cluster.state();
        let Some(rights) = &self.rights else { return act(&mut state.store) };
        self.budget.borrow_mut().call(request.body.to_string().len())?;
        let Request { verb, object, subresource, body, .. } = request;
        let mut call =
            Call { caller: self.caller, verb, object, subresource, body, changed: false, error: None };
        let before = state.store.changes.len();
        let result = match self.refusal(&state, rights, &call) {
            Some(refusal) => Err(refusal),
            None => match Fault::strike(&mut state.faults, &call) {
                Some((error, false)) => Err(error),
                Some((error, true)) => act(&mut state.store).and(Err(error)),
                None => act(&mut state.store),
            },
        };
        call.changed = state.store.changes.len() > before;
        call.error = result.as_ref().err().cloned();
        if let Err(KubeError::UnknownKind(kind)) = &result {
            self.missing.borrow_mut().insert(kind.clone());
        }
        let changed = call.changed;
        state.calls.push(call);
        state.crash.after_call(changed);
        result
    }

    fn answer(&self, text: String) -> Result<String, KubeError> {
        if self.rights.is_some() {
            self.budget.borrow_mut().bytes(text.len())?;
        }
        Ok(text)
    }
}

impl Host for Session {
    fn get(&self, object: &ObjectRef, options: &ReadOptions) -> Result<Option<String>, KubeError> {
        let found =
            self.request(Request::new(Verb::Get, object.clone()), |store| store.get(object, options))?;
        found.map(|found| self.answer(found.to_string())).transpose()
    }

    fn list(&self, query: &Query, options: &ReadOptions) -> Result<Page, KubeError> {
        let what =
            ObjectRef { kind: query.kind.clone(), namespace: query.namespace.clone(), name: String::new() };
        let page = self.request(Request::new(Verb::List, what), |store| store.list(query, options))?;
        for item in &page.items {
            self.budget.borrow_mut().bytes(item.len())?;
        }
        Ok(page)
    }

    fn apply(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>> {
        let mut failed = false;
        let one = |item| {
            if failed && options.stop_on_error {
                return Err(skipped());
            }
            let answer = self.apply_item(item, options);
            failed |= answer.is_err();
            answer
        };
        items.iter().map(one).collect()
    }

    fn preview(&self, items: &[ApplyItem], strict: bool) -> Vec<Result<String, KubeError>> {
        items.iter().map(|item| self.preview_item(item, strict)).collect()
    }

    fn create(&self, object: &str, ownership: Ownership) -> Result<String, KubeError> {
        let object = self.tied(object, ownership)?;
        let request = Request::new(Verb::Create, ref_of(&object)).body(object.clone());
        let created = self.request(request, |store| store.create(object, &self.writer))?;
        self.answer(created.to_string())
    }

    fn replace(&self, object: &str) -> Result<String, KubeError> {
        let object = self.parse(object)?;
        let request = Request::new(Verb::Update, ref_of(&object)).body(object.clone());
        let replaced = self.request(request, |store| store.replace(object, Part::Main, &self.writer))?;
        self.answer(replaced.to_string())
    }

    fn patch(&self, object: &ObjectRef, patch: &Patch) -> Result<String, KubeError> {
        let body = serde_json::from_str(&patch.body).unwrap_or_default();
        let request = Request::new(Verb::Patch, object.clone()).subresource(&patch.subresource).body(body);
        let patched = self.request(request, |store| store.patch(object, patch, &self.writer))?;
        self.answer(patched.to_string())
    }

    fn delete(&self, object: &ObjectRef, options: &DeleteOptions) -> Result<bool, KubeError> {
        let request = Request::new(Verb::Delete, object.clone());
        self.request(request, |store| store.delete(object, options, &self.writer))
    }

    fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        bytes: u32,
    ) -> Result<String, KubeError> {
        let object = ObjectRef::new(Gvk::new("", "v1", "Pod"), namespace, pod);
        let request = Request::new(Verb::Logs, object.clone()).subresource("log");
        let found =
            self.request(request, |store| Ok(store.find(&object)?.map(|found| found.object.clone())))?;
        let Some(found) = found else { return Err(not_found("pods", pod)) };
        let text = log_of(&self.cluster.state(), &found, container)?;
        let keep = usize::try_from(bytes).unwrap_or(usize::MAX).min(64 * 1024);
        let start = text.ceil_char_boundary(text.len().saturating_sub(keep));
        self.answer(text.get(start..).unwrap_or_default().to_owned())
    }

    fn evict(&self, namespace: &str, pod: &str, options: &EvictOptions) -> Result<bool, KubeError> {
        let object = ObjectRef::new(Gvk::new("", "v1", "Pod"), namespace, pod);
        let request = Request::new(Verb::Evict, object.clone()).subresource("eviction");
        let EvictOptions { uid, grace_period } = options.clone();
        let options = DeleteOptions { uid, grace_period, ..DeleteOptions::default() };
        self.request(request, |store| store.delete(&object, &options, &self.writer))
    }

    fn exec(&self, name: &str, attempt: u32, command: &ExecCommand) -> Result<ExecProgress, KubeError> {
        self.begin_command(name, attempt, command)
    }

    fn exec_progress(&self, name: &str, attempt: u32) -> Result<Option<ExecProgress>, KubeError> {
        self.look_at_command(name, attempt)
    }

    fn forget_exec(&self, name: &str) {
        if let Some(owner) = &self.owner {
            self.cluster.state().commands.forget(&owner.reference, name);
        }
    }

    fn allowed(
        &self,
        verb: &str,
        kind: &Gvk,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<bool, KubeError> {
        let state = self.cluster.state();
        let plural = state.store.kinds.find(kind)?.plural.clone();
        let Some(rights) = &self.rights else { return Ok(true) };
        let refused = state.forbidden.iter().any(|(known, resource)| known == verb && *resource == plural);
        Ok(!refused && rights.allows(verb, &kind.group, &plural, namespace, name))
    }

    fn served_kinds(&self) -> Result<Vec<ServedKind>, KubeError> {
        Ok(self.cluster.state().store.kinds.served())
    }

    fn version(&self) -> Result<ServerVersion, KubeError> {
        Ok(ServerVersion { major: "1".to_owned(), minor: "36".to_owned(), git_version: "v1.36.0".to_owned() })
    }

    fn log(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let size = message.len() + fields.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        if self.budget.borrow_mut().log(size) {
            let line = LogLine { level, message: message.to_owned(), fields: fields.to_vec() };
            self.cluster.state().logs.push(line);
        }
    }

    fn publish(&self, event: &Event) {
        if let Some(owner) = &self.owner {
            let published = Published { object: owner.reference.clone(), event: event.clone() };
            self.cluster.state().events.push(published);
        }
    }

    fn counter_add(&self, name: &str, value: f64, labels: &[(String, String)]) {
        if is_metric_name(name) && value.is_finite() && value >= 0.0 {
            *self.cluster.state().metrics.entry(series(name, labels)).or_default() += value;
        }
    }

    fn gauge_set(&self, name: &str, value: f64, labels: &[(String, String)]) {
        if is_metric_name(name) {
            self.cluster.state().metrics.insert(series(name, labels), value);
        }
    }

    fn gauge_count(&self, name: &str, labels: &[(String, String)]) {
        if let Some(owner) = self.owner.as_ref().filter(|_| is_metric_name(name)) {
            let key = (name.to_owned(), owner.reference.clone());
            self.cluster.state().counted.insert(key, series(name, labels));
        }
    }

    fn observe_seconds(&self, name: &str, value: f64, labels: &[(String, String)]) {
        if is_metric_name(name) {
            for (part, value) in [("sum", value), ("count", 1.0)] {
                let series = series(&format!("{name}_{part}"), labels);
                *self.cluster.state().metrics.entry(series).or_default() += value;
            }
        }
    }

    fn plugin_config(&self) -> String {
        self.settings.plugin.clone().unwrap_or_else(|| "{}".to_owned())
    }

    fn binding_config(&self) -> String {
        self.settings.binding.clone().unwrap_or_else(|| "{}".to_owned())
    }

    fn wish_for_chart(&self, source: &ChartSource) -> Result<ChartStanding, ChartError> {
        if let Some((namespace, name)) = &source.secret {
            let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), namespace.as_str(), name.as_str());
            if !matches!(self.cluster.state().store.find(&secret), Ok(Some(_))) {
                return Err(ChartError::Credentials(format!("Secret {namespace}/{name} is not there")));
            }
        }
        self.wished.borrow_mut().insert((source.repository.clone(), source.name.clone()));
        self.cluster.state().charts.wish(source)
    }

    fn asset_stat(&self, name: &str) -> Result<AssetTree, AssetError> {
        if let Some(file) = self.cluster.state().charts.file(name) {
            let size = u64::try_from(file.content.len()).unwrap_or(u64::MAX);
            return Ok(AssetTree { name: name.to_owned(), digest: Charts::digest(name).to_owned(), size });
        }
        self.settings.stat(name)
    }

    fn asset_read(&self, name: &str) -> Result<Vec<AssetFile>, AssetError> {
        if let Some(file) = self.cluster.state().charts.file(name) {
            return Ok(vec![file]);
        }
        self.settings.assets.get(name).cloned().ok_or(AssetError::Unknown)
    }

    fn asset_list(&self, name: &str) -> Result<Vec<AssetEntry>, AssetError> {
        self.settings.list(name)
    }

    fn asset_read_files(&self, name: &str, paths: &[String]) -> Result<Vec<AssetFile>, AssetError> {
        self.settings.read(name, paths)
    }

    fn stores(&self) -> Option<&dyn Stores> {
        Some(self)
    }

    fn outside(&self) -> Option<&dyn Outside> {
        Some(self)
    }

    fn issuer(&self) -> Option<&dyn IssuerOfTests> {
        Some(self)
    }

    fn announcer(&self) -> Option<&dyn AnnouncerOfTests> {
        Some(self)
    }

    fn now(&self) -> SystemTime {
        self.cluster.now()
    }
}
