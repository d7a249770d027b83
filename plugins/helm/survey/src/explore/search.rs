//! The search for every branch.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use helm_chart::engine::Observer;
use helm_chart::{Capabilities, Chart, File, KubeVersion, Lookup, ParsedChart, Release, RenderSettings};
use helm_template::{Limits, Map, Value};

use super::candidates::Turn;
use super::probe::{Hit, Recorder, functions};
use super::setting::{Asked, Place, Setting, Step, at};
use crate::discovery;
use crate::objects::{NAMESPACE, Objects, Way};
use crate::template::blocks::{Text, watched};
use crate::template::instrument::{Site, instrument};

/// How much is rendered at most: bytes that are written, and what renderings cost beside them.
const MOST_WORK: u64 = 192 << 20;
/// What executing a template costs beside what it writes.
const WORK_OF_TEMPLATE: u64 = 4 << 10;
/// What a value costs in each rendering: values are merged and copied anew.
const WORK_OF_VALUE: u64 = 96;
/// What telling of one place costs.
const WORK_OF_HIT: u64 = 512;
/// A condition of a helper is turned in at most so many of the templates that ask it.
const MOST_TEMPLATES: usize = 2;
/// The oldest Kubernetes whose APIs count.
const OLDEST: &str = "v1.31.0";

/// The name of the release in all renderings.
pub(crate) const RELEASE: &str = "release-name";

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    pub(crate) objects: Objects,
    /// What templates look up: `apiVersion`, kind, and whether all of them.
    pub(crate) lookups: BTreeSet<(String, String, bool)>,
    /// Templates that no rendering could execute to their end, with the last reason.
    pub(crate) failed: BTreeMap<String, String>,
    /// Why nothing could be rendered.
    pub(crate) broken: Option<String>,
    /// The search was ended before all was tried.
    pub(crate) is_cut: bool,
    /// How often a template was executed.
    pub(crate) executions: usize,
}

/// A way that no rendering took yet.
struct Goal {
    site: usize,
    /// None: any other value.
    wanted: Option<bool>,
    template: Rc<str>,
    asked: BTreeSet<Asked>,
    values: BTreeMap<Place, Value>,
    setting: Rc<Setting>,
}

struct Search {
    chart: ParsedChart,
    recorder: Rc<RefCell<Recorder>>,
    lookups: Rc<Lookups>,
    capabilities: Capabilities,
    sites: Rc<[Site]>,
    /// The values that the first rendering saw.
    defaults: Map,
    /// Ways that were taken by a template that came to its end.
    taken: HashSet<(usize, bool)>,
    planned: HashMap<(usize, Option<bool>), Vec<Rc<str>>>,
    /// Conditions around kinds, and all others.
    goals: [VecDeque<Goal>; 2],
    rendered: HashSet<String>,
    work: u64,
    found: Explored,
}

/// Renders a chart until every way was taken.
pub(crate) fn explore(chart: &Chart) -> Explored {
    let (chart, sites) = instrumented(chart);
    let dependencies = with_dependencies(&chart);
    let mut search = Search::new(chart, sites);
    if let Err(error) = search.render(&Rc::new(Setting::default()), None, None) {
        search.found.broken = Some(error);
    }
    if let Some(setting) = dependencies
        && search.render(&Rc::new(setting), None, None).is_ok()
    {
        search.found.broken = None;
    }
    if search.found.broken.is_none() {
        search.with_oldest();
        search.run();
    }
    search.finish()
}

/// The chart with templates that tell how they decide.
fn instrumented(chart: &Chart) -> (Chart, Rc<[Site]>) {
    fn collect(chart: &Chart, texts: &mut Vec<Text>) {
        let files = chart.templates.iter();
        texts.extend(files.map(|file| Text::new(str::from_utf8(&file.data).unwrap_or_default())));
        chart.dependencies.iter().for_each(|dependency| collect(dependency, texts));
    }
    fn replace(chart: &mut Chart, texts: &mut impl Iterator<Item = String>) {
        let replaced = |file: &File| match texts.next() {
            Some(text) if !text.is_empty() => File::new(&file.name, text),
            _ => file.clone(),
        };
        chart.templates = chart.templates.iter().map(replaced).collect();
        for dependency in &mut chart.dependencies {
            replace(dependency, texts);
        }
    }
    let (mut chart, mut texts, mut sites) = (chart.clone(), Vec::new(), Vec::new());
    collect(&chart, &mut texts);
    let watched = watched(&texts);
    let pairs = texts.iter().zip(&watched).enumerate();
    let replaced: Vec<String> =
        pairs.map(|(index, (text, watched))| instrument(index, text, watched, &mut sites)).collect();
    replace(&mut chart, &mut replaced.into_iter());
    (chart, sites.into())
}

