//! Small stand-ins for the controllers of built-in kinds: workloads become ready, jobs end, when a test says so.

use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    object::{ref_of, text},
};
use crate::{Gvk, KubeError, ObjectRef};

const WORKLOADS: [(&str, &str); 4] =
    [("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("batch", "Job")];

impl Cluster {
    /// Lets all pods of a Deployment, StatefulSet or DaemonSet be ready.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn set_ready(&self, workload: &ObjectRef) -> Result<(), KubeError> {
        let wanted = self.wanted_replicas(workload)?;
        self.set_ready_replicas(workload, wanted)
    }

    /// Lets so many pods of a Deployment, StatefulSet or DaemonSet be ready, of those it wants.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn set_ready_replicas(&self, workload: &ObjectRef, ready: u64) -> Result<(), KubeError> {
        let object = self.found(workload)?;
        let wanted = self.wanted_replicas(workload)?;
        let generation = object.pointer("/metadata/generation").cloned().unwrap_or_default();
        let available = if ready >= wanted { "True" } else { "False" };
        let status = match workload.kind.kind.as_str() {
            "DaemonSet" => json!({
                "observedGeneration": generation, "desiredNumberScheduled": wanted, "currentNumberScheduled": wanted,
                "updatedNumberScheduled": wanted, "numberReady": ready, "numberAvailable": ready,
                "numberMisscheduled": 0,
            }),
            "StatefulSet" => json!({
                "observedGeneration": generation, "replicas": wanted, "readyReplicas": ready, "availableReplicas": ready,
                "currentReplicas": wanted, "updatedReplicas": wanted, "currentRevision": "1", "updateRevision": "1",
            }),
            _ => json!({
                "observedGeneration": generation, "replicas": wanted, "updatedReplicas": wanted,
                "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": wanted.saturating_sub(ready),
                "conditions": [
                    {"type": "Available", "status": available, "reason": "MinimumReplicas"},
                    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
                ],
            }),
        };
        self.set_status(workload, &status)
    }

    /// Lets a Job succeed.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn complete_job(&self, namespace: &str, name: &str) -> Result<(), KubeError> {
        let job = ObjectRef::new(Gvk::new("batch", "v1", "Job"), namespace, name);
        self.found(&job)?;
        let now = self.state().store.timestamp();
        self.set_status(
            &job,
            &json!({
                "active": 0, "ready": 0, "succeeded": 1, "startTime": now, "completionTime": now,
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached", "lastTransitionTime": now},
                    {"type": "Complete", "status": "True", "reason": "CompletionsReached", "lastTransitionTime": now},
                ],
            }),
        )
    }

    /// Lets a Job fail for good.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn fail_job(&self, namespace: &str, name: &str, message: &str) -> Result<(), KubeError> {
        let job = ObjectRef::new(Gvk::new("batch", "v1", "Job"), namespace, name);
        self.found(&job)?;
        let now = self.state().store.timestamp();
        let failed = |kind: &str| json!({"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": message, "lastTransitionTime": now});
        let conditions = [failed("FailureTarget"), failed("Failed")];
        self.set_status(
            &job,
            &json!({"active": 0, "ready": 0, "failed": 1, "startTime": now, "conditions": conditions}),
        )
    }

    /// From now on every workload is ready, and every Job succeeds, as soon as a [`Runner`](super::Runner) looks.
    pub fn run_workloads(&self) {
        self.state().workloads_run = true;
    }

    /// Does what [`run_workloads`](Self::run_workloads) promised. True when there was something to do.
    pub(super) fn tick_workloads(&self) -> bool {
        if !self.state().workloads_run {
            return false;
        }
        let mut worked = false;
        for (group, kind) in WORKLOADS {
            for object in self.all(&Gvk::new(group, "v1", kind)) {
                if is_settled(&object) {
                    continue;
                }
                let reference = ref_of(&object);
                let namespace = reference.namespace.clone().unwrap_or_default();
                let done = match kind {
                    "Job" => self.complete_job(&namespace, &reference.name),
                    _ => self.set_ready(&reference),
                };
                worked |= done.is_ok();
            }
        }
        worked
    }

    fn found(&self, object: &ObjectRef) -> Result<Value, KubeError> {
        let found: Option<Value> = self.kubectl().get_ref(object)?;
        found.ok_or_else(|| super::object::not_found(&object.kind.kind, &object.name))
    }

    fn wanted_replicas(&self, workload: &ObjectRef) -> Result<u64, KubeError> {
        let object = self.found(workload)?;
        Ok(object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1))
    }
}

/// Has its controller nothing to do any more?
fn is_settled(object: &Value) -> bool {
    let status = object.get("status");
    let of_status = |name: &str| status.and_then(|status| status.get(name));
    if text(object, "/kind") == "Job" {
        let suspended = object.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true);
        return suspended || of_status("conditions").is_some();
    }
    let wanted = object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
    let ready = of_status("readyReplicas").or_else(|| of_status("numberReady")).and_then(Value::as_u64);
    of_status("observedGeneration") == object.pointer("/metadata/generation") && ready == Some(wanted)
}
