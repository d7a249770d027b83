//! Random texts, numbers and UUIDs.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::{CallError, Signature, Type, Value};

use crate::platform::Platform;
use crate::register::{Register, Result, TEXT, fail, int, text};
use crate::runes::to_runes;

/// More random characters than any chart asks for.
const MOST: usize = 1 << 20;

pub(crate) fn register(all: &mut Register, platform: &Rc<dyn Platform>) {
    let texts: [(&'static str, &'static [u8]); 4] = [
        ("randAlphaNum", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
        ("randAlpha", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
        ("randNumeric", b"0123456789"),
        (
            "randAscii",
            b" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
        ),
    ];
    for (name, alphabet) in texts {
        let platform = Rc::clone(platform);
        all.add(name, Signature::new(&[Type::INT], Type::String), move |args| {
            random_text(&*platform, int(args, 0), alphabet)
        });
    }
    let source = Rc::clone(platform);
    all.add("randBytes", Signature::new(&[Type::INT], Type::String).fallible(), move |args| {
        let count = int(args, 0);
        let count = usize::try_from(count).map_err(|_| fail("runtime error: makeslice: len out of range"))?;
        Ok(Value::from(STANDARD.encode(bytes(&*source, count)?)))
    });
    let source = Rc::clone(platform);
    all.add("uuidv4", Signature::new(&[], Type::String), move |_| Ok(Value::from(uuid(&*source)?)));
    let source = Rc::clone(platform);
    all.add("shuffle", TEXT, move |args| Ok(Value::from(shuffled(&*source, text(args, 0))?)));
}

/// Random bytes.
pub(crate) fn bytes(platform: &dyn Platform, count: usize) -> std::result::Result<Vec<u8>, CallError> {
    if count > MOST {
        return Err(fail("runtime error: makeslice: len out of range"));
    }
    let mut bytes = vec![0; count];
    platform.fill(&mut bytes).map_err(|error| fail(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

/// A number below a bound that is not zero, all with equal chances.
pub(crate) fn below(platform: &dyn Platform, bound: u64) -> std::result::Result<u64, CallError> {
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let mut drawn = [0; 8];
        platform.fill(&mut drawn).map_err(|error| fail(format!("no random numbers: {error}")))?;
        let drawn = u64::from_le_bytes(drawn);
        if drawn < fair {
            return Ok(drawn % bound);
        }
    }
}

/// Characters with equal chances: bytes beyond the last whole multiple of the alphabet's length are thrown away.
fn random_text(platform: &dyn Platform, count: i64, alphabet: &[u8]) -> Result {
    let count = usize::try_from(count).unwrap_or(0);
    if count > MOST {
        return Err(fail(format!("{count} random characters are too many")));
    }
    let fair = 256 / alphabet.len() * alphabet.len();
    let mut out = String::with_capacity(count);
    while out.len() < count {
        for byte in bytes(platform, count - out.len())? {
            let index = usize::from(byte);
            if index < fair {
                out.push(alphabet.get(index % alphabet.len()).map_or('?', |byte| char::from(*byte)));
            }
        }
    }
    Ok(Value::from(out))
}

/// RFC 9562 §5.4.
fn uuid(platform: &dyn Platform) -> std::result::Result<String, CallError> {
    let mut bytes = [0; 16];
    platform.fill(&mut bytes).map_err(|error| fail(format!("no random numbers: {error}")))?;
    let number = u128::from_be_bytes(bytes) & !(0xF000 << 64 | 0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48;
    let digits = format!("{number:032x}");
    let group = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
    Ok([group(0..8), group(8..12), group(12..16), group(16..20), group(20..32)].join("-"))
}

/// xstrings' `Shuffle`.
fn shuffled(platform: &dyn Platform, source: &[u8]) -> std::result::Result<String, CallError> {
    let mut runes = to_runes(source);
    for last in (1..runes.len()).rev() {
        let bound = u64::try_from(last + 1).unwrap_or(u64::MAX);
        runes.swap(last, usize::try_from(below(platform, bound)?).unwrap_or(0));
    }
    Ok(runes.into_iter().collect())
}
