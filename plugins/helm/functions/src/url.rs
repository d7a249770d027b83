//! URLs (sprig's url.go on Go's net/url).

use std::net::IpAddr;

use helm_template::{CallError, Map, Signature, Type, Value};

use self::escape::{Part, UrlError, escape, unescape};
use crate::register::{Register, Result, arg, fail, text};

mod escape;

pub(crate) fn register(all: &mut Register) {
    all.add("urlParse", Signature::new(&[Type::String], Type::MAP), |args| {
        let url = Url::parse(text(args, 0)).map_err(|error| fail(format!("unable to parse url: {error}")))?;
        Ok(Value::Map(url.to_map()))
    });
    all.add("urlJoin", Signature::new(&[Type::MAP], Type::String), join);
}

/// Whether a text is an address with a scheme, read as from the first line of a request: without a fragment
/// (`url.ParseRequestURI`).
pub fn is_request_url(source: &str) -> bool {
    Url::parse_reference(source.as_bytes()).is_ok_and(|url| !url.scheme.is_empty())
}

/// Host with port, and path of an address (`url.Parse`); `None` for what is no address.
pub fn host_and_path(source: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    Url::parse(source.as_bytes()).ok().map(|url| (url.host, url.path))
}

/// `url.URL`, as far as sprig shows it.
#[derive(Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    /// User and, where there is one, password.
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

/// Whether Go parses a URL (`url.Parse`); then whether it is absolute, and the name of its host.
///
/// # Errors
/// The text of Go's error.
pub fn check(source: &str) -> std::result::Result<(bool, String), String> {
    let url = Url::parse(source.as_bytes())?;
    let host = if url.host_name().contains(&b':') { &*url.host } else { url.host_name() };
    Ok((!url.scheme.is_empty(), String::from_utf8_lossy(host).into_owned()))
}

type Parsed<T> = std::result::Result<T, UrlError>;

/// What is before and after the first byte of a kind.
fn cut(source: &[u8], byte: u8) -> (&[u8], Option<&[u8]>) {
    match source.iter().position(|other| *other == byte) {
        Some(at) => (source.get(..at).unwrap_or_default(), source.get(at + 1..)),
        None => (source, None),
    }
}

impl Url {
    /// `url.Parse`; the text of its error.
    fn parse(source: &[u8]) -> std::result::Result<Self, String> {
        let quoted =
            |part: &[u8], error: UrlError| format!("parse {}: {error}", helm_template::fmt::quote(part));
        let (before, fragment) = cut(source, b'#');
        let mut url = Self::parse_reference(before).map_err(|error| quoted(before, error))?;
        url.fragment =
            unescape(fragment.unwrap_or_default(), Part::Fragment).map_err(|error| quoted(source, error))?;
        Ok(url)
    }

    fn parse_reference(source: &[u8]) -> Parsed<Self> {
        if source.iter().any(|byte| *byte < b' ' || *byte == 0x7F) {
            return Err(UrlError::Control);
        }
        let mut url = Self::default();
        if source == b"*" {
            url.path = source.to_vec();
            return Ok(url);
        }
        let (scheme, rest) = scheme(source)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err(UrlError::ColonInSegment);
            }
        }
        let may_have_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        if let Some(after) = rest.strip_prefix(b"//").filter(|_| may_have_authority) {
            let end = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
            let (authority, path) = after.split_at_checked(end).unwrap_or((after, &[]));
            url.parse_authority(authority)?;
            rest = path;
        }
        url.path = unescape(rest, Part::Path)?;
        Ok(url)
    }

    fn parse_authority(&mut self, authority: &[u8]) -> Parsed<()> {
        let at = authority.iter().rposition(|byte| *byte == b'@');
        let host = at.map_or(authority, |at| authority.get(at + 1..).unwrap_or_default());
        self.host = host_of(&self.scheme, host)?;
        let Some(user) = at.and_then(|at| authority.get(..at)) else { return Ok(()) };
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !user.iter().all(allowed) {
            return Err(UrlError::UserInfo);
        }
        let (name, password) = cut(user, b':');
        let name = unescape(name, Part::User)?;
        let password = password.map(|password| unescape(password, Part::User)).transpose()?;
        self.user = Some((name, password));
        Ok(())
    }

    fn user_info(&self) -> Vec<u8> {
        let Some((name, password)) = &self.user else { return Vec::new() };
        let mut out = escape(name, Part::User);
        if let Some(password) = password {
            out.push(b':');
            out.extend(escape(password, Part::User));
        }
        out
    }

    /// `URL.Hostname`: without port and brackets.
    fn host_name(&self) -> &[u8] {
        let host = match self.host.iter().rposition(|byte| *byte == b':') {
            Some(at) if is_port(self.host.get(at..).unwrap_or_default()) => {
                self.host.get(..at).unwrap_or_default()
            }
            _ => &self.host,
        };
        host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(host)
    }

    fn to_map(&self) -> Map {
        let map = Map::new();
        let user_info = self.user_info();
        let parts: [(&str, &[u8]); 8] = [
            ("scheme", &self.scheme),
            ("host", &self.host),
            ("hostname", self.host_name()),
            ("path", &self.path),
            ("query", &self.query),
            ("opaque", &self.opaque),
            ("fragment", &self.fragment),
            ("userinfo", &user_info),
        ];
        for (key, part) in parts {
            map.insert(key, helm_template::Str::from_bytes(part));
        }
        map
    }

    /// `URL.String`.
    fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(escape(&self.fragment, Part::Fragment));
        }
        out
    }

    fn write_hierarchy(&self, out: &mut Vec<u8>) {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        if has_authority || (!self.scheme.is_empty() && !self.path.is_empty()) {
            out.extend_from_slice(b"//");
            if self.user.is_some() {
                out.extend(self.user_info());
                out.push(b'@');
            }
            out.extend(escape(&self.host, Part::Host));
        }
        let path = if self.path == b"*" { self.path.clone() } else { escape(&self.path, Part::Path) };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        // Otherwise the part before the colon would look like a scheme.
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

/// `getScheme`.
fn scheme(source: &[u8]) -> Parsed<(&[u8], &[u8])> {
    for (at, byte) in source.iter().enumerate() {
        match byte {
            byte if byte.is_ascii_alphabetic() => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlError::MissingScheme),
            b':' => {
                let rest = source.get(at + 1..).unwrap_or_default();
                return Ok((source.get(..at).unwrap_or_default(), rest));
            }
            _ => break,
        }
    }
    Ok((&[], source))
}

