//! `pilothouse diff`: what an upgrade to the present spec would change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::kind::Kind;
use super::{ReleaseArgs, ReleaseError, Watches, object_of, object_option};
use crate::binding::RELEASE;
use crate::capability::rule::{DRY_RUN, Rule};
use crate::charts::places::Place;
use crate::cli::asking::{Output, ask, encoded, question};
use crate::command::{PersonFile, Question, Session, Subject};
use crate::object::{ObjectKey, Owner};
use crate::watches_file::{ChartPlace, WatchEntry};
use colour::Colour;

mod colour;
mod printed;

/// Flags of `pilothouse diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  pilothouse diff web/shop                             # charts and options of ./watches.yaml
  pilothouse diff web shop -n prod --watches-file operator/watches.yaml
  kubectl apply -f web.yaml && pilothouse diff web/shop      # before the operator is started again
  pilothouse diff web/shop -o json | jq '.objects[].name'

Shown is each object as it is and as it would be. The API server is asked by a dry run, so defaults, webhooks and what others
set are in it; it takes the right to patch the objects, and without it records are compared. What somebody else has changed
since the last revision is named above the object. Of values in Secrets only whether they differ is shown. Environment variables
in overrideValues are those of this shell.

EXIT CODES (those of kubectl diff):
  0  nothing would be changed   1  something would be   2  it cannot be told, or the upgrade would fail")]
pub struct DiffArgs {
    /// The custom resource: KIND/NAME or KIND NAME. The kind as kubectl takes it: web, webs, webs.charts.example.com.
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..=2)]
    pub object: Vec<String>,
    /// Colours: auto means at a terminal, unless NO_COLOR is set.
    #[arg(long, env = "PILOTHOUSE_COLOR", value_enum, value_name = "WHEN", default_value_t)]
    pub color: Colour,
    /// So many lines around each change.
    #[arg(short = 'U', long, value_name = "LINES", default_value_t = 3)]
    pub unified: usize,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    /// What all have.
    #[command(flatten)]
    pub release: ReleaseArgs,
}

/// How long a chart from elsewhere may take.
const FETCHING: Duration = Duration::from_secs(120);
/// Between two looks whether it is there.
const PAUSE: Duration = Duration::from_millis(100);

/// What is said, and how the command ends.
#[derive(Debug)]
pub struct Difference {
    /// For standard output.
    pub text: String,
    /// 0: nothing differs, 1: something does, 2: it would fail.
    pub exit_code: u8,
}

/// What the plugin tells.
#[derive(Debug, Deserialize)]
struct Told {
    object: String,
    action: Action,
    from: Option<Numbered>,
    to: Option<Numbered>,
    remarks: Vec<String>,
    objects: Vec<ObjectChange>,
    hooks: Vec<HookRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Install,
    Upgrade,
    Keep,
}

