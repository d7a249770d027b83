//! The examples of `docs/plugin-authoring.md` beyond `hello`: the page quotes this file, and a test of `hello` checks that
//! it does.

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::HashMap};

    use pilothouse_sdk::{
        Context, DeleteOptions, Dynamic, Error, Finalized, Gvk, ObjectRef, Outcome, Plugin, Reconciler,
        Watch,
        harness::{Cluster, Runner, every_crash},
        k8s_openapi::api::{batch::v1::Job, core::v1::Pod},
    };
    use serde_json::{Value, json};

    /// Runs a Job for every generation of its object, step by step.
    struct Runs;

    impl Reconciler for Runs {
        type Resource = Dynamic;

        fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
            let namespace = object.namespace().unwrap_or_default();
            let name = format!("{}-{}", object.name(), object.generation());
            let watch = Watch::owned(Gvk::of::<Job>());
            let Some(found) = ctx.kube().get::<Job>(namespace, &name)? else {
                ctx.kube().apply_one(&job(namespace, &name))?;
                return Ok(Outcome::progressing("JobStarted", format!("waiting for {name}")).watch(watch));
            };
            let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
            let ended =
                |kind: &str| conditions.iter().any(|known| known.type_ == kind && known.status == "True");
            if ended("Failed") {
                let words = last_words(ctx, namespace, &name)?;
                return Err(Error::permanent("JobFailed", format!("{name}: {words}")).watch(watch));
            }
            if !ended("Complete") {
                return Ok(Outcome::progressing("JobRunning", format!("waiting for {name}")).watch(watch));
            }
            Ok(Outcome::ready().status(&json!({"lastRun": name})).watch(watch))
        }

        fn finalize(&self, ctx: &Context, object: &Dynamic) -> Result<Finalized, Error> {
            let lock = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), "kube-system", object.name());
            ctx.kube().delete_ref(&lock, &DeleteOptions::default())?;
            Ok(Finalized::Done)
        }
    }

    /// What the last pod of a job said.
    fn last_words(ctx: &Context, namespace: &str, job: &str) -> Result<String, Error> {
        let pods = ctx.kube().list::<Pod>(namespace).labels(format!("job-name={job}")).all()?;
        let Some(name) = pods.last().and_then(|pod| pod.metadata.name.as_deref()) else {
            return Ok("it left no pod".to_owned());
        };
        Ok(ctx.kube().logs(namespace, name, None, 1024)?)
    }

    fn job(namespace: &str, name: &str) -> Value {
        let container = json!({"name": "main", "image": "busybox", "command": ["true"]});
        let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
        let metadata = json!({"name": name, "namespace": namespace});
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}})
    }

    /// Counts the lines of an asset, and keeps the answer as long as its instance lives.
    #[derive(Default)]
    struct Lines {
        known: RefCell<HashMap<String, usize>>,
    }

    impl Lines {
        fn count(&self, ctx: &Context) -> Result<usize, Error> {
            let tree = ctx.asset("words")?;
            if let Some(known) = self.known.borrow().get(&tree.digest) {
                return Ok(*known);
            }
            let files = ctx.asset_files("words")?;
            let lines = files.iter().flat_map(|file| &file.content).filter(|byte| **byte == b'\n').count();
            self.known.borrow_mut().insert(tree.digest, lines);
            Ok(lines)
        }
    }

    impl Reconciler for Lines {
        type Resource = Dynamic;

        fn reconcile(&self, ctx: &Context, _: &Dynamic) -> Result<Outcome, Error> {
            Ok(Outcome::ready().status(&json!({"lines": self.count(ctx)?})))
        }
    }

    const FINALIZER: &str = "example.com/runs";

    fn kind() -> Gvk {
        Gvk::new("example.com", "v1", "Run")
    }

    fn object() -> ObjectRef {
        ObjectRef::new(kind(), "default", "nightly")
    }

    fn cluster() -> Cluster {
        let cluster = Cluster::new();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "runs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Run", "plural": "runs"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}}]}});
        cluster.define(&definition).unwrap();
        let metadata = json!({"name": "nightly", "namespace": "default"});
        cluster
            .create([
                json!({"apiVersion": "example.com/v1", "kind": "Run", "metadata": metadata, "spec": {}}),
            ])
            .unwrap();
        cluster
    }

    fn runs(cluster: &Cluster) -> Runner {
        Runner::new(cluster, || Plugin::new().with(Runs)).kind(kind(), FINALIZER)
    }

    #[test]
    fn a_run_waits_for_its_job_and_is_ready_after_it() {
        let cluster = cluster();
        let mut runner = runs(&cluster);
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&object(), "Ready").unwrap().message, "waiting for nightly-1");
        cluster.complete_job("default", "nightly-1").unwrap();
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&object(), "Ready").unwrap().status.as_str(), "True");
    }

    #[test]
    fn a_failed_job_stalls_its_run_with_its_last_words() {
        let cluster = cluster();
        let mut runner = runs(&cluster);
        runner.settle().unwrap();
        let labels = json!({"job-name": "nightly-1"});
        let metadata = json!({"name": "nightly-1-x", "namespace": "default", "labels": labels});
        cluster.create([json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})]).unwrap();
        cluster.set_log("default", "nightly-1-x", None, "no space left");
        cluster.fail_job("default", "nightly-1", "back-off limit").unwrap();
        runner.settle().unwrap();
        assert_eq!(cluster.condition(&object(), "Stalled").unwrap().message, "nightly-1: no space left");
        assert_eq!(runner.next_call(), None);
    }

    #[test]
    fn a_crash_anywhere_starts_no_job_twice() {
        every_crash(|nth| {
            let cluster = cluster();
            cluster.crash_after_write(nth);
            runs(&cluster).settle().unwrap();
            let jobs = cluster.kubectl().list::<Job>("default").all().unwrap();
            assert_eq!(jobs.len(), 1, "crash {nth}");
            cluster
        });
    }

    #[test]
    fn a_deleted_run_takes_its_lock_along() {
        let cluster = cluster();
        let mut runner = runs(&cluster);
        let metadata = json!({"name": "nightly", "namespace": "kube-system"});
        cluster.create([json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})]).unwrap();
        runner.settle().unwrap();
        cluster.kubectl().delete_ref(&object(), &DeleteOptions::default()).unwrap();
        runner.settle().unwrap();
        assert!(
            !cluster.objects().iter().any(|left| left.name.starts_with("nightly")),
            "{:?}",
            cluster.objects()
        );
    }

    #[test]
    fn a_plugin_reads_what_its_operator_gave_it() {
        let cluster = cluster();
        let plugin = || Plugin::new().with(Lines::default());
        let mut runner =
            Runner::new(&cluster, plugin).kind(kind(), None).asset("words", [("a", "x\ny\n")]).pooled();
        runner.settle().unwrap();
        let live: Value = cluster.kubectl().get_ref(&object()).unwrap().unwrap();
        assert_eq!(live["status"]["lines"], json!(2));
    }
}
