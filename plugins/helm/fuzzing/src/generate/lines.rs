//! Lines of `--set` and its kin, and values files.

use super::{json, yaml_soup};
use crate::{Question, Random};

const PIECES: &[&str] = &[
    "a",
    "b",
    "name",
    "outer.inner",
    "list[0]",
    "list[1]",
    "[0]",
    "[1][2]",
    "[-1]",
    "[65537]",
    "[x]",
    "[",
    "]",
    "=",
    "=",
    "=",
    "=",
    ",",
    ",",
    ",",
    ".",
    ".",
    "{",
    "}",
    "{a,b}",
    "{}",
    "{1,true,null}",
    "\\",
    "\\,",
    "\\.",
    "\\=",
    "true",
    "false",
    "null",
    "1",
    "0",
    "-5",
    "007",
    "1.5",
    "1e3",
    "9223372036854775807",
    "9223372036854775808",
    "\"q\"",
    "'s'",
    " ",
    "é",
    "😀",
    "missing.txt",
    "file",
    "{\"k\":[1,{\"x\":null}]}",
    "[1,\"a\"]",
    "\n",
    "\t",
    "a b",
    "global.x",
    "map.c",
    "map",
    "list",
    "a.b.c.d.e",
];
const PATHS: &[&str] = &[
    "a",
    "a.b",
    "map.c.d",
    "list[0]",
    "list[2].x",
    "list[1][0]",
    "new[1]",
    "nul",
    "nul.x",
    "str.x",
    "list.x",
    "map[0]",
    "a\\.b",
    "é.x",
    "int",
    "",
    ".",
    "a..b",
    "[0]",
    "a[0",
    "a]",
    "list[0].k.z",
    "maps[0].name",
    "maps[3].name",
];
const ITEMS: &[&str] = &[
    "1",
    "x",
    "",
    "true",
    "TRUE",
    "null",
    "nil",
    "0",
    "01",
    "-0",
    "{}",
    "{a,b}",
    "{a, b ,{c}}",
    "{a",
    "a}",
    "{a},b=1",
    "x\\,y",
    "a=b",
    "[1,2]",
    "{\"a\":1}",
    "{\"a\":1,\"b\":[null]},c=2",
    "\"s\"",
    "1e999",
    "9007199254740993",
    " x ",
    "é",
    "missing",
    "{null,1,false}",
    "1.0",
    "0x10",
];

/// What lines are set in.
const BASE: &str =
    "str: text\nint: 1\nnul: null\nlist: [a, {k: v}, [x]]\nmap: {c: {d: 1}, l: []}\nmaps: [{name: a}]\n";

/// One line, or several values files.
pub(super) fn question(random: &mut Random) -> Question {
    if random.one_in(4) {
        return files(random);
    }
    let op = random.pick(&["set", "set", "set-string", "set-json", "set-literal", "set-file"]);
    let mut line = match random.below(3) {
        0 => (0..1 + random.below(8)).map(|_| random.pick(PIECES)).collect(),
        _ => {
            let sets: Vec<String> = (0..1 + random.below(3))
                .map(|_| format!("{}={}", random.pick(PATHS), random.pick(ITEMS)))
                .collect();
            sets.join(random.pick(&[",", ",", ", ", ",,", ";"]))
        }
    };
    if op == "set-json" && random.one_in(3) {
        let mut value = String::new();
        json::nested(random, 3, &mut value);
        line = format!("{}={value}", random.pick(PATHS));
    }
    let base = if random.one_in(3) { "" } else { BASE };
    Question::new(op, [("line", line.as_bytes()), ("values", base.as_bytes())])
}

fn files(random: &mut Random) -> Question {
    let document = |random: &mut Random| match random.below(4) {
        0 => yaml_soup::anchored(random),
        1 => yaml_soup::lines(random, 8),
        _ => tables(random),
    };
    let file = |random: &mut Random| {
        let documents: Vec<String> = (0..1 + random.below(3)).map(|_| document(random)).collect();
        documents.join(random.pick(&[
            "---\n",
            "--- \n",
            "---\n---\n",
            "--- # c\n",
            "---\r\n",
            "--- x\n",
            "...\n",
        ]))
    };
    let (first, second) = (file(random), file(random));
    Question::new("values", [("0", first.as_bytes()), ("1", second.as_bytes())])
}

/// Nested tables with few keys, so that files have them in common.
pub(super) fn tables(random: &mut Random) -> String {
    let mut out = String::new();
    table(random, 3, 0, &mut out);
    out
}

fn table(random: &mut Random, depth: usize, indent: usize, out: &mut String) {
    let mut keys = vec!["a", "b", "c", "d", "enabled", "global", "kid", "name"];
    for _ in 0..1 + random.below(4) {
        let key = keys.remove(random.below(keys.len()));
        out.push_str(&format!("{}{key}:", " ".repeat(indent)));
        if depth > 0 && random.one_in(2) {
            out.push('\n');
            table(random, depth - 1, indent + 2, out);
        } else {
            let value = random.pick(&[
                "1",
                "x",
                "null",
                "",
                "true",
                "false",
                "[]",
                "{}",
                "[1, {a: null}]",
                "{b: null}",
                "\"s\"",
                "1.5",
                "~",
                "{a: {b: 1}}",
                "\"true\"",
                "0",
            ]);
            out.push_str(&format!(" {value}\n"));
        }
    }
}
