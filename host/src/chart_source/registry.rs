//! Charts in OCI registries (<https://helm.sh/docs/topics/registries/>), for a person.

use oci_spec::distribution::Reference;
use serde_json::json;

use super::oci::{Layer, Registry, RegistryError, is_exact, tag_of};
use super::person::Person;
use super::web::MAX_BYTES;
use super::{LocateError, Located, credentials, provenance, wanted_version};
use crate::chart_source::arguments::{ChartArgs, SourceArgs};
use crate::command::{self, Question};
use crate::error_text::chain;

/// Fetches `oci://REGISTRY/REPOSITORY[:TAG|@DIGEST]`.
pub(super) fn fetch(
    reference: &str,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<Located, LocateError> {
    let failed = |message: String| LocateError::Registry { reference: reference.to_owned(), message };
    let text = reference.trim_start_matches("oci://");
    let parsed: Reference =
        text.parse().map_err(|error| failed(format!("invalid chart reference: {error}")))?;
    // A reference without a tag stands for `latest` elsewhere, for the newest version here.
    let last = text.rsplit('/').next().unwrap_or_default();
    let tagged = last.split('@').next().unwrap_or_default().contains(':');
    let wanted = wanted_version(chart);
    if tagged && !wanted.is_empty() && parsed.tag() != Some(wanted) {
        let tag = parsed.tag().unwrap_or_default();
        return Err(LocateError::NotFound(format!(
            "chart reference and version mismatch: {wanted} is not {tag}"
        )));
    }
    let person = Person::new(chart)?;
    let registry = registry(&person, &parsed, chart, settings)?;
    let refused = |error: RegistryError| failed(chain(&error));
    let image = if tagged || parsed.digest().is_some() {
        parsed
    } else if is_exact(wanted) {
        // Not every registry lets everybody list tags.
        with_tag(&parsed, wanted)
    } else {
        let tags = person.wait(registry.tags()).map_err(refused)?;
        let none = || format!("unable to locate any tags in provided repository: {reference}");
        let tag =
            if tags.is_empty() { Err(LocateError::NotFound(none())) } else { pick(&tags, wanted, settings) };
        with_tag(&parsed, &tag?)
    };
    let named = image.digest().or(image.tag()).unwrap_or_default();
    let (manifest, digest) = person.wait(registry.manifest(named)).map_err(refused)?;
    let pull = |layer: Result<&Layer, RegistryError>| {
        layer.and_then(|layer| person.wait(registry.blob(layer, MAX_BYTES))).map_err(refused)
    };
    let told = || {
        eprintln!("Pulled: {}", image.whole().split('@').next().unwrap_or_default());
        eprintln!("Digest: {digest}");
    };
    let data = pull(manifest.chart())?;
    told();
    let name = image.repository().rsplit('/').next().unwrap_or("chart");
    let archive = Located::fetched(&format!("{name}-{}.tgz", image.tag().unwrap_or("chart")), &data)?;
    if chart.verify {
        let found = pull(manifest.provenance());
        if found.is_ok() {
            told();
        }
        provenance::verify_fetched(
            &archive,
            found,
            &format!("oci://{}.prov", image.whole()),
            chart,
            settings,
        )?;
    }
    Ok(archive)
}

/// The newest of a repository's tags that is in a range.
pub(super) fn newest(
    reference: &str,
    range: &str,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<Option<String>, LocateError> {
    let failed = |message: String| LocateError::Registry { reference: reference.to_owned(), message };
    let image: Reference = reference
        .trim_start_matches("oci://")
        .parse()
        .map_err(|error| failed(format!("invalid chart reference: {error}")))?;
    let person = Person::new(chart)?;
    let tags = person.wait(registry(&person, &image, chart, settings)?.tags());
    match pick(&tags.map_err(|error| failed(chain(&error)))?, range, settings) {
        Ok(tag) => Ok(Some(tag)),
        Err(LocateError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn registry<'a>(
    person: &'a Person,
    image: &Reference,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<Registry<'a>, LocateError> {
    let visitor = credentials::of(image.resolve_registry(), chart, settings)?;
    Ok(Registry::new(person.client(), image, visitor, chart.plain_http))
}

fn with_tag(image: &Reference, version: &str) -> Reference {
    Reference::with_tag(image.registry().to_owned(), image.repository().to_owned(), tag_of(version))
}

/// Asks the plugin for the version.
fn pick(tags: &[String], version: &str, settings: &SourceArgs) -> Result<String, LocateError> {
    let question = Question {
        command: "pick-tag",
        options: json!({"tags": tags, "version": version}),
        files: Vec::new(),
        output_dir: None,
        cluster: None,
        debug: settings.debug,
    };
    let answer = command::ask(&question, &settings.plugin)?;
    match answer.failure {
        Some(failure) => Err(LocateError::NotFound(failure)),
        None => Ok(String::from_utf8_lossy(&answer.output).into_owned()),
    }
}
