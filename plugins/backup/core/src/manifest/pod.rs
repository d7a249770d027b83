//! The pod of a Job: the database's tools beside the host's own image, with a pipe between them.

use backup_api::{Encryption, Fragment, JobParameters, Output, SecretKey};
use serde_json::{Map, Value, json};

use super::{ManifestError, merge::merge};

/// User of the host's image.
const OWN_USER: u32 = 65_532;
/// What Debian's packages and the projects' images call the user of their database.
const DATABASE_USER: u32 = 999;
const EXCHANGE: &str = "pilothouse-exchange";
/// Where it is mounted. `/pilothouse` is the program of the host's image: nothing can be mounted there.
const SHARED: &str = "/exchange";
const DATA: &str = "/exchange/data";
const STATUS: &str = "/exchange/status";
const TOKEN: &str = "pilothouse-token";
const IDENTITY: &str = "pilothouse-age";

/// Which way the data goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// To the storage.
    Up(Output),
    /// From the storage: hash and size that it must have.
    Down { sha256: String, size: u64 },
}

/// What a pod is made from.
pub(super) struct Pod<'a> {
    pub(super) way: Way,
    /// Name of the container with the database's tools.
    pub(super) container: &'static str,
    pub(super) image: Option<String>,
    /// A script for `/bin/sh`; what a template names as command follows as its arguments.
    pub(super) script: String,
    pub(super) own_command: bool,
    pub(super) parameters: &'a JobParameters,
    pub(super) port: Option<u16>,
    pub(super) format: String,
    /// It reads or writes files of any user.
    pub(super) claim: Option<&'a str>,
    pub(super) host_image: &'a str,
    /// The Secret with `url`, `token` and `ca.crt`.
    pub(super) secret: &'a str,
    pub(super) encryption: Option<&'a Encryption>,
    pub(super) template: Option<&'a Fragment>,
    /// Where the template stands in the plan, for people.
    pub(super) at: &'static str,
}

