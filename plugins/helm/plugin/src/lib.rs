//! The Helm plugin: custom resources as releases of charts, as operator-sdk's Helm operator has them.
//!
//! Which kind stands for which chart comes from the binding (`watches.yaml`). A call finds out what is wanted (the
//! digest of chart, values and what the chart asks about the cluster), reads the release's history, lets
//! [`helm_release::decision::decide`] say what has to happen, and carries that out; the plan is in `helm-release`, the
//! rendering in `helm-chart`, and here is what connects both with the cluster. No call waits: while a hook runs, the
//! outcome says so, and its object wakes the next call.

mod apply;
mod call;
mod change;
mod chart_record;
mod charts;
mod check;
pub mod command;
mod decorate;
mod definitions;
mod depends;
mod drive;
mod elsewhere;
mod finalize;
mod former;
mod go_duration;
mod hooks;
mod inputs;
mod kinds;
mod left_alone;
mod lifecycle;
mod live_values;
mod looked_up;
mod lookup;
mod mask;
mod measures;
mod merge_keys;
mod objects;
mod operations;
mod options;
mod overrides;
mod ownership;
mod post_render;
mod readiness;
mod reconcile;
mod release_spec;
mod releases;
mod render;
mod repair;
mod report;
mod requests;
mod rest;
mod same;
mod settings;
mod store;
mod suspend;
mod undeclared;
mod values;
mod values_from;

use std::cell::RefCell;

use pilothouse_sdk::{Context, Dynamic, Error, Finalized, Outcome, Reconciler};

use crate::{
    call::Call, charts::Charts, elsewhere::Wanted, looked_up::LastAsked, measures::State,
    reconcile::Reconciliation, releases::Releases, report::Concern,
};

/// The allocator of the C library took a sixth of the time of a rendering.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Reconciles any kind that a binding gives a chart to. What it keeps are caches.
#[derive(Debug, Default)]
pub struct HelmOperator {
    charts: RefCell<Charts>,
    releases: RefCell<Releases>,
    lookups: RefCell<LastAsked>,
}

impl Reconciler for HelmOperator {
    type Resource = Dynamic;

    fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
        let call = Call::open(self, ctx, object)?;
        if call.settings().release.suspend || call.annotations().suspend {
            let outcome = call.suspended();
            call.count_release(None);
            return Ok(outcome);
        }
        let result = match call.chart() {
            Ok(Wanted::Here(chart)) => match Reconciliation::open(&call, chart) {
                Ok(reconciliation) => reconciliation.run(),
                Err(error) => Err(call.keep_up(error)),
            },
            Ok(Wanted::OnItsWay(why)) => call.wait_for_chart(&why),
            Err(error) => Err(call.keep_up(error)),
        };
        let result = result.map_err(|error| call.told_when_it_stays(error, Concern::Reconcile));
        let result = call.with_refusal_told(call.with_chart_told(result));
        let result = call.with_resumption_told(result);
        call.count_reconcile(if result.is_ok() { "success" } else { "error" });
        call.count_release(result.as_ref().err());
        result
    }

    fn finalize(&self, ctx: &Context, object: &Dynamic) -> Result<Finalized, Error> {
        // Releases are in namespaces: it never had one.
        if object.namespace().is_none() {
            return Ok(Finalized::Done);
        }
        let call = Call::open(self, ctx, object)?;
        let result = call.uninstall().map_err(|error| call.told_when_it_stays(error, Concern::Uninstall));
        call.stands_at(State::Uninstalling);
        call.count_release(None);
        result
    }
}

pilothouse_sdk::export!(HelmOperator::default());
pilothouse_sdk::export_commands!(command::run);
