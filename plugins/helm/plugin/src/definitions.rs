//! The definitions in a chart's `crds/`: brought before anything else, and waited for until they are served.

use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{ApplyItem, ApplyOptions, Error, KubeError, ObjectRef, Ownership, Watch};
use serde_json::Value;

use crate::{objects::Object, operations::Definitions, reconcile::Reconciliation, report::Pause};

/// So often definitions are looked at: not everybody may watch them.
const LOOK: SignedDuration = SignedDuration::from_secs(10);

impl Reconciliation<'_> {
    /// The definitions in the chart's `crds/`.
    pub(crate) fn definitions(&self) -> Result<Vec<Object>, Error> {
        let chart = self.chart.parsed.with_dependencies(&self.values);
        let chart = chart.map_err(|error| Error::permanent("RenderError", error.to_string()))?;
        let mut definitions = Vec::new();
        for crd in chart.crds() {
            let objects = self.call.objects(&String::from_utf8_lossy(&crd.file.data));
            let failed = |error: Error| error.context(format_args!("failed to install CRD {}", crd.path));
            definitions.extend(objects.map_err(failed)?);
        }
        Ok(definitions)
    }

    /// Brings the definitions in the chart's `crds/`, and waits until they are served (Helm's `installCRDs`). None: nothing to
    /// wait for.
    pub(crate) fn bring_definitions(&self, policy: Definitions) -> Result<Option<Pause>, Error> {
        if policy == Definitions::Skip {
            return Ok(None);
        }
        let call = self.call;
        let mut waits: Option<(ObjectRef, Timestamp)> = None;
        for object in self.definitions()? {
            if policy == Definitions::CreateReplace {
                self.replace_definition(&object)?;
            }
            if let Some(until) = self.established_by(&object)? {
                waits = waits.or(Some((object.reference, until)));
            }
        }
        call.forget_kinds();
        Ok(waits.map(|(reference, until)| Pause {
            reason: "WaitingForDefinition",
            message: format!("{} is not established yet", reference.name),
            watches: vec![Watch::object(reference)],
            until: call.now().checked_add(LOOK).ok().map(|soon| soon.min(until)),
        }))
    }

    /// Makes a definition what the chart says.
    fn replace_definition(&self, object: &Object) -> Result<(), Error> {
        let definition = self.call.owner().definition(object.clone(), self.chart.name());
        let item = ApplyItem::json(definition.to_string()).ownership(Ownership::None);
        let options = ApplyOptions { force: true, ..ApplyOptions::default() };
        match self.call.kube().apply(&[item], options).pop() {
            Some(Err(error)) => {
                Err(Error::from(error).context(format_args!("failed to update CRD {object}")))
            }
            _ => Ok(()),
        }
    }

    /// Until when a definition may take to be served; none: it is.
    ///
    /// # Errors
    /// Permanent, when that time is over.
    fn established_by(&self, object: &Object) -> Result<Option<Timestamp>, Error> {
        let call = self.call;
        let context = format!("failed to install CRD {object}");
        let explain = |error: KubeError| Error::from(error).context(&context);
        let timeout = SignedDuration::try_from(call.settings().release.timeout()?);
        let end = |from: Timestamp| {
            let end = timeout.as_ref().ok().and_then(|timeout| from.checked_add(*timeout).ok());
            end.unwrap_or(Timestamp::MAX)
        };
        let live = call.kube().clone().live();
        let found: Option<Value> = live.get_ref(&object.reference).map_err(explain)?;
        let found = match found {
            Some(found) => found,
            None => {
                let definition = call.owner().definition(object.clone(), self.chart.name());
                match call.kube().create(&definition, Ownership::None) {
                    Ok(created) => created,
                    Err(KubeError::AlreadyExists(_)) => return Ok(Some(end(call.now()))),
                    Err(error) => return Err(explain(error)),
                }
            }
        };
        if object.reference.kind.kind != "CustomResourceDefinition" || is_true(&found, "Established") {
            return Ok(None);
        }
        let created = found.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
        let end = end(created.and_then(|time| time.parse().ok()).unwrap_or(call.now()));
        if end > call.now() {
            return Ok(Some(end));
        }
        let why = ["NamesAccepted", "Established"].into_iter().find_map(|kind| denied(&found, kind));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("timed out waiting for the condition: it is not established{why}");
        let error = Error::permanent("DefinitionNotEstablished", message).context(&context);
        Err(error.watch(Watch::object(object.reference.clone())))
    }
}

fn condition<'d>(definition: &'d Value, kind: &str) -> Option<&'d Value> {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|condition| condition["type"] == kind)
}

fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Why a condition is not true.
fn denied<'d>(definition: &'d Value, kind: &str) -> Option<&'d str> {
    let condition = condition(definition, kind).filter(|condition| condition["status"] == "False")?;
    condition["message"].as_str().filter(|message| !message.is_empty())
}