impl Pod<'_> {
    /// `metadata` and `spec` of a pod template.
    pub(super) fn template(&self) -> Result<Value, ManifestError> {
        let empty = Fragment::new();
        let over = self.template.unwrap_or(&empty);
        self.check(over)?;
        let mut container = self.container(over)?;
        if let Some(image) = &self.image {
            set(&mut container, "image", json!(image));
        }
        let base = json!({"metadata": {}, "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // No fsGroup: it would give all files of a claim to another group, and some databases refuse to start on that.
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": self.volumes(),
            "initContainers": self.pipe(),
            "containers": [container, self.transfer()?],
        }});
        // The command is run by our script, which tells how it ended.
        let mut over = Value::Object(over.clone());
        let script = self.command(&over);
        let merged = merge(base, &strip_command(&mut over, self.container));
        let merged =
            merge(merged, &json!({"spec": {"containers": [{"name": self.container, "command": script}]}}));
        let named = merged.pointer("/spec/containers/0/image").and_then(Value::as_str);
        if named.is_none_or(str::is_empty) {
            let what = format!("say the image of the container {}", self.container);
            return Err(ManifestError::at(self.at, what));
        }
        Ok(merged)
    }

    /// What a template may not do: everything else is Kubernetes' to say.
    fn check(&self, over: &Fragment) -> Result<(), ManifestError> {
        let wrong = |at: &str, what: &str| Err(ManifestError::at(format!("{}{at}", self.at), what));
        if let Some(field) = over.keys().find(|field| !["metadata", "spec"].contains(&field.as_str())) {
            return wrong(&format!(".{field}"), "a pod template has metadata and spec only");
        }
        let spec = over.get("spec").cloned().unwrap_or_default();
        if spec.get("restartPolicy").is_some_and(|policy| policy != "Never") {
            return wrong(
                ".spec.restartPolicy",
                "it is Never: an attempt that fails is begun anew with a pod of its own",
            );
        }
        let named = |list: &str, name: &str| {
            let items = spec.get(list).and_then(Value::as_array);
            items.into_iter().flatten().any(|item| item.get("name").is_some_and(|found| found == name))
        };
        for (list, name) in [
            ("containers", "transfer"),
            ("initContainers", "pipe"),
            ("volumes", TOKEN),
            ("volumes", EXCHANGE),
        ] {
            if named(list, name) {
                return wrong(&format!(".spec.{list}"), &format!("the name {name} is taken: choose another"));
            }
        }
        if mounts_token(&spec) {
            return wrong(".spec", "the volume with the token is for the container transfer alone");
        }
        Ok(())
    }

    fn container(&self, over: &Fragment) -> Result<Value, ManifestError> {
        if !self.own_command && command_of(over, self.container).is_none() {
            let what = format!("without a preset, the container {} has to have a command", self.container);
            return Err(ManifestError::at(format!("{}.spec.containers", self.at), what));
        }
        let mut mounts = vec![
            json!({"name": EXCHANGE, "mountPath": SHARED}),
            json!({"name": "scratch", "mountPath": "/scratch"}),
            json!({"name": "tmp", "mountPath": "/tmp"}),
        ];
        if self.claim.is_some() {
            let read_only = matches!(self.way, Way::Up(_));
            mounts.push(json!({"name": "data", "mountPath": "/data", "readOnly": read_only}));
        }
        Ok(json!({
            "name": self.container,
            "env": self.environment(),
            "securityContext": if self.claim.is_some() { any_owner() } else { hardened(DATABASE_USER) },
            "volumeMounts": mounts,
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }))
    }

    /// Our script, with the template's command behind it where there is no preset.
    fn command(&self, over: &Value) -> Value {
        let mut command = vec![json!("/bin/sh"), json!("-c"), json!(self.script)];
        if !self.own_command
            && let Some(own) = over.as_object().and_then(|over| command_of(over, self.container))
        {
            command.push(json!(self.container));
            command.extend(own);
        }
        Value::Array(command)
    }

    fn environment(&self) -> Vec<Value> {
        let JobParameters { host, port, database, user, password_secret, claim: _ } = self.parameters;
        let port = port.or(self.port).map(|port| port.to_string());
        let way = match self.way {
            Way::Up(_) => "PILOTHOUSE_OUTPUT",
            Way::Down { .. } => "PILOTHOUSE_INPUT",
        };
        let mut variables = vec![
            json!({"name": way, "value": DATA}),
            json!({"name": "PILOTHOUSE_FORMAT", "value": self.format}),
            json!({"name": "HOME", "value": "/scratch"}),
        ];
        let given = [
            ("PILOTHOUSE_HOST", host.clone()),
            ("PILOTHOUSE_PORT", port),
            ("PILOTHOUSE_DATABASE", database.clone()),
            ("PILOTHOUSE_USER", user.clone()),
        ];
        if let Way::Down { .. } = self.way {
            let field = json!({"fieldRef": {"fieldPath": "status.podIP"}});
            variables.push(json!({"name": "PILOTHOUSE_POD_IP", "valueFrom": field}));
        }
        let literal = |text: String| text.replace("$(", "$$(");
        variables.extend(
            given
                .into_iter()
                .filter_map(|(name, value)| Some(json!({"name": name, "value": literal(value?)}))),
        );
        if let Some(SecretKey { name, key }) = password_secret {
            variables.push(json!({"name": "PILOTHOUSE_PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}));
        }
        variables
    }

    /// Makes the pipe before either of its ends is there.
    fn pipe(&self) -> Vec<Value> {
        if self.way == Way::Up(Output::File) {
            return Vec::new();
        }
        vec![json!({
            "name": "pipe",
            "image": self.host_image,
            "args": ["pipe", DATA],
            "securityContext": hardened(OWN_USER),
            "resources": small(),
            "volumeMounts": [{"name": EXCHANGE, "mountPath": SHARED}],
        })]
    }

    fn transfer(&self) -> Result<Value, ManifestError> {
        let mut mounts = vec![
            json!({"name": EXCHANGE, "mountPath": SHARED}),
            json!({"name": TOKEN, "mountPath": "/var/run/pilothouse", "readOnly": true}),
        ];
        if self.keys().is_some() {
            mounts.push(json!({"name": IDENTITY, "mountPath": "/var/run/age", "readOnly": true}));
        }
        let url = json!({"secretKeyRef": {"name": self.secret, "key": "url"}});
        let name =
            if matches!(self.way, Way::Up(_)) { "PILOTHOUSE_UPLOAD_URL" } else { "PILOTHOUSE_DOWNLOAD_URL" };
        Ok(json!({
            "name": "transfer",
            "image": self.host_image,
            "args": self.arguments()?,
            "env": [
                {"name": name, "valueFrom": url},
                {"name": "PILOTHOUSE_TOKEN_FILE", "value": "/var/run/pilothouse/token"},
                {"name": "PILOTHOUSE_CA_FILE", "value": "/var/run/pilothouse/ca.crt"},
            ],
            "securityContext": hardened(OWN_USER),
            "resources": small(),
            "volumeMounts": mounts,
            "terminationMessagePath": "/dev/termination-log",
        }))
    }

    fn arguments(&self) -> Result<Vec<String>, ManifestError> {
        let mut arguments: Vec<String> = match &self.way {
            Way::Up(output) => {
                let way = if *output == Output::Stream { "--stream" } else { "--file" };
                ["upload", way, DATA, "--status", STATUS].map(str::to_owned).to_vec()
            }
            Way::Down { sha256, size } => {
                let size = size.to_string();
                let fixed = ["download", "--stream", DATA, "--status", STATUS];
                let proof = ["--sha256", sha256, "--size", &size];
                fixed.iter().chain(&proof).map(|text| (*text).to_owned()).collect()
            }
        };
        let Some(encryption) = self.encryption else { return Ok(arguments) };
        if matches!(self.way, Way::Down { .. }) {
            if encryption.age.identity_secret.is_none() {
                let what = "the artefact is encrypted: name the Secret of the key that reads it";
                return Err(ManifestError::at("encryption.age.identitySecret", what));
            }
            arguments.extend(["--identity".to_owned(), "/var/run/age/key".to_owned()]);
            return Ok(arguments);
        }
        for recipient in &encryption.age.recipients {
            arguments.extend(["--recipient".to_owned(), recipient.clone()]);
        }
        if encryption.age.recipients_secret.is_some() {
            arguments.extend(["--recipients-file".to_owned(), "/var/run/age/key".to_owned()]);
        }
        Ok(arguments)
    }

    fn keys(&self) -> Option<&SecretKey> {
        let age = &self.encryption?.age;
        if matches!(self.way, Way::Up(_)) {
            age.recipients_secret.as_ref()
        } else {
            age.identity_secret.as_ref()
        }
    }

    fn volumes(&self) -> Vec<Value> {
        let mut volumes = vec![
            json!({"name": EXCHANGE, "emptyDir": {}}),
            json!({"name": "scratch", "emptyDir": {}}),
            json!({"name": "tmp", "emptyDir": {}}),
            json!({"name": TOKEN, "secret": {"secretName": self.secret, "defaultMode": 0o444}}),
        ];
        if let Some(claim) = self.claim {
            volumes.push(json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}}));
        }
        if let Some(SecretKey { name, key }) = self.keys() {
            let items = json!([{"key": key, "path": "key"}]);
            volumes.push(json!({"name": IDENTITY, "secret": {"secretName": name, "defaultMode": 0o444, "items": items}}));
        }
        volumes
    }
}