/// A setting that enables every dependency; none when no dependency can be disabled.
fn with_dependencies(chart: &Chart) -> Option<Setting> {
    fn enable(chart: &Chart, above: &[Step], depth: usize, setting: &mut Setting) {
        let key = |name: &str| Step::Key(name.to_owned());
        for dependency in chart.metadata.dependencies() {
            let place = |path: &str| above.iter().cloned().chain(path.split('.').map(key)).collect::<Place>();
            for condition in dependency.condition.split(',').map(str::trim).filter(|path| !path.is_empty()) {
                setting.set(place(condition), true.into());
            }
            for tag in &dependency.tags {
                // Only the tags of the root count.
                setting.set(vec![key("tags"), key(tag)], true.into());
            }
            let below: Vec<Step> = above.iter().cloned().chain([key(dependency.key())]).collect();
            if let Some(found) = chart.dependencies.iter().find(|found| found.name() == dependency.name)
                && depth > 0
            {
                enable(found, &below, depth - 1, setting);
            }
        }
    }
    let mut setting = Setting::default();
    enable(chart, &[], 8, &mut setting);
    (!setting.is_empty()).then_some(setting)
}

impl Search {
    fn new(chart: Chart, sites: Rc<[Site]>) -> Self {
        let recorder = Rc::new(RefCell::new(Recorder::new(Rc::clone(&sites))));
        let chart = ParsedChart::with_functions(chart, |known| functions(&recorder, known));
        let mut capabilities = Capabilities::default();
        capabilities.api_versions.extend(discovery::built_in_versions());
        Self {
            chart,
            recorder,
            lookups: Rc::default(),
            capabilities,
            sites,
            defaults: Map::new(),
            taken: HashSet::new(),
            planned: HashMap::new(),
            goals: Default::default(),
            rendered: HashSet::new(),
            work: 0,
            found: Explored::default(),
        }
    }

    fn run(&mut self) {
        while let Some(goal) = self.goals.iter_mut().find_map(VecDeque::pop_front) {
            if self.work > MOST_WORK {
                self.found.is_cut = true;
                return;
            }
            self.reach(&goal);
        }
    }

    /// Charts that go by the version of Kubernetes.
    fn with_oldest(&mut self) {
        if !self.sites.iter().any(|site| site.version) {
            return;
        }
        if let Ok(oldest) = KubeVersion::parse(OLDEST) {
            let newest = std::mem::replace(&mut self.capabilities.kube_version, oldest);
            // What fails now has been rendered before.
            let _ = self.render(&Rc::new(Setting::default()), None, None);
            self.capabilities.kube_version = newest;
        }
    }

    fn is_reached(&self, goal: &Goal) -> bool {
        goal.wanted.is_some_and(|wanted| self.taken.contains(&(goal.site, wanted)))
    }

    fn reach(&mut self, goal: &Goal) {
        if self.is_reached(goal) {
            return;
        }
        let sites = Rc::clone(&self.sites);
        let Some(site) = sites.get(goal.site) else { return };
        let literals = self.literals(site, goal);
        let turn = Turn {
            role: &site.role,
            wanted: goal.wanted.unwrap_or_default(),
            asked: &goal.asked,
            literals: &literals,
            setting: &goal.setting,
            values: &goal.values,
        };
        let candidates = match goal.wanted {
            Some(_) if goal.asked.is_empty() => Vec::new(),
            Some(_) => turn.candidates(),
            None => turn.others(),
        };
        for candidate in candidates {
            // What fails for one setting may not for another.
            let _ = self.render(&Rc::new(candidate), Some(&goal.template), None);
            if self.is_reached(goal) {
                return;
            }
        }
        // Branches for versions of Kubernetes that are no more are better not taken.
        if let (Some(wanted), false) = (goal.wanted, site.version) {
            let _ = self.render(&goal.setting, Some(&goal.template), Some((goal.site, wanted)));
        }
    }

    fn literals(&self, site: &Site, goal: &Goal) -> Vec<crate::template::instrument::Literal> {
        let mut literals = site.literals.clone();
        let recorder = self.recorder.borrow();
        for asked in &goal.asked {
            if let Asked::Value(place) = asked {
                let more = recorder.literals(place).iter().filter(|known| !literals.contains(known));
                let more: Vec<_> = more.cloned().collect();
                literals.extend(more);
            }
        }
        literals
    }