#[derive(Debug, Deserialize)]
struct Numbered {
    revision: u64,
    chart: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Change {
    Added,
    Changed,
    Deleted,
    Replaced,
    Kept,
    Refused,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectChange {
    change: Change,
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    #[serde(default)]
    drift: Vec<String>,
    note: Option<String>,
}

#[derive(Debug, Deserialize)]
struct HookRun {
    event: String,
    kind: String,
    name: String,
    weight: i64,
    known: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

impl Told {
    /// Whether an upgrade would end as a failure.
    fn is_refused(&self) -> bool {
        self.objects.iter().any(|object| object.change == Change::Refused)
    }

    /// Whether nothing would be done.
    fn is_nothing(&self) -> bool {
        self.action == Action::Keep && self.objects.is_empty()
    }

    fn exit_code(&self) -> u8 {
        match (self.is_refused(), self.is_nothing()) {
            (true, _) => 2,
            (false, true) => 0,
            (false, false) => 1,
        }
    }
}

/// Looks.
///
/// # Errors
/// [`ReleaseError`]; the exit code is 2 then.
pub fn execute(args: &DiffArgs) -> Result<Difference, ReleaseError> {
    let (kind, name, rest) = object_of(&args.object)?;
    if let Some(more) = rest.first() {
        return Err(ReleaseError::Usage(format!("one object at a time: {more:?} is too much")));
    }
    let watches = args.release.watches()?;
    let mut session = args.release.open()?;
    let kind = args.release.kind(&session, kind, watches.as_ref())?;
    let namespace = args.release.namespace();
    let wanted = wanted(&kind, watches.as_ref())?;
    session.also_may(vec![dry_runs()])?;
    let subject = subject(args, &session, &kind, (&namespace, name), &wanted)?;
    let options = serde_json::json!({"object": object_option(&kind, &namespace, name)});
    let question = Question { files: wanted.files, ..question("diff", options) };
    let answer = told(&session, &question, &subject)?;
    let told: Told = serde_json::from_value(answer.clone()).map_err(|error| {
        ReleaseError::Answer(format!("the plugin's answer cannot be understood: {error}"))
    })?;
    let text = match args.output {
        Output::Json | Output::Yaml => encoded(&answer, args.output)?,
        Output::Table | Output::Wide => printed::printed(&told, args.unified, args.color.is_on()),
    };
    if told.is_nothing() {
        eprintln!("pilothouse: {}: nothing would be changed", told.object);
    }
    Ok(Difference { text, exit_code: told.exit_code() })
}

/// What an entry of the watches file says of a kind, or the resource of our own of itself.
struct Wanted {
    settings: Value,
    files: Vec<PersonFile>,
    /// Where its chart may come from, where it lies elsewhere.
    places: Vec<Place>,
}

fn wanted(kind: &Kind, watches: Option<&Watches>) -> Result<Wanted, ReleaseError> {
    if (&*kind.gvk.group, &*kind.gvk.kind) == (RELEASE.0, RELEASE.2) {
        let settings = serde_json::json!({"fromSpec": true});
        return Ok(Wanted { settings, files: Vec::new(), places: vec![Place::Anywhere] });
    }
    let entry = entry_of(kind, watches)?;
    let (files, places) = match &entry.chart {
        ChartPlace::Disk(path) => (vec![PersonFile::tree(&path.display().to_string(), path)], Vec::new()),
        ChartPlace::Elsewhere(place) => (Vec::new(), vec![place.clone()]),
    };
    Ok(Wanted { settings: entry.settings.clone(), files, places })
}

/// The plugin's answer, as soon as it has the chart.
fn told(session: &Session, question: &Question, subject: &Subject) -> Result<Value, ReleaseError> {
    let started = Instant::now();
    let mut waited_for = String::new();
    loop {
        let answer: Value = ask(session, question, Some(subject))?;
        let Some(why) = answer.get("waiting").and_then(Value::as_str) else { return Ok(answer) };
        let is_hopeless = subject.charts.as_ref().is_none_or(|(charts, _)| charts.has_trouble());
        if is_hopeless || started.elapsed() > FETCHING {
            return Err(ReleaseError::Failed(why.to_owned()));
        }
        if waited_for != why {
            eprintln!("pilothouse: {why}");
            why.clone_into(&mut waited_for);
        }
        session.wait(async { tokio::time::sleep(PAUSE).await });
    }
}

/// The entry of the watches file for a kind, whatever its version.
fn entry_of<'w>(kind: &Kind, watches: Option<&'w Watches>) -> Result<&'w WatchEntry, ReleaseError> {
    let watches = watches.ok_or_else(|| ReleaseError::NoWatches(kind.gvk.clone()))?;
    let same = |entry: &&WatchEntry| entry.gvk.group == kind.gvk.group && entry.gvk.kind == kind.gvk.kind;
    let all = watches.entries.iter().filter(same).collect::<Vec<_>>();
    let exact = all.iter().find(|entry| entry.gvk == kind.gvk);
    exact.or(all.first()).copied().ok_or_else(|| ReleaseError::NoEntry {
        path: watches.path.display().to_string(),
        kind: kind.gvk.clone(),
        kinds: watches.entries.iter().map(|entry| entry.gvk.to_string()).collect(),
    })
}

fn dry_runs() -> Rule {
    let all = || vec!["*".to_owned()];
    Rule { api_groups: all(), resources: all(), verbs: vec![DRY_RUN.to_owned()], ..Rule::default() }
}

/// The object, as the owner of what its release would apply.
fn subject(
    args: &DiffArgs,
    session: &Session,
    kind: &Kind,
    (namespace, name): (&str, &str),
    wanted: &Wanted,
) -> Result<Subject, ReleaseError> {
    let resource = kube::api::ApiResource {
        group: kind.gvk.group.clone(),
        version: kind.gvk.version.clone(),
        api_version: kind.gvk.api_version(),
        kind: kind.gvk.kind.clone(),
        plural: kind.plural.clone(),
    };
    let api = kube::Api::<kube::api::DynamicObject>::namespaced_with(
        session.client().clone(),
        namespace,
        &resource,
    );
    let found = session.wait(api.get_metadata_opt(name)).map_err(|error| args.release.failure(&error))?;
    let found = found.ok_or_else(|| {
        ReleaseError::Failed(format!("there is no {} {name:?} in namespace {namespace:?}", kind.gvk.kind))
    })?;
    let key = ObjectKey::new(Arc::new(kind.gvk.clone()), Some(namespace), name);
    let owner = Owner { key, uid: Arc::from(found.metadata.uid.unwrap_or_default()) };
    let charts = if wanted.places.is_empty() {
        None
    } else {
        Some((session.charts(&args.release.plugin)?, wanted.places.clone()))
    };
    Ok(Subject { owner, settings: Arc::from(wanted.settings.to_string()), charts })
}
