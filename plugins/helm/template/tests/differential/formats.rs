//! Every verb under flags, widths and precisions, on a value of every kind; and formats that are
//! wrong in every way.

use std::fmt::Write as _;

use helm_fuzzing::{Question, Random};
use serde_json::Value as Json;

use crate::cases::one;

const VERBS: &str = "vdsqxXtcUboOeEfFgGTwzÿ";
const FLAGS: [&str; 18] =
    ["", "+", "-", "#", " ", "0", "+#", "# ", "-0", "+0", "#0", " 0", "+-", "#-", "+ ", "#+ ", "-#0", "+#0"];
const WIDTHS: [&str; 4] = ["", "1", "9", "24"];
const PRECISIONS: [&str; 6] = ["", ".", ".0", ".2", ".7", ".30"];

/// For each directive a template that prints all data by it. Of the combinations one in seven is
/// taken, all when `ALL_FORMATS` is set.
pub(crate) fn directives(data: &[u8]) -> Vec<Question> {
    let step = if std::env::var_os("ALL_FORMATS").is_some() { 1 } else { 7 };
    let mut cases = Vec::new();
    for verb in VERBS.chars() {
        for flags in FLAGS {
            for width in WIDTHS {
                for precision in PRECISIONS {
                    cases.push(directive(&format!("%{flags}{width}{precision}{verb}"), data));
                }
            }
        }
    }
    cases.into_iter().step_by(step).collect()
}

fn directive(directive: &str, data: &[u8]) -> Question {
    let mut text = String::new();
    for name in serde_json::from_slice::<Json>(data).unwrap().as_object().unwrap().keys() {
        // The width and digits of addresses differ from run to run.
        let address = ["double", "fails", "variadic"].contains(&name.as_str());
        if !address || !directive.contains(|c: char| c.is_ascii_digit() || "bodxX#".contains(c)) {
            let _ = writeln!(text, "{{{{ printf {directive:?} .{name} }}}}|");
        }
    }
    one(&text, data)
}

/// Formats with indexes, stars and faults, with arguments of several kinds and numbers.
/// Each line of the one is combined with each of the other.
pub(crate) fn formats(formats: &str, arguments: &str, data: &[u8]) -> Vec<Question> {
    let mut cases = Vec::new();
    for format in formats.lines() {
        for args in arguments.lines() {
            cases.push(one(&format!("{{{{ printf {format:?} {args} }}}}"), data));
        }
    }
    cases
}

/// Numbers whose decimal form is hard to get right.
pub(crate) fn floats() -> Vec<Question> {
    let mut random = Random::new(7);
    let mut numbers: Vec<f64> = vec![
        0.0,
        1.0,
        0.1,
        0.3,
        1.0 / 3.0,
        2.5,
        3.5,
        0.5,
        1.5,
        5e-324,
        1.7976931348623157e308,
        2.2250738585072014e-308,
        1e21,
        1e20,
        123456789.0,
        1e5,
        1e6,
        1e-4,
        1e-5,
        9007199254740993.0,
        0.000001,
        4.35,
        1.005,
        2.675,
        1e15,
        1e16,
        1e17,
        99.95,
        999999.5,
        9999995.0,
        0.00009999995,
        1e100,
        1.23456789012345e-7,
        8.5,
        100.0,
        1024.0,
        65536.5,
    ];
    numbers.extend((0..300).map(|_| f64::from_bits(random.next()).abs()).filter(|n| n.is_finite()));
    numbers.extend((0..200).map(|_| f64::from(u32::try_from(random.next() >> 40).unwrap()) / 64.0));
    // Halfway between two shortest forms.
    numbers.extend((0..64).map(|step| 70_368_744_177_664.0 + f64::from(step) / 64.0));
    numbers.extend((0..64).map(|step| 9_007_199_254_740_992.0 * f64::from(step) + 2.0));
    let formats = [
        "%v", "%g", "%e", "%f", "%.0f", "%.1f", "%.2f", "%.3g", "%.10g", "%.17g", "%.20g", "%.25e", "%x",
        "%.3x", "%b", "%G", "%#g", "%#.3g", "%#v", "%8.3f", "%+.2e", "%.0e", "%.0g", "%#.0f", "%.40f", "%X",
        "%#x", "%.1x", "%.0x", "%.20x",
    ];
    let text: String = formats.iter().map(|format| format!("{{{{ printf \"{format} \" . }}}}")).collect();
    let narrow = |number: &f64| serde_json::json!({"$float32": number});
    let small = numbers.iter().filter(|number| (1e-30..1e30).contains(*number)).map(narrow);
    let wide = numbers.iter().map(|number| serde_json::json!(number));
    let signed = numbers.iter().map(|number| serde_json::json!(-number));
    wide.chain(signed).chain(small).map(|number| one(&text, number.to_string().as_bytes())).collect()
}
