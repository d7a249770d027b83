//! What reads text that anybody may have written. Each of these has to return, whatever it is given: without a panic, in
//! bounded time and memory, on a small stack. Property tests and the targets of `plugins/helm/fuzz` share them.

use helm_chart::archive::read_archive;
use helm_chart::ignore::IgnoreRules;
use helm_chart::path_match;
use helm_chart::strvals::{self, Style};
use helm_chart::yaml::load_values;
use helm_chart::{KubeVersion, load_archive};
use helm_functions::semver::{Constraints, Version};
use helm_template::{Map, Value, fmt};
use helm_yaml::json::{first_from_json, from_json};
use helm_yaml::nodes::Objects;
use helm_yaml::outline::outline;
use helm_yaml::{Duplicates, from_yaml, to_yaml, to_yaml_pretty, yaml_to_json_text};

use crate::generate::pipelines::VALUES;
use crate::{Question, ours};

/// An entry point with its name and inputs to begin with.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What reads.
    pub run: fn(&[u8]),
    /// Inputs that it takes.
    pub samples: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const ENTRIES: [Entry; 9] = [
    Entry { name: "template", run: template, samples: templates },
    Entry { name: "yaml", run: yaml, samples: documents },
    Entry { name: "json", run: json, samples: json_texts },
    Entry { name: "toml", run: toml, samples: toml_texts },
    Entry { name: "archive", run: archive, samples: archives },
    Entry { name: "semver", run: semver, samples: versions },
    Entry { name: "strvals", run: lines, samples: set_lines },
    Entry { name: "glob", run: glob, samples: globs },
    Entry { name: "regex", run: regex, samples: patterns },
];

/// Parses a template, and executes it where that works.
pub fn template(data: &[u8]) {
    ours::answer(&Question::new("template", [("text", data), ("values", VALUES.as_bytes())]));
}

/// Reads a document in every way, and writes what it holds.
pub fn yaml(data: &[u8]) {
    for duplicates in [Duplicates::LastWins, Duplicates::Refuse] {
        if let Ok(value) = from_yaml(data, duplicates) {
            let _ = to_yaml(&value);
            to_yaml_pretty(&value);
        }
        let _ = yaml_to_json_text(data, duplicates);
    }
    let _ = load_values(data);
    let whole = str::from_utf8(data).ok().and_then(|text| outline(text, |_| Some(())));
    assert!(
        whole.is_none() || from_yaml(data, Duplicates::LastWins).is_ok(),
        "what has an outline can be read"
    );
    if let Ok(objects) = Objects::read(data) {
        let _ = objects.write();
    }
}

/// Reads JSON.
pub fn json(data: &[u8]) {
    from_json(data);
    let _ = first_from_json(data);
}

/// Reads TOML, and writes what it holds.
pub fn toml(data: &[u8]) {
    called("fromToml", data, "| toToml");
}

/// Unpacks an archive, and loads the chart in it.
pub fn archive(data: &[u8]) {
    let _ = read_archive(data);
    let _ = load_archive(data, &mut Vec::new());
}

/// Reads versions and constraints.
pub fn semver(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let constraint = Constraints::parse(&text);
    for version in [&*text, "1.2.3", "0.0.0-0"] {
        if let (Ok(constraint), Ok(version)) = (&constraint, Version::parse(version)) {
            constraint.check(&version);
        }
    }
    let _ = KubeVersion::parse(&text);
}

/// Sets a line in every style.
pub fn lines(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let mut file = |name: &str| Ok(name.as_bytes().to_vec());
    for style in [Style::Typed, Style::String, Style::Json, Style::Literal, Style::File(&mut file)] {
        let values = Map::from_iter([("a", Value::from(vec![Value::Nil])), ("b", Value::Map(Map::new()))]);
        let _ = strvals::parse_into(&line, style, &values);
    }
}

/// Matches paths with patterns of `.helmignore`, of `--show-only` and of `.Files.Glob`.
pub fn glob(data: &[u8]) {
    const PATHS: [&str; 4] =
        ["a/b/c.txt", "templates/x.yaml", "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    let text = String::from_utf8_lossy(data);
    if let Ok(rules) = IgnoreRules::parse(&text) {
        std::hint::black_box(PATHS.map(|path| rules.ignores_file(path)));
    }
    let _ = std::hint::black_box(PATHS.map(|path| path_match::matches(&text, path)));
    let template = format!("{{{{ .Files.Glob {} }}}}", fmt::quote(data));
    ours::answer(&Question::new(
        "chart",
        [
            ("file:Chart.yaml", b"apiVersion: v2\nname: top\nversion: 1.0.0\n".as_slice()),
            ("file:templates/NOTES.txt", template.as_bytes()),
            ("file:conf/a/b.txt", b"x"),
            ("file:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", b"x"),
        ],
    ));
}

/// Translates a pattern and searches with it.
pub fn regex(data: &[u8]) {
    called("mustRegexFindAll", data, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab é\" -1");
    called("mustRegexReplaceAll", data, "\"abc\" \"${1}\"");
}

fn called(function: &str, argument: &[u8], rest: &str) {
    ours::answer(&Question::call(format!("{{{{ {function} {} {rest} }}}}", fmt::quote(argument))));
}

fn owned(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn made_up(area: crate::generate::Area, op: &str, part: usize) -> Vec<Vec<u8>> {
    let questions = area.questions(1).into_iter().filter(|question| question.op == op);
    questions.take(60).map(|question| question.parts[part].1.clone()).collect()
}

fn templates() -> Vec<Vec<u8>> {
    made_up(crate::generate::Area::Template, "template", 0)
}

fn documents() -> Vec<Vec<u8>> {
    let mut samples = made_up(crate::generate::Area::Yaml, "yaml:yaml-to-json", 0);
    samples.push(VALUES.as_bytes().to_vec());
    samples.push(b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n<<: {x: 1}\n".to_vec());
    samples
}

fn json_texts() -> Vec<Vec<u8>> {
    made_up(crate::generate::Area::Yaml, "yaml:from-json", 0)
}

fn toml_texts() -> Vec<Vec<u8>> {
    owned(crate::generate::pools::TOML)
}

fn archives() -> Vec<Vec<u8>> {
    vec![include_bytes!("../samples/chart.tgz").to_vec()]
}

fn versions() -> Vec<Vec<u8>> {
    [owned(crate::generate::pools::VERSIONS), owned(crate::generate::pools::CONSTRAINTS)].concat()
}

fn set_lines() -> Vec<Vec<u8>> {
    made_up(crate::generate::Area::Values, "set", 0)
}

fn globs() -> Vec<Vec<u8>> {
    owned(&[
        "*",
        "**/*.txt",
        "conf/{a,b}/*",
        "[a-z]?",
        "!x\n/a/\n*.y",
        "\\*",
        "{a,{b,c*}}*",
        "[^]a]",
        "a[",
        "*a*a*a*a*b",
    ])
}

fn patterns() -> Vec<Vec<u8>> {
    owned(crate::generate::pools::PATTERNS)
}
