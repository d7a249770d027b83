//! The functions, with the type of what those for certificates return.

use std::net::IpAddr;
use std::rc::Rc;

use helm_template::{CallError, IntType, NamedType, Object, Signature, Str, Type, UintType, Value, fmt};

use super::certificate::{Authority, Request, create};
use super::generator::Generator;
use super::key::PrivateKey;
use super::{cipher, password};
use crate::encoding::base::decode_base64;
use crate::platform::Platform;
use crate::random;
use crate::register::{Register, Result, TEXT, TEXT_TEXT, arg, fail, int, text};
use crate::time::Time;

static CERTIFICATE: NamedType =
    NamedType { name: "sprig.certificate", underlying: Type::Struct, methods: &[] };
const RESULT: Type = Type::Named(&CERTIFICATE);

/// `certificate`: a certificate and its key, in PEM.
#[derive(Debug)]
struct Certificate {
    cert: Value,
    key: Value,
}

impl Object for Certificate {
    fn ty(&self) -> Type {
        RESULT
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields().into_iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![("Cert", self.cert.clone()), ("Key", self.key.clone())]
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(self.fields() == other.fields())
    }
}

pub(crate) fn register(all: &mut Register, platform: &Rc<dyn Platform>) {
    passwords(all, platform);
    let source = Rc::clone(platform);
    all.add("genPrivateKey", TEXT, move |args| Ok(Value::from(generate_key(&*source, &lossy(args, 0))?)));
    all.add(
        "buildCustomCert",
        Signature::new(&[Type::String, Type::String], RESULT).fallible(),
        build_custom,
    );
    authorities(all, platform);
    certificates(all, platform);
}

fn lossy(args: &[Value], index: usize) -> String {
    String::from_utf8_lossy(text(args, index)).into_owned()
}

fn passwords(all: &mut Register, platform: &Rc<dyn Platform>) {
    let source = Rc::clone(platform);
    all.add("bcrypt", TEXT, move |args| Ok(Value::from(password::bcrypt(&*source, text(args, 0))?)));
    let source = Rc::clone(platform);
    all.add("htpasswd", TEXT_TEXT, move |args| {
        let user = lossy(args, 0);
        if user.contains(':') {
            return Ok(Value::from(format!("invalid username: {user}")));
        }
        Ok(Value::from(format!("{user}:{}", password::bcrypt(&*source, text(args, 1))?)))
    });
    const UINT32: Type = Type::Uint(UintType::Uint32);
    let derive = &[UINT32, Type::String, Type::String, Type::String, Type::String];
    all.add("derivePassword", Signature::new(derive, Type::String), |args| {
        let counter = arg(args, 0).as_u64().and_then(|counter| u32::try_from(counter).ok()).unwrap_or(0);
        let texts = [text(args, 2), text(args, 3), text(args, 4)];
        Ok(Value::from(password::derive(counter, &lossy(args, 1), texts)))
    });
    let source = Rc::clone(platform);
    all.add("encryptAES", TEXT_TEXT.fallible(), move |args| {
        Ok(Value::from(cipher::encrypt(&*source, text(args, 0), text(args, 1))?))
    });
    all.add("decryptAES", TEXT_TEXT.fallible(), |args| {
        Ok(Value::String(cipher::decrypt(text(args, 0), text(args, 1))?.into()))
    });
}

/// `generatePrivateKey`.
fn generate_key(platform: &dyn Platform, kind: &str) -> std::result::Result<String, CallError> {
    let mut generator = Generator::new(platform)?;
    let key = match kind {
        "" | "rsa" => PrivateKey::rsa(&mut generator, 4096)?,
        "dsa" => PrivateKey::dsa(&mut generator),
        "ecdsa" => PrivateKey::p256(&mut generator),
        "ed25519" => PrivateKey::ed25519(&mut generator),
        other => return Ok(format!("Unknown type {other}")),
    };
    key.to_pem()
}

/// `buildCustomCertificate`.
fn build_custom(args: &[Value]) -> Result {
    let cert = decode_base64(text(args, 0)).map_err(|_| fail("unable to decode base64 certificate"))?;
    let key = decode_base64(text(args, 1)).map_err(|_| fail("unable to decode base64 private key"))?;
    Authority::parse(&String::from_utf8_lossy(&cert), "decodedCert.Bytes")?;
    PrivateKey::parse(&String::from_utf8_lossy(&key))
        .map_err(|error| error.context("error parsing private key: "))?;
    Ok(Value::object(Certificate { cert: Value::String(cert.into()), key: Value::String(key.into()) }))
}

/// Reads the key given, if one is.
fn given(key: Option<&Value>) -> std::result::Result<Option<PrivateKey>, CallError> {
    let read = |key: &Str| PrivateKey::parse(&key.to_str_lossy());
    key.and_then(Value::as_string)
        .map(read)
        .transpose()
        .map_err(|error| error.context("parsing private key: "))
}

/// The key given, or a new one. That takes long, so everything that can be wrong is looked at before.
fn or_new(platform: &dyn Platform, given: Option<PrivateKey>) -> std::result::Result<PrivateKey, CallError> {
    match given {
        Some(key) => Ok(key),
        None => PrivateKey::rsa(&mut Generator::new(platform)?, 2048)
            .map_err(|error| error.context("error generating rsa key: ")),
    }
}

