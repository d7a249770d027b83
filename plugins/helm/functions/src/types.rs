//! What a value is, in Go's words.

use helm_template::{Signature, Type, Value};

use crate::register::{ANY_TEXT, Register, arg, text};

const NAMED: Signature = Signature::new(&[Type::String, Type::Any], Type::Bool);

pub(crate) fn register(all: &mut Register) {
    all.add("typeOf", ANY_TEXT, |args| Ok(Value::from(type_of(arg(args, 0)))));
    all.add("kindOf", ANY_TEXT, |args| Ok(Value::from(kind_of(arg(args, 0)))));
    all.add("typeIs", NAMED, |args| Ok(Value::Bool(text(args, 0) == type_of(arg(args, 1)).as_bytes())));
    all.add("typeIsLike", NAMED, |args| {
        let name = type_of(arg(args, 1));
        let wanted = text(args, 0);
        let pointer = name.strip_prefix('*').is_some_and(|target| wanted == target.as_bytes());
        Ok(Value::Bool(wanted == name.as_bytes() || pointer))
    });
    all.add("kindIs", NAMED, |args| Ok(Value::Bool(text(args, 0) == kind_of(arg(args, 1)).as_bytes())));
}

fn type_of(value: &Value) -> String {
    match value {
        Value::Nil => "<nil>".to_owned(),
        other => other.type_name(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        other => other.kind().name(),
    }
}
