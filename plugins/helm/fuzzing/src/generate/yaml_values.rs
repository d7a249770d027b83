//! Values that are written.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use helm_template::{FloatType, IntType, List, Map, Str, UintType, Value};

use crate::ours::yaml::tree;
use crate::{Question, Random};

/// The ways to write a value.
pub const WRITERS: &[&str] = &["to-yaml", "to-yaml-pretty", "to-json", "to-json-raw", "to-json-pretty"];

/// Every way to write a value.
pub fn questions(value: &Value) -> impl Iterator<Item = Question> {
    let spelled = tree(value).to_string();
    WRITERS.iter().map(move |op| Question::yaml(op, spelled.clone()))
}

/// The value that a question spells.
pub fn untree(spelled: &serde_json::Value) -> Value {
    let decode = |text: &serde_json::Value| BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap();
    let Some([kind, content]) = spelled.as_array().map(Vec::as_slice) else { return Value::Nil };
    let text = content.as_str().unwrap_or_default();
    match kind.as_str().unwrap() {
        "b" => Value::Bool(content.as_bool().unwrap()),
        "i" => Value::Int(text.parse().unwrap(), IntType::Int64),
        "u" => Value::Uint(text.parse().unwrap(), UintType::Uint64),
        "f" => Value::Float(f64::from_bits(u64::from_str_radix(text, 16).unwrap()), FloatType::Float64),
        "s" => Value::String(Str::from_bytes(&decode(content))),
        "y" => Value::bytes(decode(content)),
        "l" => Value::List(content.as_array().unwrap().iter().map(untree).collect()),
        "m" => Value::Map(
            content
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| (Str::from_bytes(&decode(&entry[0])), untree(&entry[1])))
                .collect::<Map>(),
        ),
        other => panic!("no kind {other}"),
    }
}

/// Texts that look like something else.
pub const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "key",
    "1",
    "10",
    "2",
    "-1",
    "0x1F",
    "0o17",
    "0777",
    "1.5",
    "1e3",
    ".5",
    ".inf",
    "-.inf",
    ".nan",
    "yes",
    "no",
    "on",
    "y",
    "N",
    "true",
    "null",
    "~",
    "2001-01-01",
    "2001-12-14 21:59:43",
    "1:30",
    "190:20:30.15",
    "1_000",
    "<<",
    "=",
    "-",
    "- a",
    "--- a",
    "...",
    "?",
    "? a",
    ":",
    ": a",
    "a:",
    "a: b",
    "a #b",
    "#a",
    "a#b",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "'",
    "\"",
    "%a",
    "@a",
    "`a",
    "[a",
    "]a",
    "{a",
    "}a",
    ",a",
    "a, b",
    "a]",
    " ",
    " a",
    "a ",
    "a  b",
    "\t",
    "a\tb",
    "\n",
    "a\n",
    "a\nb",
    "a\nb\n",
    "a\n\n",
    "\na",
    "\n\n",
    " a\nb",
    "a \nb",
    "a\n b",
    "a\r\nb",
    "\r",
    "\u{85}",
    "a\u{85}b",
    "\u{2028}",
    "a\u{2028}b",
    "a \u{2029}b",
    "\u{FEFF}",
    "\u{FEFF}ab c",
    "a\u{FEFF}",
    "é",
    "日本",
    "😀",
    "\u{A0}",
    "\u{7F}",
    "\u{80}",
    "\0",
    "\x07\x08\x0B\x0C\x1B",
    "\u{FFFE}",
    "\u{FFFF}",
    "\u{E000}",
    "\u{FFFD}",
    "<script>&",
    "\\",
    "\"q\"",
    "it's",
    "a2",
    "a10",
    "A",
    "aB",
    "a-b",
    "a.b",
    "a_b",
    "a/b",
    "a01",
    "a1b",
    "a00",
    "0",
    "00",
    "٣",
    "a٣",
    "100%",
    "0b1",
    "0o+7",
    "-0o7",
    "0b+1",
    "!!binary",
    "tag:x",
    "http://a.b/c?d=e&f#g",
];

fn text(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0..4 => random.pick(TEXTS).as_bytes().to_vec(),
        4..6 => {
            (0..1 + random.below(4)).flat_map(|_| random.pick(TEXTS).bytes().collect::<Vec<_>>()).collect()
        }
        6 => {
            let words: Vec<&str> = (0..random.below(40)).map(|_| random.pick(TEXTS)).collect();
            words.join(random.pick(&[" ", " ", "  ", "\n", ""])).into_bytes()
        }
        7 => (0..random.below(30)).map(|_| b"ab \n\t:#-'\"\\,[]{}0123456789"[random.below(26)]).collect(),
        8 => (0..random.below(300)).map(|_| b"abcdefghij  "[random.below(12)]).collect(),
        _ if random.below(4) == 0 => (0..1 + random.below(80)).map(|_| random.next() as u8).collect(),
        _ => format!("{}{}", random.pick(&["a", "k", "x-", "1", ""]), random.below(120)).into_bytes(),
    }
}

fn number(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Int(random.next() as i64, IntType::Int64),
        1 => Value::Int(random.below(1000) as i64 - 500, IntType::Int64),
        2 => Value::Uint(random.next(), UintType::Uint64),
        3 => Value::from(random.below(100_000_000) as f64),
        4 => Value::from(random.below(1_000_000) as f64 / 8.0),
        5 => Value::from(f64::from_bits(random.next())),
        6 => Value::from((random.next() as f64) * 10_f64.powi(random.below(60) as i32 - 40)),
        _ => Value::from(
            *[
                0.0,
                -0.0,
                1e15,
                1e16,
                1e20,
                1e21,
                -1e18,
                9.3e18,
                1.9e19,
                1e-6,
                1e-7,
                0.1,
                f64::NAN,
                f64::INFINITY,
            ]
            .get(random.below(14))
            .unwrap(),
        ),
    }
}

/// A value of any kind, so deep.
pub fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 => Value::Nil,
        1 => Value::Bool(random.below(2) == 0),
        2 => number(random),
        3 if random.below(8) == 0 => Value::bytes(text(random)),
        3..6 => Value::String(Str::from_bytes(&text(random))),
        6..8 => Value::List((0..random.below(4)).map(|_| value(random, depth - 1)).collect::<List>()),
        _ => Value::Map(
            (0..random.below(6))
                .map(|_| (Str::from_bytes(&text(random)), value(random, depth - 1)))
                .collect(),
        ),
    }
}
