//! One formatting directive: flags, width and precision, and how basic values are written under
//! them (the `fmt` struct of Go's fmt/format.go).

use super::float::format_float;
use super::quote::{can_backquote, quote_into, quote_rune_into};
use crate::runes;

/// The flags, width and precision of a directive such as `%-8.3f`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spec {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`, under which `plus` is off.
    pub(super) plus_v: bool,
    /// `%#v`, under which `sharp` is off.
    pub(super) sharp_v: bool,
}

impl Spec {
    fn pad_byte(self) -> u8 {
        if self.zero && !self.minus { b'0' } else { b' ' }
    }

    /// Writes text, filled up to the width.
    pub(super) fn pad(self, out: &mut Vec<u8>, text: &[u8]) {
        let fill = match self.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(runes::count(text)),
        };
        if self.minus {
            out.extend_from_slice(text);
        }
        out.resize(out.len() + fill, self.pad_byte());
        if !self.minus {
            out.extend_from_slice(text);
        }
    }

    /// Writes text filled with spaces whatever the zero flag says.
    fn pad_with_spaces(mut self, out: &mut Vec<u8>, text: &[u8]) {
        self.zero = false;
        self.pad(out, text);
    }

    pub(super) fn boolean(self, out: &mut Vec<u8>, truth: bool) {
        self.pad(out, if truth { b"true" } else { b"false" });
    }

    /// Cuts a string to as many runes as the precision says.
    fn truncate(self, text: &[u8]) -> &[u8] {
        let Some(precision) = self.precision else { return text };
        let mut end = 0;
        for _ in 0..precision {
            let rest = text.get(end..).unwrap_or_default();
            if rest.is_empty() {
                return text;
            }
            end += runes::decode(rest).1;
        }
        text.get(..end).unwrap_or(text)
    }

    /// `%s`.
    pub(super) fn string(self, out: &mut Vec<u8>, text: &[u8]) {
        self.pad(out, self.truncate(text));
    }

    /// `%q` of a string.
    pub(super) fn quoted(self, out: &mut Vec<u8>, text: &[u8]) {
        let text = self.truncate(text);
        let mut quoted = String::with_capacity(text.len() + 2);
        if self.sharp && can_backquote(text) {
            quoted = format!("`{}`", String::from_utf8_lossy(text));
        } else {
            quote_into(&mut quoted, text, '"', self.plus);
        }
        self.pad(out, quoted.as_bytes());
    }

    /// `%x` of a string or bytes.
    pub(super) fn hex(self, out: &mut Vec<u8>, text: &[u8], upper: bool) {
        let shown = text.get(..self.precision.unwrap_or(text.len()).min(text.len())).unwrap_or(text);
        let prefix = if upper { "0X" } else { "0x" };
        let mut hex = String::with_capacity(shown.len() * 2);
        for (index, byte) in shown.iter().enumerate() {
            if index > 0 && self.space {
                hex.push(' ');
            }
            if self.sharp && (index == 0 || self.space) {
                hex.push_str(prefix);
            }
            hex.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
        }
        self.pad(out, hex.as_bytes());
    }

    /// `%c`.
    pub(super) fn character(self, out: &mut Vec<u8>, code: u64) {
        self.pad(out, to_char(code).encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// `%q` of an integer.
    pub(super) fn quoted_character(self, out: &mut Vec<u8>, code: u64) {
        let mut quoted = String::new();
        quote_rune_into(&mut quoted, to_char(code), self.plus);
        self.pad(out, quoted.as_bytes());
    }

    /// `%U`: `U+0078`, with `#` also the character.
    pub(super) fn unicode(self, out: &mut Vec<u8>, code: u64) {
        let mut text = format!("U+{code:00$X}", self.precision.unwrap_or(4).max(4));
        let rune = u32::try_from(code).ok().and_then(char::from_u32);
        if let (true, Some(rune)) = (self.sharp, rune.filter(|&rune| runes::is_print(rune))) {
            text.push_str(&format!(" '{rune}'"));
        }
        self.pad_with_spaces(out, text.as_bytes());
    }

    /// `%d %b %o %O %x %X` of an integer given by sign and magnitude.
    pub(super) fn integer(self, out: &mut Vec<u8>, negative: bool, magnitude: u64, verb: char) {
        let bare = self.width.is_none() && self.precision.is_none() && !self.plus && !self.space;
        if bare && matches!(verb, 'd' | 'v') {
            return push_integer(out, negative, magnitude);
        }
        let mut least = self.precision.unwrap_or(0);
        if self.precision == Some(0) && magnitude == 0 {
            out.resize(out.len() + self.width.unwrap_or(0), b' ');
            return;
        }
        if let (None, true, false, Some(width)) = (self.precision, self.zero, self.minus, self.width) {
            least = width.saturating_sub(usize::from(negative || self.plus || self.space));
        }
        let digits = match verb {
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            _ => magnitude.to_string(),
        };
        let zeros = least.saturating_sub(digits.len());
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let base = match verb {
            'b' if self.sharp => "0b",
            'o' if self.sharp && zeros == 0 && magnitude != 0 => "0",
            'O' if self.sharp && zeros == 0 && magnitude != 0 => "0o0",
            'O' => "0o",
            'x' if self.sharp => "0x",
            'X' if self.sharp => "0X",
            _ => "",
        };
        let text = format!("{sign}{base}{}{digits}", "0".repeat(zeros));
        self.pad_with_spaces(out, text.as_bytes());
    }

    /// The float verbs. `precision` is the verb's default.
    pub(super) fn float(
        self,
        out: &mut Vec<u8>,
        value: f64,
        bits: u32,
        verb: char,
        precision: Option<usize>,
    ) {
        let precision = self.precision.or(precision);
        let text = format_float(value, verb, precision, bits);
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => ("-", number),
            None => (if self.space && !self.plus { " " } else { "+" }, text.trim_start_matches('+')),
        };
        if !value.is_finite() {
            let sign = if value.is_nan() && !self.space && !self.plus { "" } else { sign };
            return self.pad_with_spaces(out, format!("{sign}{number}").as_bytes());
        }
        let mut number = number.to_owned();
        if self.sharp && verb != 'b' {
            number = restore_zeros(&number, verb, precision);
        }
        if !self.plus && sign == "+" {
            return self.pad(out, number.as_bytes());
        }
        match self.width {
            // Zeros go between sign and number.
            Some(width) if self.zero && !self.minus && width > number.len() + 1 => {
                out.extend_from_slice(sign.as_bytes());
                out.resize(out.len() + width - number.len() - 1, b'0');
                out.extend_from_slice(number.as_bytes());
            }
            _ => self.pad(out, format!("{sign}{number}").as_bytes()),
        }
    }
}