/// `getBaseCertTemplate`.
fn request(
    platform: &dyn Platform,
    common_name: String,
    alternatives: Option<(&Value, &Value)>,
    days: i64,
) -> std::result::Result<Request, CallError> {
    const DAY: i64 = 86_400_000_000_000;
    let (addresses, names) = match alternatives {
        Some((addresses, names)) => (parse_addresses(addresses)?, parse_names(names)?),
        None => (Vec::new(), Vec::new()),
    };
    let mut serial = [0; 16];
    serial.copy_from_slice(random::bytes(platform, 16)?.get(..16).unwrap_or(&[0; 16]));
    let now = Time::present(platform.now());
    let not_after = now.plus(days.wrapping_mul(DAY));
    Ok(Request { serial, common_name, addresses, names, not_before: now, not_after, is_authority: false })
}

fn parse_addresses(list: &Value) -> std::result::Result<Vec<IpAddr>, CallError> {
    let list = list.as_list().map(helm_template::List::as_slice).unwrap_or_default();
    list.iter()
        .map(|item| {
            let Some(source) = item.as_string() else {
                let shown = fmt::text(item).map_err(|error| fail(error.to_string()))?;
                return Err(fail(format!("error parsing ip: {shown} is not a string")));
            };
            source.to_str_lossy().parse().map_err(|_| fail(format!("error parsing ip: {source}")))
        })
        .collect()
}

fn parse_names(list: &Value) -> std::result::Result<Vec<String>, CallError> {
    let list = list.as_list().map(helm_template::List::as_slice).unwrap_or_default();
    list.iter()
        .map(|item| match item.as_string() {
            Some(name) => Ok(name.to_string()),
            None => {
                let shown = fmt::text(item).map_err(|error| fail(error.to_string()))?;
                Err(fail(format!("error processing alternate dns name: {shown} is not a string")))
            }
        })
        .collect()
}

fn certificate(cert: String, key: &PrivateKey) -> Result {
    Ok(Value::object(Certificate { cert: cert.into(), key: key.to_pem()?.into() }))
}

fn authorities(all: &mut Register, platform: &Rc<dyn Platform>) {
    let make = |platform: &Rc<dyn Platform>| {
        let platform = Rc::clone(platform);
        move |args: &[Value]| {
            let given = given(args.get(2))?;
            let mut request = request(&*platform, lossy(args, 0), None, int(args, 1))?;
            request.is_authority = true;
            let key = or_new(&*platform, given)?;
            certificate(create(&request, &key, None)?, &key)
        }
    };
    all.add("genCA", Signature::new(&[Type::String, Type::INT], RESULT).fallible(), make(platform));
    let with_key = Signature::new(&[Type::String, Type::INT, Type::String], RESULT);
    all.add("genCAWithKey", with_key.fallible(), make(platform));
}

fn certificates(all: &mut Register, platform: &Rc<dyn Platform>) {
    const INT: Type = Type::Int(IntType::Int);
    let self_signed = |platform: &Rc<dyn Platform>| {
        let platform = Rc::clone(platform);
        move |args: &[Value]| {
            let given = given(args.get(4))?;
            let lists = Some((arg(args, 1), arg(args, 2)));
            let request = request(&*platform, lossy(args, 0), lists, int(args, 3))?;
            let key = or_new(&*platform, given)?;
            certificate(create(&request, &key, None)?, &key)
        }
    };
    let plain: &[Type] = &[Type::String, Type::SLICE, Type::SLICE, INT];
    all.add("genSelfSignedCert", Signature::new(plain, RESULT).fallible(), self_signed(platform));
    let keyed: &[Type] = &[Type::String, Type::SLICE, Type::SLICE, INT, Type::String];
    all.add("genSelfSignedCertWithKey", Signature::new(keyed, RESULT).fallible(), self_signed(platform));
    let signed = |platform: &Rc<dyn Platform>| {
        let platform = Rc::clone(platform);
        move |args: &[Value]| sign(&*platform, args)
    };
    let plain: &[Type] = &[Type::String, Type::SLICE, Type::SLICE, INT, RESULT];
    all.add("genSignedCert", Signature::new(plain, RESULT).fallible(), signed(platform));
    let keyed: &[Type] = &[Type::String, Type::SLICE, Type::SLICE, INT, RESULT, Type::String];
    all.add("genSignedCertWithKey", Signature::new(keyed, RESULT).fallible(), signed(platform));
}

/// `generateSignedCertificateWithKeyInternal`.
fn sign(platform: &dyn Platform, args: &[Value]) -> Result {
    let given = given(args.get(5))?;
    let authority = arg(args, 4).as_object::<Certificate>();
    let part = |part: fn(&Certificate) -> &Value| {
        authority.and_then(|ca| part(ca).as_string()).map(ToString::to_string).unwrap_or_default()
    };
    let signer = Authority::parse(&part(|ca| &ca.cert), "decodedSignerCert.Bytes")?;
    let signing = PrivateKey::parse(&part(|ca| &ca.key))
        .map_err(|error| error.context("error parsing private key: "))?;
    let lists = Some((arg(args, 1), arg(args, 2)));
    let request = request(platform, lossy(args, 0), lists, int(args, 3))?;
    let key = or_new(platform, given)?;
    certificate(create(&request, &key, Some((&signer, &signing)))?, &key)
}
