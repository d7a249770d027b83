//! Percent-encoding: which bytes stand for themselves in which part of a URL.

use thiserror::Error;

/// Why a text is no URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum UrlError {
    #[error("net/url: invalid control character in URL")]
    Control,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInSegment,
    #[error("net/url: invalid userinfo")]
    UserInfo,
    #[error("invalid IP-literal")]
    IpLiteral,
    #[error("missing ']' in host")]
    MissingBracket,
    #[error("invalid port {0} after host")]
    Port(String),
    #[error("invalid host: ParseAddr({0}): unable to parse IP")]
    Host(String),
    #[error("invalid URL escape {0}")]
    Escape(String),
    #[error("invalid character {0} in host name")]
    HostCharacter(String),
}

/// A part of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    /// The zone of an IPv6 address.
    Zone,
    User,
    Fragment,
}

impl Part {
    fn allows(self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() {
            return true;
        }
        let more: &[u8] = match self {
            Self::Path => b"-_.~$&+,/:;=@",
            Self::Host | Self::Zone => b"-_.~!\"$&'()*+,:;<=>[]",
            Self::User => b"-_.~$&+,;=",
            Self::Fragment => b"-_.~!$&()*+,/:;=?@",
        };
        more.contains(&byte)
    }
}

/// `escape`.
pub(super) fn escape(source: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(source.len());
    for byte in source {
        if part.allows(*byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

fn digit(byte: Option<&u8>) -> Option<u8> {
    char::from(*byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// `unescape`.
pub(super) fn unescape(source: &[u8], part: Part) -> Result<Vec<u8>, UrlError> {
    let quote = helm_template::fmt::quote;
    let mut out = Vec::with_capacity(source.len());
    let mut rest = source;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            if matches!(part, Part::Host | Part::Zone) && first.is_ascii() && !part.allows(*first) {
                return Err(UrlError::HostCharacter(quote(&[*first])));
            }
            out.push(*first);
            rest = after;
            continue;
        }
        let escaped = rest.get(..3).unwrap_or(rest);
        let (Some(high), Some(low)) = (digit(after.first()), digit(after.get(1))) else {
            return Err(UrlError::Escape(quote(escaped)));
        };
        let byte = high << 4 | low;
        let refused = match part {
            // In a host only what is not ASCII may be escaped.
            Part::Host => high < 8 && escaped != b"%25",
            Part::Zone => escaped != b"%25" && byte != b' ' && !Part::Host.allows(byte),
            _ => false,
        };
        if refused {
            return Err(UrlError::Escape(quote(escaped)));
        }
        out.push(byte);
        rest = rest.get(3..).unwrap_or_default();
    }
    Ok(out)
}
