//! TOML.

use crate::Random;

pub(super) fn toml(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..=random.below(5) {
        match random.below(6) {
            0 => {
                let (open, close) = random.pick(&["[ ]", "[[ ]]", "[[ ]", "[ "]).split_once(' ').unwrap();
                out += &format!("{open}{}{close}", key(random));
            }
            1 => out.push_str(random.pick(&["# comment", "", "  ", "\r", "#\u{1}"])),
            _ => out += &format!("{} = {}", key(random), toml_value(random, 2)),
        }
        out.push_str(random.pick(&["\n", "\n", "\n", "\n", "\r\n", " # c\n", "", " "]));
    }
    out
}

fn key(random: &mut Random) -> String {
    let part = |random: &mut Random| {
        random
            .pick(&[
                "a",
                "b",
                "c",
                "a-b",
                "1",
                "\"q r\"",
                "'l'",
                "\"\"",
                "é",
                "_",
                "\"\\u00e9\"",
                "true",
                "1.2",
            ])
            .to_owned()
    };
    let mut out = part(random);
    while random.one_in(4) {
        out.push_str(random.pick(&[".", " . "]));
        out += &part(random);
    }
    out
}

fn toml_value(random: &mut Random, depth: usize) -> String {
    let scalars = [
        "1",
        "-0",
        "+5",
        "1_000",
        "0x1F",
        "0o17",
        "0b11",
        "1.5",
        "-1e3",
        "6.02_2e23",
        "inf",
        "-nan",
        "true",
        "false",
        "True",
        "01",
        "1__0",
        "\"text\"",
        "\"\\t\\u00e9\\U0001F600\\\"\"",
        "\"\\x41\"",
        "'raw \\n'",
        "\"\"\"\nmany\n  lines \\\n   more\"\"\"",
        "'''\nraw\n'''",
        "\"\"\"q\"\"\"\"\"",
        "1979-05-27",
        "1979-05-27T07:32:00Z",
        "1979-05-27 07:32:00.999999-07:00",
        "1979-05-27T07:32:00",
        "07:32:00",
        "1979-13-27",
        "9223372036854775808",
        "1.",
        ".5",
        "\"\u{1}\"",
        "'",
        "\"a\nb\"",
        "",
    ];
    if depth == 0 || !random.one_in(3) {
        return random.pick(&scalars).to_owned();
    }
    let parts: Vec<String> = (0..random.below(4))
        .map(|_| match random.one_in(2) {
            true => toml_value(random, depth - 1),
            false => format!("{} = {}", key(random), toml_value(random, depth - 1)),
        })
        .collect();
    let separator = random.pick(&[", ", ",", ",\n  ", " , # c\n"]);
    let end = random.pick(&["", "", ",", ",\n"]);
    let (open, close) = random.pick(&["[ ]", "{ }"]).split_once(' ').unwrap();
    format!("{open}{}{end}{close}", parts.join(separator))
}