/// The `#` flag for floats: always a decimal point, and for `%g` the trailing zeros too.
fn restore_zeros(number: &str, verb: char, precision: Option<usize>) -> String {
    let wanted = match verb {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let exponent_letters: &[char] =
        if matches!(verb, 'x' | 'X') { &['p', 'P'] } else { &['e', 'E', 'p', 'P'] };
    let (mantissa, tail) = number.split_at(number.find(exponent_letters).unwrap_or(number.len()));
    // Digits count from the first that is not zero; the x of a hex prefix counts as one, as in Go.
    let significant = mantissa.chars().filter(|&c| c != '.').skip_while(|&c| c == '0').count();
    let has_point = mantissa.contains('.');
    let lone_zero = usize::from(!has_point && mantissa == "0");
    let zeros = wanted.saturating_sub(significant + lone_zero);
    let point = if has_point { "" } else { "." };
    format!("{mantissa}{point}{}{tail}", "0".repeat(zeros))
}

/// Appends a number in decimal.
pub(super) fn push_integer(out: &mut Vec<u8>, negative: bool, magnitude: u64) {
    if negative {
        out.push(b'-');
    }
    let (start, mut left) = (out.len(), magnitude);
    loop {
        out.push(b'0' + u8::try_from(left % 10).unwrap_or(0));
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

fn to_char(code: u64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}
