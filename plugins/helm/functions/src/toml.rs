//! TOML in and out, as BurntSushi/toml writes and reads it.

mod decode;
mod encode;
mod lex;
mod scalar;
mod strings;

use helm_template::{Map, Signature, Str, Type, Value};

use crate::register::{ANY_TEXT, Register, arg, fail, text};

pub(crate) fn register(all: &mut Register) {
    all.add("toToml", ANY_TEXT, |args| {
        match encode::encode(arg(args, 0)) {
            Ok(text) => Ok(Value::String(Str::from_bytes(&text))),
            // Here the encoder itself panics.
            Err(error @ encode::EncodeError::Nil) => Err(fail(error.to_string())),
            Err(error) => Ok(error.to_string().into()),
        }
    });
    all.add("fromToml", Signature::new(&[Type::String], Type::MAP), |args| {
        Ok(Value::Map(decode::decode(text(args, 0)).unwrap_or_else(|error| {
            let map = Map::new();
            map.insert("Error", error);
            map
        })))
    });
    all.add("mustToToml", ANY_TEXT, |args| {
        encode::encode(arg(args, 0))
            .map(|text| Value::String(Str::from_bytes(&text)))
            .map_err(|error| fail(error.to_string()))
    });
}
