//! Numbers as golang.org/x/text prints them in English, which is what Helm's schema errors contain.

/// A whole number with separated thousands: `12,345`.
pub(super) fn whole(number: usize) -> String {
    group(&number.to_string())
}

/// A float: `-1,234.5`, or `1.2345678×10⁰⁷` where Go's `%g` would use an exponent.
pub(super) fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..6).contains(&exponent) {
        return format!("{digits}×10{}", superscript(exponent));
    }
    let plain = number.to_string();
    let (sign, plain) = plain.strip_prefix('-').map_or(("", &*plain), |plain| ("-", plain));
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{fraction}", group(whole))
}

fn group(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn superscript(exponent: i32) -> String {
    let digit = |c| match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("{:02}", exponent.unsigned_abs()).chars().fold(sign.to_owned(), |mut text, c| {
        text.push(digit(c));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_helm_prints_them() {
        for (number, want) in [
            (0.0, "0"),
            (-5.0, "-5"),
            (0.3, "0.3"),
            (-1234.5, "-1,234.5"),
            (100_000.5, "100,000.5"),
            (12_345_678.0, "1.2345678×10⁰⁷"),
            (123_456_789.0, "1.23456789×10⁰⁸"),
            (0.000_001_23, "1.23×10⁻⁰⁶"),
            (1e100, "1×10¹⁰⁰"),
        ] {
            assert_eq!(float(number), want);
        }
        assert_eq!([whole(0), whole(999), whole(2000), whole(1_234_567)], ["0", "999", "2,000", "1,234,567"]);
    }
}
