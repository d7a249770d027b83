//! Format strings (`doPrintf` of Go's fmt/print.go).

use super::print::Printer;
use super::spec::Spec;
use crate::runes;
use crate::value::Value;

/// Widths and precisions beyond this are refused, as in Go.
const TOO_LARGE: i64 = 1_000_000;

/// Goes through a format string and its arguments.
struct Directives<'p, 'o, 'f> {
    printer: &'p mut Printer<'o>,
    format: &'f [u8],
    at: usize,
    args: &'f [Value],
    next_arg: usize,
    /// Whether an index like `[3]` was used anywhere: then unused arguments are no error.
    reordered: bool,
    /// Whether the index of the current directive is valid.
    good_index: bool,
    /// Whether the thing just read was an index.
    after_index: bool,
}

/// Writes `format` with its verbs replaced by the arguments.
pub(super) fn printf(printer: &mut Printer<'_>, format: &[u8], args: &[Value]) {
    let mut directives = Directives {
        printer,
        format,
        at: 0,
        args,
        next_arg: 0,
        reordered: false,
        good_index: true,
        after_index: false,
    };
    directives.run();
}

impl Directives<'_, '_, '_> {
    fn run(&mut self) {
        while self.text() {
            self.good_index = true;
            self.printer.spec = Spec::default();
            if !self.simple() && !self.full() {
                break;
            }
        }
        self.extra();
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// Copies up to the next `%` and steps over it; false at the end.
    fn text(&mut self) -> bool {
        let rest = self.format.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|&byte| byte == b'%');
        self.printer.out.extend_from_slice(rest.get(..length.unwrap_or(rest.len())).unwrap_or_default());
        self.at += length.unwrap_or(rest.len()) + 1;
        length.is_some()
    }

    /// Reads the flags, and the verb too where nothing else stands between.
    fn simple(&mut self) -> bool {
        loop {
            let spec = &mut self.printer.spec;
            match self.format.get(self.at) {
                Some(b'#') => spec.sharp = true,
                Some(b'0') => spec.zero = true,
                Some(b'+') => spec.plus = true,
                Some(b'-') => spec.minus = true,
                Some(b' ') => spec.space = true,
                Some(verb @ b'a'..=b'z') if self.next_arg < self.args.len() => {
                    self.at += 1;
                    self.argument(char::from(*verb));
                    return true;
                }
                _ => return false,
            }
            self.at += 1;
        }
    }

    /// Reads index, width, precision and verb; false at the end of the format.
    fn full(&mut self) -> bool {
        self.after_index = self.index();
        self.width();
        self.precision();
        if !self.after_index {
            self.after_index = self.index();
        }
        let rest = self.format.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            self.printer.write("%!(NOVERB)");
            return false;
        }
        let (verb, width) = runes::decode(rest);
        self.at += width;
        if verb == '%' {
            self.printer.write("%");
        } else if !self.good_index {
            self.bad_directive(verb, "(BADINDEX)");
        } else if self.next_arg >= self.args.len() {
            self.bad_directive(verb, "(MISSING)");
        } else {
            self.argument(verb);
        }
        true
    }

    fn bad_directive(&mut self, verb: char, what: &str) {
        self.printer.write("%!");
        self.printer.write_char(verb);
        self.printer.write(what);
    }

    /// Prints the next argument.
    fn argument(&mut self, verb: char) {
        if matches!(verb, 'v' | 'w') {
            let spec = &mut self.printer.spec;
            spec.sharp_v = std::mem::take(&mut spec.sharp);
            spec.plus_v = std::mem::take(&mut spec.plus);
        }
        if let Some(value) = self.args.get(self.next_arg) {
            self.printer.argument(value, verb);
        }
        self.next_arg += 1;
    }

    fn width(&mut self) {
        if self.peek() == Some(b'*') {
            self.at += 1;
            let width = self.number_argument();
            if width.is_none() {
                self.printer.write("%!(BADWIDTH)");
            }
            if width.is_some_and(|width| width < 0) {
                self.printer.spec.minus = true;
                self.printer.spec.zero = false;
            }
            self.printer.spec.width = width.map(magnitude);
            self.after_index = false;
        } else {
            self.printer.spec.width = self.number();
            if self.after_index && self.printer.spec.width.is_some() {
                self.good_index = false;
            }
        }
    }

    fn precision(&mut self) {
        if self.peek() != Some(b'.') || self.at + 1 >= self.format.len() {
            return;
        }
        self.at += 1;
        if self.after_index {
            self.good_index = false;
        }
        self.after_index = self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            let precision = self.number_argument().filter(|&precision| precision >= 0);
            if precision.is_none() {
                self.printer.write("%!(BADPREC)");
            }
            self.printer.spec.precision = precision.map(magnitude);
            self.after_index = false;
        } else {
            self.printer.spec.precision = Some(self.number().unwrap_or(0));
        }
    }

    /// The argument of a `*`, which is used up; `None` when it is no integer or too large.
    fn number_argument(&mut self) -> Option<i64> {
        let value = self.args.get(self.next_arg)?;
        self.next_arg += 1;
        let plain = match value {
            Value::Object(object) => object.underlying()?,
            other => other.clone(),
        };
        let number = match plain {
            Value::Int(number, _) => number,
            Value::Uint(number, _) => i64::try_from(number).ok()?,
            _ => return None,
        };
        (-TOO_LARGE..=TOO_LARGE).contains(&number).then_some(number)
    }

    /// A decimal number in the format. One that is too large swallows the rest, as in Go.
    fn number(&mut self) -> Option<usize> {
        let (number, end) = parse_number(self.format, self.at, self.format.len());
        self.at = end;
        number
    }

    /// Reads `[n]` and makes the nth argument the next one; whether there was an index.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let (index, length) = parse_index(self.format.get(self.at..).unwrap_or_default());
        self.at += length;
        match index {
            Some(index) if (1..=self.args.len()).contains(&index) => {
                self.next_arg = index - 1;
                true
            }
            other => {
                self.good_index = false;
                other.is_some()
            }
        }
    }

    /// `%!(EXTRA type=value, …)`.
    fn extra(&mut self) {
        if self.reordered || self.next_arg >= self.args.len() {
            return;
        }
        self.printer.spec = Spec::default();
        self.printer.write("%!(EXTRA ");
        let first = self.next_arg;
        for (index, value) in self.args.iter().enumerate().skip(first) {
            if index > first {
                self.printer.write(", ");
            }
            if !matches!(value, Value::Nil) {
                self.printer.write(&value.type_name());
                self.printer.write("=");
            }
            self.printer.argument(value, 'v');
        }
        self.printer.write(")");
    }
}

fn magnitude(number: i64) -> usize {
    usize::try_from(number.unsigned_abs()).unwrap_or(0)
}

/// Reads decimal digits of `format[start..end]`: the number, and where reading ended.
fn parse_number(format: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    let (mut at, mut number) = (start, None);
    while let Some(digit @ b'0'..=b'9') = format.get(at).filter(|_| at < end) {
        let so_far = number.unwrap_or(0);
        if so_far > 1_000_000 {
            return (None, end);
        }
        number = Some(so_far * 10 + usize::from(digit - b'0'));
        at += 1;
    }
    (number, at.min(end.max(start)))
}

/// Reads `[n]` at the start: the number, and how many bytes to step over.
fn parse_index(format: &[u8]) -> (Option<usize>, usize) {
    match format.iter().position(|&byte| byte == b']') {
        Some(close) if format.len() >= 3 => {
            let (number, end) = parse_number(format, 1, close);
            (number.filter(|_| end == close), close + 1)
        }
        _ => (None, 1),
    }
}
