//! A plugin that does on demand what no plugin should. `spec.do` of its object says what.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "the exported hooks are generated")]

#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    reason = "generated from the WIT package"
)]
mod bindings {
    wit_bindgen::generate!({ path: "../../../../wit/0.1.0", world: "plugin" });
}

use bindings::exports::pilothouse::operator::reconciler::{
    Failure, Finalized, Guest, Outcome, Request, State,
};
use bindings::pilothouse::operator::{assets, kube, log, types};

struct Misbehave;

impl Guest for Misbehave {
    fn reconcile(request: Request) -> Result<Outcome, Failure> {
        let object: serde_json::Value = serde_json::from_str(&request.object).unwrap_or_default();
        let what = object["spec"]["do"].as_str().unwrap_or_default().to_owned();
        let given: Vec<String> = match &object["spec"]["objects"] {
            serde_json::Value::Array(objects) => objects.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        Ok(match &*what {
            "children" => Outcome { children: Some(given), ..outcome() },
            "apply" => apply(given),
            what => act(what),
        })
    }

    fn finalize(_: Request) -> Result<Finalized, Failure> {
        Ok(Finalized::Done)
    }
}

fn outcome() -> Outcome {
    Outcome {
        state: State::Ready,
        children: None,
        status: None,
        conditions: Vec::new(),
        drop_conditions: Vec::new(),
        events: Vec::new(),
        requeue_after_ms: None,
        watches: Vec::new(),
    }
}

fn act(what: &str) -> Outcome {
    match what {
        "trap" => std::process::abort(),
        "loop" => loop {
            std::hint::black_box(());
        },
        "allocate" => {
            let mut hoard: Vec<Vec<u8>> = Vec::new();
            loop {
                hoard.push(std::hint::black_box(vec![1; 1 << 20]));
            }
        }
        "recurse" => Outcome { requeue_after_ms: Some(deeper(1)), ..outcome() },
        "bad-status" => Outcome { status: Some("{".to_owned()), ..outcome() },
        "bad-child" => Outcome { children: Some(vec!["[]".to_owned()]), ..outcome() },
        "bad-condition" => Outcome { conditions: vec![condition("no spaces")], ..outcome() },
        "large-answer" => Outcome { status: Some(format!("\"{}\"", "x".repeat(4 << 20))), ..outcome() },
        "log-flood" => {
            for _ in 0..5 {
                log::write(types::Level::Info, &"x".repeat(2_000), &[]);
            }
            outcome()
        }
        "many-calls" => {
            let answers = (0..20).filter(|_| matches!(secret(), Err(kube::Error::Exhausted(_)))).count();
            Outcome { status: Some(format!("{{\"exhausted\":{answers}}}")), ..outcome() }
        }
        "foreign" => {
            let denied = match secret() {
                Err(kube::Error::Denied(denial)) => {
                    format!("{} {} {}", denial.verb, denial.resource, denial.account)
                }
                other => format!("{other:?}"),
            };
            Outcome { status: Some(serde_json::json!({"denied": denied}).to_string()), ..outcome() }
        }
        "look-around" => look_around(),
        _ => outcome(),
    }
}

/// Never a tail call, never optimised away.
fn deeper(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    if depth == 0 { 0 } else { deeper(depth + 1) + room.iter().sum::<u64>() }
}

fn condition(kind: &str) -> types::Condition {
    types::Condition {
        kind: kind.to_owned(),
        status: types::ConditionStatus::Yes,
        reason: String::new(),
        message: String::new(),
    }
}

/// Applies whatever it was given, and says what the host answered to each.
fn apply(objects: Vec<String>) -> Outcome {
    let items: Vec<kube::ApplyItem> = objects
        .into_iter()
        .map(|object| kube::ApplyItem { object, ownership: kube::Ownership::Mark, keep: Vec::new() })
        .collect();
    let options = kube::ApplyOptions { force: false, dry_run: false, stop_on_error: false, strict: false };
    let answers: Vec<String> =
        kube::apply(&items, options).iter().map(|answer| format!("{answer:?}")).collect();
    Outcome { status: Some(serde_json::json!({"answers": answers}).to_string()), ..outcome() }
}

fn secret() -> Result<Option<String>, kube::Error> {
    let kind = types::Gvk { group: String::new(), version: "v1".to_owned(), kind: "Secret".to_owned() };
    let object = types::ObjectRef { kind, namespace: Some("default".to_owned()), name: "x".to_owned() };
    kube::get(&object, &kube::ReadOptions { consistency: kube::Consistency::Live, fields: Vec::new() })
}

/// What the sandbox lets in: files, environment, arguments, assets of others.
fn look_around() -> Outcome {
    let files = std::fs::read_dir("/").map_or(0, Iterator::count);
    let variables = std::env::vars().count();
    let asset = matches!(assets::stat("chart"), Err(assets::Error::Unknown));
    let status = serde_json::json!({"files": files, "variables": variables, "asset": asset});
    Outcome { status: Some(status.to_string()), ..outcome() }
}

bindings::export!(Misbehave with_types_in bindings);