    fn render(
        &mut self,
        setting: &Rc<Setting>,
        only: Option<&str>,
        forced: Option<(usize, bool)>,
    ) -> Result<(), String> {
        self.recorder.borrow_mut().forced = forced;
        let settings = self.settings(setting);
        let mut watcher = Watcher {
            recorder: Rc::clone(&self.recorder),
            only,
            values: Map::new(),
            written: Vec::new(),
            size: 0,
        };
        let observed = self.chart.observe(&setting.overlay(&self.defaults), &settings, &mut watcher);
        let Watcher { values, written, size, .. } = watcher;
        if self.defaults.is_empty() {
            self.defaults = values.clone();
        }
        self.work += size as u64 * WORK_OF_VALUE;
        for (path, text, hits) in written {
            let way = match forced {
                Some(_) => Way::Forced,
                None if setting.is_empty() => Way::Default,
                None => Way::Values,
            };
            self.take(&path, text, &hits, &values, setting, way);
        }
        observed.map_err(|error| error.to_string())
    }

    fn settings(&self, setting: &Setting) -> RenderSettings {
        let mut release = Release::install(RELEASE, NAMESPACE);
        release.is_upgrade = setting.upgrade;
        let mut settings = RenderSettings::new(release);
        settings.capabilities = self.capabilities.clone();
        settings.capabilities.api_versions.retain(|version| !setting.without_apis.contains(version));
        settings.capabilities.api_versions.extend(setting.with_apis.iter().cloned());
        settings.lookup = Some(self.lookups.clone());
        settings.limits = Limits { output: 64 << 20, steps: 20_000_000, ..Limits::default() };
        settings
    }

    /// What one template did in a rendering.
    fn take(
        &mut self,
        path: &str,
        text: Result<String, String>,
        hits: &[Hit],
        values: &Map,
        setting: &Rc<Setting>,
        way: Way,
    ) {
        self.found.executions += 1;
        let written = text.as_ref().map_or(0, String::len);
        self.work += WORK_OF_TEMPLATE + written as u64 + hits.len() as u64 * WORK_OF_HIT;
        let path: Rc<str> = path.into();
        match text {
            Ok(text) => {
                self.found.failed.remove(&*path);
                self.rendered.insert(path.to_string());
                self.taken.extend(hits.iter().map(|hit| (hit.site, hit.truth)));
                self.found.objects.add(&path, &text, way);
            }
            Err(error) if !self.rendered.contains(&*path) => {
                self.found.failed.insert(path.to_string(), error);
            }
            Err(_) => {}
        }
        for hit in hits {
            self.plan(hit, &path, values, setting);
        }
    }

    fn plan(&mut self, hit: &Hit, path: &Rc<str>, values: &Map, setting: &Rc<Setting>) {
        let Some(site) = self.sites.get(hit.site) else { return };
        let wanted = site.role.decides().then_some(!hit.truth);
        let is_goal = match wanted {
            Some(wanted) => !self.taken.contains(&(hit.site, wanted)),
            None => site.head,
        };
        let planned = self.planned.entry((hit.site, wanted)).or_default();
        if !is_goal || planned.len() >= MOST_TEMPLATES || planned.contains(path) {
            return;
        }
        planned.push(Rc::clone(path));
        let places = hit.asked.iter().filter_map(|asked| match asked {
            Asked::Value(place) => Some((place.clone(), at(values, place)?)),
            _ => None,
        });
        let [first, later] = &mut self.goals;
        let goals = if site.encloses { first } else { later };
        goals.push_back(Goal {
            site: hit.site,
            wanted,
            template: Rc::clone(path),
            values: places.collect(),
            asked: hit.asked.clone(),
            setting: Rc::clone(setting),
        });
    }

    fn finish(self) -> Explored {
        let mut found = self.found;
        found.lookups = self.lookups.0.take();
        found
    }
}

/// Remembers what is looked up, and finds nothing.
#[derive(Default)]
struct Lookups(RefCell<BTreeSet<(String, String, bool)>>);

impl Lookup for Lookups {
    fn lookup(&self, api_version: &str, kind: &str, _: &str, name: &str) -> Result<Option<Map>, String> {
        self.0.borrow_mut().insert((api_version.to_owned(), kind.to_owned(), name.is_empty()));
        Ok(None)
    }
}

/// What one template wrote, and what it came by.
type Written = (String, Result<String, String>, Vec<Hit>);

struct Watcher<'a> {
    recorder: Rc<RefCell<Recorder>>,
    /// The one template that is executed.
    only: Option<&'a str>,
    values: Map,
    written: Vec<Written>,
    /// How many values there are.
    size: usize,
}

impl Observer for Watcher<'_> {
    fn begins(&mut self, _: &Chart, values: &Map) {
        self.values = values.clone();
        self.size = self.recorder.borrow_mut().begin(values);
    }

    fn wants(&mut self, path: &str) -> bool {
        self.only.map_or(!path.ends_with("NOTES.txt"), |only| only == path)
    }

    fn written(&mut self, path: &str, text: Result<String, String>) {
        let hits = self.recorder.borrow_mut().take();
        self.written.push((path.to_owned(), text, hits));
    }
}
