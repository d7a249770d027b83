//! `pilothouse backups import`: the Backup objects that a storage tells of.

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::{BackupsError, MESSAGE, PlaceArgs, Report, size};
use crate::blob::place::{Address, Place, StoreError};
use crate::capability::rule::Rule;
use crate::cli::asking::{self, AskingError, Output, ask, encoded, question};
use crate::cli::table::{shortened, table};
use crate::cli::time::age;
use crate::command::Session;

/// The API group of the backup plugin's kinds.
const GROUP: &str = "backup.pilothouse.dev";
/// Its version.
const VERSION: &str = "v1alpha1";

/// Flags of `pilothouse backups import`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("where").args(["storage", "policy"]).required(true), after_help = "\
EXAMPLES:
  pilothouse backups import --policy nightly --dry-run            # what is in the policy's storage?
  pilothouse backups import --storage s3+https://minio.store:9000/backups --credentials-secret s3 -n shop
  pilothouse backups import --policy nightly --from shop -n shop-restored --subject Database/db

Beside each artefact stands what is known of it. For each one that is whole and has no Backup in the namespace, that is made, with the
address and the Secrets named here; a Restore can name it then. How it is restored stands in the storage as well: the image, the host and
the Secret with its password. Import only from a storage into which nobody writes who may not do that here; pod templates are never taken
from it. The storage is only read, and deleting what was imported leaves it as it is. It takes the rights to create Backups and to patch their status, and to read the named Secrets.

EXIT CODES:
  0  everything that is meant is there now   1  something is not, and MESSAGE says why")]
pub struct ImportArgs {
    /// Where the artefacts are: s3://bucket/prefix, s3+https://host:port/bucket/prefix, gs://…, az://account/container….
    #[arg(long, value_name = "URL", value_parser = storage)]
    pub storage: Option<String>,
    /// Take the storage, its Secrets and its settings from this BackupPolicy of the namespace.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["region", "credentials_secret", "authorities_secret", "virtual_hosted"])]
    pub policy: Option<String>,
    /// Region of S3.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Secret of the namespace with the credentials of the storage.
    #[arg(long, value_name = "NAME")]
    pub credentials_secret: Option<String>,
    /// Secret of the namespace with the authorities of the storage's certificate.
    #[arg(long, value_name = "NAME/KEY", value_parser = secret_key)]
    pub authorities_secret: Option<(String, String)>,
    /// The bucket is a part of the host's name, with a server of one's own.
    #[arg(long)]
    pub virtual_hosted: bool,
    /// Only what was taken in this namespace. Default: the one they are imported into.
    #[arg(long, value_name = "NS")]
    pub from: Option<String>,
    /// Only look.
    #[arg(long)]
    pub dry_run: bool,
    /// What all have.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Imports, or only looks.
///
/// # Errors
/// [`BackupsError`].
pub(super) fn execute(args: &ImportArgs) -> Result<Report, BackupsError> {
    let place = &args.place;
    let namespace = place.namespace();
    let mut session = asking::open(&place.plugin, &place.cluster)?;
    let store = store(&session, args, &namespace)?;
    session.also_may_with_store(rules(&namespace), store).map_err(AskingError::from)?;
    let options = json!({
        "namespace": namespace, "storage": args.stated(), "policy": args.policy, "from": args.from,
        "subject": place.subject, "dryRun": args.dry_run,
    });
    let found: Value = ask(&session, &question("import", options), None)?;
    let list = |name: &str| found.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let rows = list("rows");
    let exit_code = u8::from(rows.iter().any(|row| row["outcome"] == "Refused"));
    if matches!(place.output, Output::Json | Output::Yaml) {
        return Ok(Report { text: encoded(&found, place.output)?, exit_code });
    }
    if rows.is_empty() {
        let from = args.from.as_deref().unwrap_or(&namespace);
        let others = list("others");
        let others: Vec<&str> = others.iter().filter_map(Value::as_str).collect();
        let hint = if others.is_empty() {
            "and none of another namespace: is the address right?".to_owned()
        } else {
            format!("but some of {}: name one with --from", others.join(", "))
        };
        eprintln!("pilothouse: the storage has no such artefacts of the namespace {from}, {hint}");
        return Ok(Report { text: String::new(), exit_code: 1 });
    }
    Ok(Report { text: printed(&rows, place.output == Output::Wide, Timestamp::now()), exit_code })
}

/// The store that was named: it, and no other, is opened.
fn store(session: &Session, args: &ImportArgs, namespace: &str) -> Result<Place, BackupsError> {
    let url = match (&args.storage, &args.policy) {
        (Some(url), _) => url.clone(),
        (None, policy) => of_policy(session, args, namespace, policy.as_deref().unwrap_or_default())?,
    };
    url.parse().map_err(|error: StoreError| AskingError::Failed(error.to_string()).into())
}

/// The address in a policy's storage.
fn of_policy(
    session: &Session,
    args: &ImportArgs,
    namespace: &str,
    name: &str,
) -> Result<String, AskingError> {
    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(GROUP, VERSION, "BackupPolicy"),
        "backuppolicies",
    );
    let policies: Api<DynamicObject> = Api::namespaced_with(session.client().clone(), namespace, &kind);
    let found = session.wait(policies.get_opt(name));
    let found = found.map_err(|error| asking::failure(&args.place.cluster, &error))?;
    let found = found.ok_or_else(|| {
        AskingError::Failed(format!("there is no BackupPolicy {name} in the namespace {namespace}"))
    })?;
    let url = found.data.pointer("/spec/storage/url").and_then(Value::as_str);
    let without =
        || AskingError::Failed(format!("BackupPolicy {name} has no storage: its data stays with a driver"));
    url.map(str::to_owned).ok_or_else(without)
}

