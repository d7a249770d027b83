//! A plugin that announces changes of its objects. A change is a version in the spec that is not the one in the status; it is
//! carried out by noting it, or fails where the spec says so.

use pilothouse_sdk::{
    Announcement, Context, Dynamic, Ending, Error, Finalized, Outcome, Reconciler, Standing, export,
};
use serde_json::{Value, json};

struct Announcer;

impl Reconciler for Announcer {
    type Resource = Dynamic;

    fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
        let (spec, status) = (&object.value()["spec"], &object.value()["status"]);
        if let Some(told) = status["telling"].as_object() {
            return tell(ctx, told);
        }
        let (wanted, noted) = (version(spec), version(status));
        if wanted == noted || status["failed"] == spec["version"] {
            let conditions = status["conditions"].as_array();
            let waits =
                |condition: &Value| condition["type"] == "Ready" && condition["reason"] == "Announced";
            if conditions.into_iter().flatten().any(waits) {
                ctx.withdraw()?;
            }
            return Ok(Outcome::ready());
        }
        let what = if wanted < noted { "rollback" } else { "upgrade" };
        let undone = (wanted < noted).then(|| format!("v{noted}"));
        let change = format!("v{wanted}{}", spec["suffix"].as_str().unwrap_or_default());
        let announcement = Announcement::before(what, &change)
            .undoing(undone.clone())
            .details(json!({"from": noted, "to": wanted}));
        match ctx.announce(&announcement)? {
            Standing::Pending(message) => Ok(Outcome::progressing("Announced", message)),
            Standing::Failed { reason, message } => Ok(Outcome::stalled(reason, message)),
            Standing::Done(artefacts) => {
                let uris: Vec<String> = artefacts.into_iter().map(|artefact| artefact.uri).collect();
                let failed = spec["fail"] == json!(true);
                let telling = json!({"what": what, "change": change, "failed": failed, "undoes": undone});
                let status = match failed {
                    true => json!({"failed": wanted, "artefacts": uris, "telling": telling}),
                    false => {
                        json!({"version": wanted, "failed": null, "artefacts": uris, "telling": telling})
                    }
                };
                Ok(Outcome::progressing("Telling", "it is done")
                    .status(&status)
                    .requeue_after(std::time::Duration::ZERO))
            }
        }
    }

    fn finalize(&self, ctx: &Context, object: &Dynamic) -> Result<Finalized, Error> {
        if object.value().pointer("/spec/silent") == Some(&json!(true)) {
            return Ok(Finalized::Done);
        }
        match ctx.announce(&Announcement::before("delete", "deletion"))? {
            Standing::Done(_) => Ok(Finalized::Done),
            Standing::Pending(message) | Standing::Failed { message, .. } => {
                Ok(Finalized::waiting(Outcome::progressing("Announced", message)))
            }
        }
    }
}

/// What was done is told until everybody has heard it.
fn tell(ctx: &Context, told: &serde_json::Map<String, Value>) -> Result<Outcome, Error> {
    let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let failed = told.get("failed") == Some(&json!(true));
    let ending = if failed { Ending::Failed } else { Ending::Succeeded };
    let undone = told.get("undoes").and_then(Value::as_str).map(str::to_owned);
    let announcement = Announcement::after(&text("what"), text("change"), ending).undoing(undone);
    match ctx.announce(&announcement)? {
        Standing::Pending(message) => Ok(Outcome::progressing("Telling", message)),
        _ => Ok(Outcome::ready().status(&json!({"telling": null}))),
    }
}

fn version(part: &Value) -> u64 {
    part["version"].as_u64().unwrap_or(0)
}

export!(Announcer);
