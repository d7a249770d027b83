//! X.509 certificates as Go's `x509.CreateCertificate` writes them.

use std::net::IpAddr;

use helm_template::CallError;
use sha2::{Digest, Sha256};

use super::der::{self, Reader};
use super::key::PrivateKey;
use super::pem;
use crate::register::fail;
use crate::time::Time;
use crate::time::civil::civil;

type Result<T> = std::result::Result<T, CallError>;

/// What a certificate is to say (`getBaseCertTemplate`).
pub(super) struct Request {
    /// A random number of at most 128 bits, largest byte first.
    pub(super) serial: [u8; 16],
    pub(super) common_name: String,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<String>,
    pub(super) not_before: Time,
    pub(super) not_after: Time,
    pub(super) is_authority: bool,
}

/// The certificate that signs: what of it the new one repeats.
pub(super) struct Authority {
    subject: Vec<u8>,
    key_identifier: Option<Vec<u8>>,
    public: Vec<u8>,
}

/// Encoded arcs of `id-ce`, `id-kp` and `id-at-commonName`.
const SUBJECT_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1D, 0x0E];
const KEY_USAGE: &[u8] = &[0x55, 0x1D, 0x0F];
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1D, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1D, 0x13];
const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1D, 0x23];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1D, 0x25];
const SERVER: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const CLIENT: &[u8] = &[0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

impl Authority {
    /// Reads a certificate in PEM; `decoded` is how the caller's errors name its content.
    pub(super) fn parse(source: &str, decoded: &str) -> Result<Self> {
        let block = pem::decode(source).ok_or_else(|| fail("unable to decode certificate"))?;
        Self::read(&block.content)
            .ok_or_else(|| fail(format!("error parsing certificate: {decoded}: x509: malformed certificate")))
    }

    fn read(content: &[u8]) -> Option<Self> {
        let mut outer = Reader::new(content);
        let mut whole = outer.expect(der::SEQUENCE)?.inside();
        if !outer.is_empty() {
            return None;
        }
        let mut inner = whole.expect(der::SEQUENCE)?.inside();
        whole.expect(der::SEQUENCE)?;
        whole.expect(der::BIT_STRING)?;
        inner.optional(0xA0);
        inner.expect(der::INTEGER)?;
        inner.expect(der::SEQUENCE)?;
        inner.expect(der::SEQUENCE)?;
        inner.expect(der::SEQUENCE)?;
        let subject = inner.expect(der::SEQUENCE)?.whole.to_vec();
        let public = inner.expect(der::SEQUENCE)?.whole.to_vec();
        inner.optional(0x81);
        inner.optional(0x82);
        let key_identifier = inner.optional(0xA3).and_then(|extensions| {
            let mut extensions = extensions.inside().expect(der::SEQUENCE)?.inside();
            std::iter::from_fn(|| extensions.expect(der::SEQUENCE)).find_map(|extension| {
                let mut parts = extension.inside();
                let name = parts.expect(der::OBJECT_IDENTIFIER)?;
                parts.optional(der::BOOLEAN);
                let value =
                    parts.expect(der::OCTET_STRING).filter(|_| name.content == SUBJECT_KEY_IDENTIFIER)?;
                Some(value.inside().expect(der::OCTET_STRING)?.content.to_vec())
            })
        });
        Some(Self { subject, key_identifier, public })
    }
}

/// `getCertAndKey`: the certificate in PEM. Without an authority it signs itself.
pub(super) fn create(
    request: &Request,
    key: &PrivateKey,
    signer: Option<(&Authority, &PrivateKey)>,
) -> Result<String> {
    sign(request, key, signer)
        .map(|content| pem::encode("CERTIFICATE", &content))
        .map_err(|error| error.context("error creating certificate: "))
}

fn sign(request: &Request, key: &PrivateKey, signer: Option<(&Authority, &PrivateKey)>) -> Result<Vec<u8>> {
    let signing = signer.map_or(key, |(_, signing)| signing);
    let algorithm = signing.algorithm()?;
    let public = key.public()?;
    let subject = name(&request.common_name)?;
    let issuer = signer.map_or(&subject, |(authority, _)| &authority.subject);
    if let Some((authority, signing)) = signer
        && signing.public()? != authority.public
    {
        return Err(fail("x509: provided PrivateKey doesn't match parent's PublicKey"));
    }
    let authority_key = signer
        .filter(|(authority, _)| authority.subject != subject)
        .and_then(|(authority, _)| authority.key_identifier.as_deref());
    let extensions = extensions(request, &public, authority_key)?;
    let body = der::sequence(&[
        &der::element(0xA0, &der::element(der::INTEGER, &[2])),
        &der::unsigned(&request.serial),
        &algorithm,
        issuer,
        &der::sequence(&[&time(&request.not_before)?, &time(&request.not_after)?]),
        &subject,
        &public,
        &der::element(0xA3, &der::element(der::SEQUENCE, &extensions)),
    ]);
    let signature = signing.sign(&body)?;
    Ok(der::sequence(&[&body, &algorithm, &der::bit_string(&signature)]))
}

/// A name of nothing but a common name, which is left out when empty.
fn name(common_name: &str) -> Result<Vec<u8>> {
    if common_name.is_empty() {
        return Ok(der::sequence(&[]));
    }
    let printable = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'\'' | b'(' | b')' | b'+'..=b'/' | b' ' | b':' | b'=' | b'?')
    };
    let tag = if common_name.bytes().all(printable) { der::PRINTABLE_STRING } else { der::UTF8_STRING };
    let value = der::element(tag, common_name.as_bytes());
    let attribute = der::sequence(&[&der::identifier(COMMON_NAME), &value]);
    Ok(der::sequence(&[&der::element(der::SET, &attribute)]))
}