/// `validOptionalPort`: nothing, or a colon and digits.
fn is_port(port: &[u8]) -> bool {
    port.is_empty() || port.strip_prefix(b":").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// `parseHost`.
fn host_of(scheme: &[u8], host: &[u8]) -> Parsed<Vec<u8>> {
    let wrong_port = |port: &[u8]| UrlError::Port(helm_template::fmt::quote(port));
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return literal_address(host),
        Some(_) => return Err(UrlError::IpLiteral),
        None => {}
    }
    let first = host.iter().position(|byte| *byte == b':');
    // Lists of hosts with ports are let pass, but not for the web.
    let colon = match scheme {
        b"http" | b"https" => first,
        _ => host.iter().rposition(|byte| *byte == b':'),
    };
    let port = colon.and_then(|at| host.get(at..)).unwrap_or_default();
    if !is_port(port) {
        return Err(wrong_port(port));
    }
    unescape(host, Part::Host)
}

/// An address of version 6 in brackets, with a zone and a port.
fn literal_address(host: &[u8]) -> Parsed<Vec<u8>> {
    let end = host.iter().rposition(|byte| *byte == b']').ok_or(UrlError::MissingBracket)?;
    let port = host.get(end + 1..).unwrap_or_default();
    if !is_port(port) {
        return Err(UrlError::Port(helm_template::fmt::quote(port)));
    }
    let name = host.get(1..end).unwrap_or_default();
    let zone = name.windows(3).position(|window| window == b"%25");
    let (address, zone) = name.split_at_checked(zone.unwrap_or(name.len())).unwrap_or((name, &[]));
    let (address, zone) = (unescape(address, Part::Host)?, unescape(zone, Part::Zone)?);
    let whole = [&*address, &*zone].concat();
    let shown = String::from_utf8_lossy(&address);
    match shown.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => Ok([b"[", &*whole, b"]", port].concat()),
        Ok(IpAddr::V4(_)) => Err(UrlError::IpLiteral),
        Err(_) => Err(UrlError::Host(helm_template::fmt::quote(&whole))),
    }
}

/// A part of the dictionary that `urlJoin` gets.
fn part(dict: &Map, key: &str) -> std::result::Result<Vec<u8>, CallError> {
    match dict.get(key) {
        None => Ok(Vec::new()),
        Some(Value::String(part)) => Ok(part.as_bytes().to_vec()),
        Some(Value::Nil) => Err(fail(crate::register::NIL_POINTER)),
        Some(other) => Err(fail(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind().name()
        ))),
    }
}

fn join(args: &[Value]) -> Result {
    let dict = arg(args, 0).as_map().cloned().unwrap_or_default();
    let part = |key| part(&dict, key);
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: None,
    };
    let user = part("userinfo")?;
    if !user.is_empty() {
        let parsed = Url::parse(&[b"proto://", &*user, b"@host"].concat())
            .map_err(|error| fail(format!("unable to parse userinfo in dict: {error}")))?;
        url.user = parsed.user;
    }
    Ok(Value::String(url.text().into()))
}
