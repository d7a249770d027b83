//! Streams of objects with comments wherever there can be one, from a seed.

use crate::Random;

const KEYS: &[&str] =
    &["a", "b", "name", "'q'", "\"d q\"", "metadata", "annotations", "items", "1", "yes", "~", "x-y/z"];

const SCALARS: &[&str] = &[
    "1",
    "text",
    "'single'",
    "\"double\\tquoted\"",
    "some words",
    "yes",
    "0x10",
    "0o7",
    "2001-01-01",
    "null",
    "~",
    "",
    "\"\"",
    "''",
    "!!str 5",
    "!mine x",
    "&anchor value",
    "*anchor",
    "\"no: plain\"",
    "'- x'",
    "1e3",
    "'it''s'",
    "\"\\u00e9\\U0001F600\"",
    "é😀",
    "<<",
    "\"a\\nb\"",
    "plain\n      goes on",
    "\"goes\n      on\"",
    "[]",
    "{}",
    "[1, a, 'b']",
    "{a: 1, b: c}",
    "[{a: 1}, [b]] ",
    "[ # in\n      1,\n      # above\n      2, # beside\n      # below\n      ]",
    "{ a: 1, # beside\n      # above\n      b: 2 # last\n      }",
];

const BLOCKS: &[&str] = &["|", "|-", "|+", ">", ">-", ">+", "|2"];

const LINES: &[&str] = &["line", "  more", "", "# no comment", "- x", "a: b", "tab\there", "end  "];

const APPARTS: &[&str] = &["\n---\n", "\n---\n", "\n--- # next\n", "\n...\n---\n", "\n---\n---\n", "\n"];

/// Comments, empty lines or nothing, at an indentation of their own or that of what follows.
fn above(random: &mut Random, indent: usize, out: &mut String) {
    for _ in 0..random.below(8).saturating_sub(4) {
        if random.below(3) == 0 {
            out.push('\n');
            continue;
        }
        let own = match random.below(6) {
            0 => 0,
            1 => indent + 2,
            2 => indent.saturating_sub(2),
            _ => indent,
        };
        out.push_str(&" ".repeat(own));
        out.push_str(random.pick(&["# above", "#tight", "# two", "#", "# é 😀"]));
        out.push('\n');
    }
}

fn beside(random: &mut Random, out: &mut String) {
    if random.below(4) == 0 {
        out.push_str(random.pick(&[" # beside", "  #x", "\t# tab", " #"]));
    }
    out.push('\n');
}

fn block_scalar(random: &mut Random, indent: usize, out: &mut String) {
    out.push_str(random.pick(BLOCKS));
    beside(random, out);
    for _ in 0..random.below(5) {
        let line = random.pick(LINES);
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent + 2));
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// What stands behind a key or a dash, up to the end of its lines.
fn value(random: &mut Random, indent: usize, depth: usize, out: &mut String) {
    match random.below(if depth == 0 { 5 } else { 10 }) {
        0 => {
            out.push(' ');
            block_scalar(random, indent, out);
        }
        1..=4 => {
            out.push(' ');
            out.push_str(random.pick(SCALARS));
            beside(random, out);
        }
        5 | 6 => {
            out.push_str(random.pick(&["", "", " &anchor", " !!map", " !tag"]));
            beside(random, out);
            let deeper = indent + [2, 2, 2, 4][random.below(4)];
            mapping(random, deeper, depth - 1, out);
        }
        _ => {
            out.push_str(random.pick(&["", "", " &anchor", " !!seq"]));
            beside(random, out);
            let deeper = indent + [0, 0, 2, 4][random.below(4)];
            sequence(random, deeper, depth - 1, out);
        }
    }
}

fn mapping(random: &mut Random, indent: usize, depth: usize, out: &mut String) {
    for _ in 0..1 + random.below(3) {
        above(random, indent, out);
        out.push_str(&" ".repeat(indent));
        pair(random, indent, depth, out);
    }
    above(random, indent, out);
}

fn pair(random: &mut Random, indent: usize, depth: usize, out: &mut String) {
    if random.below(20) == 0 {
        out.push_str("? ");
        out.push_str(random.pick(SCALARS));
        beside(random, out);
        out.push_str(&" ".repeat(indent));
        out.push(':');
    } else {
        out.push_str(random.pick(KEYS));
        out.push(':');
    }
    value(random, indent, depth, out);
}

fn sequence(random: &mut Random, indent: usize, depth: usize, out: &mut String) {
    for _ in 0..1 + random.below(3) {
        above(random, indent, out);
        out.push_str(&" ".repeat(indent));
        out.push('-');
        if random.below(3) == 0 {
            // A mapping or a sequence on the line of the dash.
            out.push(' ');
            match random.below(3) {
                0 => {
                    out.push('-');
                    value(random, indent + 2, depth.saturating_sub(1), out);
                }
                _ => {
                    pair(random, indent + 2, depth.saturating_sub(1), out);
                    if random.below(2) == 0 {
                        mapping(random, indent + 2, depth.saturating_sub(1), out);
                    }
                }
            }
        } else {
            value(random, indent, depth, out);
        }
    }
    above(random, indent, out);
}

fn metadata(random: &mut Random, out: &mut String) {
    const TEXTS: &[&str] = &[
        "metadata:\n  name: x\n",
        "metadata:\n  name: x # beside\n  annotations:\n    a: b\n    # below\n",
        "metadata:\n  annotations: {}\n  name: x\n",
        "metadata: {}\n",
        "metadata:\n",
        "metadata: null\n",
        "metadata: {name: x, annotations: {a: b}}\n",
        "metadata:\n  annotations:\n    config.kubernetes.io/index: '3'\n    postrenderer.helm.sh/postrender-filename: \"a/b.yaml\"\n",
        "metadata:\n  annotations:\n    internal.config.kubernetes.io/seqindent: wide\n    config.kubernetes.io/path: p.yaml\n",
        "metadata:\n  annotations: text\n",
        "metadata:\n  - a\n",
        "metadata: text\n",
        "metadata:\n  annotations:\n    - a\n",
        "metadata: &m\n  name: x\n  labels:\n    a: b\n",
    ];
    out.push_str(random.pick(TEXTS));
}

/// An object, or something that is none.
fn object(random: &mut Random, out: &mut String) {
    above(random, 0, out);
    match random.below(12) {
        0 => sequence(random, 0, 3, out),
        1 => {
            out.push_str(random.pick(SCALARS));
            beside(random, out);
        }
        2 => {
            out.push_str(
                random.pick(&["kind: List\nitems:\n", "apiVersion: v1\nkind: ResourceList\nitems:\n"]),
            );
            sequence(random, 0, 3, out);
        }
        3 => above(random, 0, out),
        _ => {
            if random.below(4) > 0 {
                out.push_str("apiVersion: v1\nkind: ConfigMap\n");
            }
            if random.below(3) > 0 {
                above(random, 0, out);
                metadata(random, out);
            }
            mapping(random, 0, 3, out);
        }
    }
    above(random, 0, out);
}

/// One or several objects.
pub fn stream(random: &mut Random) -> String {
    let mut out = String::new();
    if random.below(4) == 0 {
        out.push_str(random.pick(&["---\n", "\n---\n", "# at the top\n---\n", "%YAML 1.1\n---\n"]));
    }
    object(random, &mut out);
    while random.below(3) == 0 {
        while out.ends_with('\n') {
            out.pop();
        }
        out.push_str(random.pick(APPARTS));
        object(random, &mut out);
    }
    if random.below(8) == 0 {
        out.pop();
    }
    out
}
