//! `diff`: what the operator would change now, asked of the API server and done nowhere.
//!
//! What is wanted is found as a reconciliation finds it. Each object is then shown three ways: as it is, as it would be, and
//! which fields of it somebody else has changed since the deployed revision was applied.

mod change;
mod hooks;
mod look;
mod masked;
mod wanted;

use std::rc::Rc;

use pilothouse_sdk::{CommandAnswer, Error, Host};
use serde::{Deserialize, Serialize};

use super::subject::Subject;
use crate::{HelmOperator, call::Call, elsewhere, reconcile::Reconciliation};
use change::ObjectChange;
use hooks::HookRun;
use wanted::{Action, Wanted};

/// Options of `diff`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DiffOptions {
    /// The object.
    object: Subject,
}

/// A revision, there or to come.
#[derive(Debug, Serialize)]
struct Numbered {
    revision: u32,
    chart: String,
}

/// What would be changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Diff {
    object: String,
    release: String,
    namespace: String,
    action: Action,
    /// What is deployed.
    from: Option<Numbered>,
    /// What would be; none: no revision is made.
    to: Option<Numbered>,
    /// What there is to know beside.
    remarks: Vec<String>,
    /// What differs, in the order in which it would be done.
    objects: Vec<ObjectChange>,
    /// The hooks that would run, in order.
    hooks: Vec<HookRun>,
}

/// What is told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Told {
    /// Nothing before the chart is here; the command is to be asked again.
    Waiting {
        /// For what.
        waiting: String,
    },
    /// What would be changed.
    Diff(Box<Diff>),
}

/// Tells it as JSON.
pub(super) fn diff(
    host: &Rc<dyn Host>,
    options: &DiffOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let opened = options.object.open(host)?;
    let told = told(&opened).map_err(|error| format!("{}: {}", opened.told(), error.message()))?;
    answer.output = serde_json::to_vec(&told).map_err(|error| error.to_string())?;
    Ok(())
}

fn told(opened: &super::subject::Opened) -> Result<Told, Error> {
    // What it keeps are caches; it ends with the command.
    let operator = HelmOperator::default();
    let call = Call::open(&operator, &opened.ctx, &opened.object)?;
    let chart = match call.chart()? {
        elsewhere::Wanted::Here(chart) => chart,
        elsewhere::Wanted::OnItsWay(waiting) => return Ok(Told::Waiting { waiting }),
    };
    let mut reconciliation = Reconciliation::open(&call, chart)?;
    reconciliation.look()?;
    reconciliation.check_owner()?;
    call.check_chart(&reconciliation.chart)?;
    let wanted = Wanted::find(&reconciliation)?;
    let objects = look::changes(&reconciliation, &wanted)?;
    let hooks = hooks::runs(&call, &wanted)?;
    let number = |stored: &helm_release::Stored| {
        let chart = stored.release.chart_name().unwrap_or_default();
        Numbered { revision: stored.release.version, chart: format!("{}-{}", chart.name, chart.version) }
    };
    let owner = call.owner();
    Ok(Told::Diff(Box::new(Diff {
        object: opened.told(),
        release: owner.release.clone(),
        namespace: owner.namespace.clone(),
        action: wanted.action,
        from: wanted.deployed.as_ref().map(number),
        to: wanted.candidate.as_ref().map(number),
        remarks: wanted.remarks(&reconciliation)?,
        objects,
        hooks,
    })))
}