impl ImportArgs {
    fn stated(&self) -> Option<Value> {
        let url = self.storage.as_ref()?;
        let authorities = self.authorities_secret.as_ref();
        let mut storage = json!({"url": url, "virtualHosted": self.virtual_hosted});
        let given = [
            ("region", self.region.as_ref().map(|region| json!(region))),
            ("credentialsSecret", self.credentials_secret.as_ref().map(|name| json!(name))),
            ("authoritiesSecret", authorities.map(|(name, key)| json!({"name": name, "key": key}))),
        ];
        if let Some(fields) = storage.as_object_mut() {
            let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            fields.extend(given);
        }
        Some(storage)
    }
}

/// What it takes beside reading.
fn rules(namespace: &str) -> Vec<Rule> {
    let rule = |group: &str, resource: &str, verb: &str| Rule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        verbs: vec![verb.to_owned()],
        namespaces: vec![namespace.to_owned()],
        ..Rule::default()
    };
    vec![rule(GROUP, "backups", "create"), rule(GROUP, "backups/status", "patch"), rule("", "secrets", "use")]
}

fn storage(text: &str) -> Result<String, String> {
    text.parse::<Address>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn secret_key(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((name, key)) if !name.is_empty() && !key.is_empty() => Ok((name.to_owned(), key.to_owned())),
        _ => Err("say NAME/KEY, such as store-ca/ca.crt".to_owned()),
    }
}

fn printed(rows: &[Value], wide: bool, now: Timestamp) -> String {
    let line = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let taken = if wide { text("taken") } else { age(&text("taken"), now) };
        let mut cells = vec![text("outcome"), text("name"), text("subject"), text("change")];
        cells.extend([size(&row["size"]), taken]);
        if wide {
            cells.extend([text("uri"), text("message")]);
        } else {
            cells.push(shortened(&text("message"), MESSAGE));
        }
        cells
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    let more: &[&str] = if wide { &["ADDRESS", "MESSAGE"] } else { &["MESSAGE"] };
    table(&[&["OUTCOME", "NAME", "SUBJECT", "CHANGE", "SIZE", "TAKEN"][..], more].concat(), &lines)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::BackupsCommand;
    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(args: &[&str]) -> Result<ImportArgs, String> {
        let line = ["pilothouse", "backups", "import"].iter().chain(args);
        let cli = Cli::try_parse_from(line).map_err(|error| error.to_string())?;
        match cli.command {
            Command::Backups(args) => match args.command {
                Some(BackupsCommand::Import(args)) => Ok(*args),
                None => Err("not an import".to_owned()),
            },
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_storage_is_stated_as_a_policy_states_it() {
        let args = parse(&[
            "--storage",
            "s3://b/p",
            "--credentials-secret",
            "s3",
            "--authorities-secret",
            "ca/ca.crt",
        ]);
        assert_eq!(
            args.unwrap().stated().unwrap(),
            json!({
                "url": "s3://b/p", "virtualHosted": false, "credentialsSecret": "s3",
                "authoritiesSecret": {"name": "ca", "key": "ca.crt"},
            })
        );
        assert_eq!(parse(&["--policy", "nightly"]).unwrap().stated(), None);
    }

    #[test]
    fn a_storage_comes_from_the_command_line_or_from_a_policy() {
        let nowhere = parse(&[]).unwrap_err();
        assert!(nowhere.contains("--storage") && nowhere.contains("--policy"), "{nowhere}");
        assert!(parse(&["--storage", "minio:9000/b"]).unwrap_err().contains("write s3://bucket/prefix"));
        assert!(
            parse(&["--policy", "a", "--storage", "s3://b"]).unwrap_err().contains("cannot be used with")
        );
        assert!(parse(&["--policy", "a", "--authorities-secret", "x"]).unwrap_err().contains("NAME/KEY"));
    }

    #[test]
    fn a_table_says_what_became_of_each_artefact() {
        let rows = [
            json!({"outcome": "Imported", "name": "db-1", "subject": "Database/db", "change": null, "size": 1000,
                "taken": "2026-01-01T00:00:00Z", "uri": "s3://b/k", "message": ""}),
            json!({"outcome": "Refused", "name": "", "subject": "Database/db", "change": null, "size": null,
                "taken": "2026-01-01T00:00:00Z", "uri": "s3://b/l", "message": "its entry is there, and the artefact is not"}),
        ];
        assert_eq!(
            printed(&rows, false, "2026-01-03T01:00:00Z".parse().unwrap()),
            "\
OUTCOME    NAME   SUBJECT       CHANGE   SIZE    TAKEN   MESSAGE
Imported   db-1   Database/db   -        1000B   2d1h    -
Refused    -      Database/db   -        -       2d1h    its entry is there, and the artefact is not
"
        );
    }
}
