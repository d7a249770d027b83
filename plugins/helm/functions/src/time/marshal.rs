//! What encoders call on times, and templates can.

use helm_template::{CallError, Method, MethodBody, Signature, Type, Value};

use super::civil::civil;
use super::methods::of;
use super::zone::Zone;
use super::{Time, ZERO};

pub(super) const JSON: Method = method("MarshalJSON", &[], |_, this, _| {
    let text = rfc3339(&of(this), "Time.MarshalJSON")?;
    Ok(Value::bytes([b"\"", text.as_slice(), b"\""].concat()))
});
pub(super) const TEXT: Method =
    method("MarshalText", &[], |_, this, _| Ok(Value::bytes(rfc3339(&of(this), "Time.MarshalText")?)));
pub(super) const BINARY: Method =
    method("MarshalBinary", &[], |_, this, _| Ok(Value::bytes(binary(&of(this)))));
pub(super) const GOB: Method = method("GobEncode", &[], |_, this, _| Ok(Value::bytes(binary(&of(this)))));
pub(super) const APPEND_TEXT: Method = method("AppendText", &[Type::BYTES], |_, this, args| {
    let text = rfc3339(&of(this), "Time.AppendText")?;
    Ok(appended(args, &text))
});
pub(super) const APPEND_BINARY: Method =
    method("AppendBinary", &[Type::BYTES], |_, this, args| Ok(appended(args, &binary(&of(this)))));
pub(super) const APPEND_FORMAT: Method = Method {
    name: "AppendFormat",
    signature: Signature::new(&[Type::BYTES, Type::String], Type::BYTES),
    body: |_, this, args| {
        let layout = args.get(1).and_then(Value::as_bytes).unwrap_or_default();
        Ok(appended(args, &of(this).format(layout)))
    },
};

const fn method(name: &'static str, params: &'static [Type], body: MethodBody) -> Method {
    Method { name, signature: Signature::new(params, Type::BYTES).fallible(), body }
}

fn appended(args: &[Value], more: &[u8]) -> Value {
    let given = args.first().and_then(Value::as_bytes).unwrap_or_default();
    Value::bytes([given, more].concat())
}

/// In the layout that has four digits for the year.
fn rfc3339(time: &Time, function: &str) -> Result<Vec<u8>, CallError> {
    if !(0..=9999).contains(&civil(time.local_seconds()).year) {
        return Err(CallError::new(format!("{function}: year outside of range [0,9999]")));
    }
    Ok(time.format(b"2006-01-02T15:04:05.999999999Z07:00"))
}

/// `MarshalBinary`: a version, seconds since year 1, nanoseconds, and minutes east of UTC or -1 for UTC itself. The
/// second version has the seconds of an offset that is not made of minutes.
fn binary(time: &Time) -> Vec<u8> {
    let (_, offset) = time.offset();
    let (minutes, seconds) = match time.zone {
        Zone::Utc => (-1, 0),
        _ => (offset / 60, offset % 60),
    };
    let mut out = vec![if seconds == 0 { 1 } else { 2 }];
    out.extend(time.seconds.wrapping_sub(ZERO).to_be_bytes());
    out.extend(time.nanoseconds.to_be_bytes());
    out.extend(i16::try_from(minutes).unwrap_or(i16::MAX).to_be_bytes());
    if seconds != 0 {
        out.extend(i8::try_from(seconds).unwrap_or(0).to_be_bytes());
    }
    out
}
