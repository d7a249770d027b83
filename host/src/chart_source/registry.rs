//! Charts in OCI registries (<https://helm.sh/docs/topics/registries/>).

use futures::TryStreamExt as _;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::OciDescriptor;
use oci_client::{Client, Reference};
use serde_json::json;

use super::web::{MAX_BYTES, SILENCE};
use super::{LocateError, Located, credentials, provenance, wanted_version};
use crate::cli::helm::{ChartArgs, GlobalArgs};
use crate::command::{self, Question};
use crate::error_text::chain;

/// Media types of a chart's layer: the one of today and the one of Helm's first versions.
const LAYERS: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
/// Media type of the layer that vouches for the chart.
const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
/// Tags that are asked for at once.
const PAGE: usize = 1000;
/// Tags that are looked at.
const MOST_TAGS: usize = 100_000;

/// Fetches `oci://REGISTRY/REPOSITORY[:TAG|@DIGEST]`.
pub(super) fn fetch(reference: &str, chart: &ChartArgs, global: &GlobalArgs) -> Result<Located, LocateError> {
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let auth = credentials::of(parsed.resolve_registry(), chart, global)?;
    let client = client(chart, &failed)?;
    let refused = |error: &OciDistributionError| failed(chain(error));
    let image = if tagged || parsed.digest().is_some() {
        parsed
    } else if is_exact(wanted) {
        // Not every registry lets everybody list tags.
        with_tag(&parsed, wanted)
    } else {
        let tags = runtime.block_on(tags(&client, &parsed, &auth)).map_err(|error| refused(&error))?;
        let none = || format!("unable to locate any tags in provided repository: {reference}");
        let tag =
            if tags.is_empty() { Err(LocateError::NotFound(none())) } else { pick(&tags, wanted, global) };
        with_tag(&parsed, &tag?)
    };
    let (manifest, digest) =
        runtime.block_on(client.pull_image_manifest(&image, &auth)).map_err(|error| refused(&error))?;
    let layer =
        |types: &[&str]| manifest.layers.iter().find(|layer| types.contains(&layer.media_type.as_str()));
    let pull = |layer: Option<&OciDescriptor>, nothing: &str| {
        let layer = layer.ok_or_else(|| failed(nothing.to_owned()))?;
        let data = runtime.block_on(blob(&client, &image, layer)).map_err(|error| refused(&error))?;
        data.ok_or_else(|| failed(format!("more than {} MiB", MAX_BYTES >> 20)))
    };
    let told = || {
        eprintln!("Pulled: {}", image.whole().split('@').next().unwrap_or_default());
        eprintln!("Digest: {digest}");
    };
    let data = pull(layer(&LAYERS), "it holds no chart")?;
    told();
    let name = image.repository().rsplit('/').next().unwrap_or("chart");
    let archive = Located::fetched(&format!("{name}-{}.tgz", image.tag().unwrap_or("chart")), &data)?;
    if chart.verify {
        let found = pull(layer(&[PROVENANCE]), "it holds no provenance file");
        if found.is_ok() {
            told();
        }
        provenance::verify_fetched(&archive, found, &format!("oci://{}.prov", image.whole()), chart, global)?;
    }
    Ok(archive)
}

/// The newest of a repository's tags that is in a range.
pub(super) fn newest(
    reference: &str,
    range: &str,
    chart: &ChartArgs,
    global: &GlobalArgs,
) -> Result<Option<String>, LocateError> {
    let failed = |message: String| LocateError::Registry { reference: reference.to_owned(), message };
    let image: Reference = reference
        .trim_start_matches("oci://")
        .parse()
        .map_err(|error| failed(format!("invalid chart reference: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let auth = credentials::of(image.resolve_registry(), chart, global)?;
    let client = client(chart, &failed)?;
    let tags = runtime.block_on(tags(&client, &image, &auth)).map_err(|error| failed(chain(&error)))?;
    match pick(&tags, range, global) {
        Ok(tag) => Ok(Some(tag)),
        Err(LocateError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A layer, held against its digest; none: it is larger than anybody needs.
async fn blob(
    client: &Client,
    image: &Reference,
    layer: &OciDescriptor,
) -> Result<Option<Vec<u8>>, OciDistributionError> {
    let mut stream = client.pull_blob_stream(image, layer).await?;
    let mut data = Vec::new();
    while let Some(bytes) = stream.try_next().await? {
        data.extend_from_slice(&bytes);
        if u64::try_from(data.len()).unwrap_or(u64::MAX) > MAX_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(data))
}

fn client(chart: &ChartArgs, failed: &dyn Fn(String) -> LocateError) -> Result<Client, LocateError> {
    // One that is there already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = ClientConfig {
        accept_invalid_certificates: chart.insecure_skip_tls_verify,
        read_timeout: Some(SILENCE),
        connect_timeout: Some(SILENCE),
        protocol: if chart.plain_http { ClientProtocol::Http } else { ClientProtocol::Https },
        ..ClientConfig::default()
    };
    if let Some(path) = &chart.ca_file {
        let data = std::fs::read(path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
        config.extra_root_certificates = vec![Certificate { encoding: CertificateEncoding::Pem, data }];
    }
    Client::try_from(config).map_err(|error| failed(chain(&error)))
}

/// A tag cannot hold the plus of a version.
fn with_tag(image: &Reference, version: &str) -> Reference {
    let tag = version.replace('+', "_");
    Reference::with_tag(image.registry().to_owned(), image.repository().to_owned(), tag)
}

/// Whether a version is one and no range: three numbers, and what may follow.
fn is_exact(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = core.trim_start_matches('v').split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u64>().is_ok())
}

/// All tags, page by page.
async fn tags(
    client: &Client,
    image: &Reference,
    auth: &oci_client::secrets::RegistryAuth,
) -> Result<Vec<String>, OciDistributionError> {
    let mut all: Vec<String> = Vec::new();
    while all.len() < MOST_TAGS {
        let page = client.list_tags(image, auth, Some(PAGE), all.last().map(String::as_str)).await?.tags;
        let whole = page.len() < PAGE;
        all.extend(page);
        if whole {
            break;
        }
    }
    Ok(all)
}

/// Asks the plugin for the version.
fn pick(tags: &[String], version: &str, global: &GlobalArgs) -> Result<String, LocateError> {
    let question = Question {
        command: "pick-tag",
        options: json!({"tags": tags, "version": version}),
        files: Vec::new(),
        output_dir: None,
        cluster: None,
        debug: global.debug,
    };
    let answer = command::ask(&question, &global.plugin)?;
    match answer.failure {
        Some(failure) => Err(LocateError::NotFound(failure)),
        None => Ok(String::from_utf8_lossy(&answer.output).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_a_range() {
        for exact in ["1.2.3", "v1.2.3", "1.2.3-rc.1", "1.2.3+build"] {
            assert!(is_exact(exact), "{exact}");
        }
        for range in ["", "1.2", "^1.2.3", "1.2.x", "~1", ">1.2.3", "1.2.3 - 2.0.0", "*"] {
            assert!(!is_exact(range), "{range}");
        }
    }
}