fn hardened(user: u32) -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
        "runAsUser": user,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// Files of a volume have owners that nobody knows beforehand.
fn any_owner() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "runAsUser": 0,
        "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]},
    })
}

fn small() -> Value {
    json!({"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}})
}

fn set(value: &mut Value, field: &str, to: Value) {
    if let Some(map) = value.as_object_mut() {
        map.insert(field.to_owned(), to);
    }
}

fn containers(over: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    over.get("spec").and_then(|spec| spec.get("containers")).and_then(Value::as_array).into_iter().flatten()
}

/// Program and arguments that a template gives to a container.
fn command_of(over: &Map<String, Value>, name: &str) -> Option<Vec<Value>> {
    let container =
        containers(over).find(|container| container.get("name").is_some_and(|found| found == name))?;
    let list = |field: &str| container.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let command = list("command");
    (!command.is_empty()).then(|| command.into_iter().chain(list("args")).collect())
}

fn strip_command(over: &mut Value, name: &str) -> Value {
    let list = over.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
    let own = list
        .into_iter()
        .flatten()
        .filter(|container| container.get("name").is_some_and(|found| found == name));
    for container in own.filter_map(Value::as_object_mut) {
        container.remove("command");
        container.remove("args");
    }
    over.take()
}

fn mounts_token(spec: &Value) -> bool {
    ["containers", "initContainers"].into_iter().any(|list| {
        let containers = spec.get(list).and_then(Value::as_array);
        let mounts = containers.into_iter().flatten().filter_map(|container| container.get("volumeMounts"));
        mounts
            .filter_map(Value::as_array)
            .flatten()
            .any(|mount| mount.get("name").is_some_and(|name| name == TOKEN))
    })
}