/// Two digits of the year up to 2049, four from then on.
fn time(time: &Time) -> Result<Vec<u8>> {
    let year = civil(time.seconds).year;
    if !(0..=9999).contains(&year) {
        return Err(fail("asn1: structure error: cannot represent time as GeneralizedTime"));
    }
    let utc = time.clone().with_zone(crate::time::zone::Zone::Utc);
    Ok(if (1950..2050).contains(&year) {
        der::element(der::UTC_TIME, &utc.format(b"060102150405Z"))
    } else {
        der::element(der::GENERALIZED_TIME, &utc.format(b"20060102150405Z"))
    })
}

fn extension(name: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag = if critical { der::element(der::BOOLEAN, &[0xFF]) } else { Vec::new() };
    der::sequence(&[&der::identifier(name), &flag, &der::element(der::OCTET_STRING, value)])
}

/// `buildCertExtensions`, in its order.
fn extensions(request: &Request, public: &[u8], authority_key: Option<&[u8]>) -> Result<Vec<u8>> {
    // Digital signature and key encipherment; an authority signs certificates as well.
    let usage: &[u8] = if request.is_authority { &[2, 0b1010_0100] } else { &[5, 0b1010_0000] };
    let constraints = if request.is_authority { der::element(der::BOOLEAN, &[0xFF]) } else { Vec::new() };
    let mut out = vec![
        extension(KEY_USAGE, true, &der::element(der::BIT_STRING, usage)),
        extension(
            EXTENDED_KEY_USAGE,
            false,
            &der::sequence(&[&der::identifier(SERVER), &der::identifier(CLIENT)]),
        ),
        extension(BASIC_CONSTRAINTS, true, &der::element(der::SEQUENCE, &constraints)),
    ];
    if request.is_authority {
        let identifier = key_identifier(public);
        out.push(extension(SUBJECT_KEY_IDENTIFIER, false, &der::element(der::OCTET_STRING, &identifier)));
    }
    if let Some(identifier) = authority_key {
        let value = der::sequence(&[&der::element(0x80, identifier)]);
        out.push(extension(AUTHORITY_KEY_IDENTIFIER, false, &value));
    }
    if !request.names.is_empty() || !request.addresses.is_empty() {
        let critical = request.common_name.is_empty();
        out.push(extension(SUBJECT_ALTERNATIVE_NAME, critical, &alternative_names(request)?));
    }
    Ok(out.concat())
}

fn alternative_names(request: &Request) -> Result<Vec<u8>> {
    let mut names = Vec::new();
    for name in &request.names {
        if !name.is_ascii() {
            let quoted = helm_template::fmt::quote(name.as_bytes());
            return Err(fail(format!("x509: {quoted} cannot be encoded as an IA5String")));
        }
        names.extend(der::element(0x82, name.as_bytes()));
    }
    for address in &request.addresses {
        names.extend(match address.to_canonical() {
            IpAddr::V4(address) => der::element(0x87, &address.octets()),
            IpAddr::V6(address) => der::element(0x87, &address.octets()),
        });
    }
    Ok(der::element(der::SEQUENCE, &names))
}

/// RFC 7093 §2: the first 160 bits of the SHA-256 of the key's bits.
fn key_identifier(public: &[u8]) -> Vec<u8> {
    let bits = Reader::new(public).expect(der::SEQUENCE).and_then(|key| {
        let mut parts = key.inside();
        parts.expect(der::SEQUENCE)?;
        parts.expect(der::BIT_STRING)
    });
    let bits = bits.and_then(|bits| bits.content.get(1..)).unwrap_or_default();
    Sha256::digest(bits).iter().take(20).copied().collect()
}
