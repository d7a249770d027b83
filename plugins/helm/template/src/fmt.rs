//! Go's `fmt`: how values become text.
//!
//! The functions that print values fail only when a value is nested deeper than
//! [`crate::MAX_DEPTH`] or contains itself, where Go would exhaust its stack.

mod float;
mod print;
mod printf;
mod quote;
mod spec;

pub use self::float::format_float;
use self::print::Printer;
pub use self::quote::quote;
use self::spec::push_integer;
use crate::error::TooDeep;
use crate::value::{Kind, Str, Value};

/// `fmt.Sprint`: the values by `%v`, with spaces between operands when neither is a string.
///
/// # Errors
/// [`TooDeep`] as the module says; so do all functions here.
pub fn sprint(args: &[Value]) -> Result<Str, TooDeep> {
    if let [Value::String(text)] = args {
        return Ok(text.clone());
    }
    into_str(|out| append_print(out, args))
}

/// `fmt.Sprintln`: the values by `%v`, with spaces between them and a newline at the end.
///
/// # Errors
/// [`TooDeep`].
pub fn sprintln(args: &[Value]) -> Result<Str, TooDeep> {
    into_str(|out| {
        for (index, value) in args.iter().enumerate() {
            if index > 0 {
                out.push(b' ');
            }
            append_value(out, value)?;
        }
        out.push(b'\n');
        Ok(())
    })
}

/// `fmt.Sprintf`.
///
/// # Errors
/// [`TooDeep`].
pub fn sprintf(format: impl AsRef<[u8]>, args: &[Value]) -> Result<Str, TooDeep> {
    into_str(|out| append_printf(out, format.as_ref(), args))
}

/// One value by `%v`, as an action prints it (but for nil, which prints `<nil>` here).
///
/// # Errors
/// [`TooDeep`].
pub fn text(value: &Value) -> Result<Str, TooDeep> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => into_str(|out| append_value(out, other)),
    }
}

/// Appends one value by `%v`.
///
/// # Errors
/// [`TooDeep`]; what was printed so far stays in `out`.
pub fn append_value(out: &mut Vec<u8>, value: &Value) -> Result<(), TooDeep> {
    match value {
        Value::String(text) => out.extend_from_slice(text.as_bytes()),
        Value::Int(number, _) => push_integer(out, *number < 0, number.unsigned_abs()),
        // Most numbers of YAML files are floats without a fraction; these print as integers do.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and below 10⁶"
        )]
        Value::Float(number, _) if number.fract() == 0.0 && number.abs() < 1e6 && is_plain(*number) => {
            push_integer(out, *number < 0.0, number.abs() as u64);
        }
        Value::Bool(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        other => {
            let mut printer = Printer::new(out);
            printer.argument(other, 'v');
            return finish(&printer);
        }
    }
    Ok(())
}

/// Whether a whole number prints without more signs than it needs: of the zeros only one does.
fn is_plain(number: f64) -> bool {
    number != 0.0 || number.is_sign_positive()
}

/// Appends one value as an action prints it: of a pointer what it points to (`printableValue` of
/// text/template/exec.go).
pub(crate) fn append_printable(out: &mut Vec<u8>, value: &Value) -> Result<(), TooDeep> {
    match value {
        Value::Object(object) if object.ty().kind() == Kind::Pointer => {
            let mut printer = Printer::new(out);
            printer.pointed_to(value, object);
            finish(&printer)
        }
        other => append_value(out, other),
    }
}

/// Appends what [`sprint`] returns.
///
/// # Errors
/// [`TooDeep`]; what was printed so far stays in `out`.
pub fn append_print(out: &mut Vec<u8>, args: &[Value]) -> Result<(), TooDeep> {
    let mut after_string = false;
    for (index, value) in args.iter().enumerate() {
        let is_string = value.kind() == Kind::String;
        if index > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        append_value(out, value)?;
        after_string = is_string;
    }
    Ok(())
}

/// Appends what [`sprintf`] returns.
///
/// # Errors
/// [`TooDeep`]; what was printed so far stays in `out`.
pub fn append_printf(out: &mut Vec<u8>, format: &[u8], args: &[Value]) -> Result<(), TooDeep> {
    let mut printer = Printer::new(out);
    printf::printf(&mut printer, format, args);
    finish(&printer)
}

/// `%#U`: the code point, and the character where it is printable.
pub(crate) fn unicode_name(rune: char) -> String {
    let mut out = Vec::new();
    spec::Spec { sharp: true, ..spec::Spec::default() }.unicode(&mut out, rune.into());
    String::from_utf8_lossy(&out).into_owned()
}

fn finish(printer: &Printer<'_>) -> Result<(), TooDeep> {
    if printer.too_deep { Err(TooDeep) } else { Ok(()) }
}

fn into_str(write: impl FnOnce(&mut Vec<u8>) -> Result<(), TooDeep>) -> Result<Str, TooDeep> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(Str::from(out))
}
