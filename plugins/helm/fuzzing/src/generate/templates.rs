//! Makes templates up: mostly well-formed ones over the data of the other tests, with now and then
//! a character changed so that the parser is asked too.

use super::pipelines::Pipelines;
use crate::{Question, Random};

/// What templates of the operation `text` are executed with.
pub fn data() -> Vec<u8> {
    include_bytes!("templates.json").to_vec()
}

/// Without the numbers that loops would take for ever to count up to.
const FIELDS: [&str; 43] = [
    "int", "neg", "zero", "i8", "u", "u8", "f", "big", "tiny", "f32", "fzero", "whole", "inf", "nan", "str",
    "empty", "quoted", "uni", "raw", "bytes", "yes", "no", "null", "list", "nolist", "words", "ints", "maps",
    "map", "nomap", "smap", "nilmap", "nilslice", "nilpoint", "values", "names", "files", "point", "ptr",
    "version", "plain", "missing", "double",
];
const SUBFIELDS: [&str; 18] = [
    "a", "b", "c", "d", "e", "n", "x", "name", "sub", "k", "X", "Name", "Any", "Label", "Major", "String",
    "Size", "missing",
];
const CONSTANTS: [&str; 22] = [
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "1e3",
    "0x1F",
    "'a'",
    "\"a\"",
    "\"\"",
    "\"k\"",
    "`raw`",
    "\"c\"",
    "true",
    "false",
    "nil",
    "1.0",
    "40",
    "\"%d\"",
    "\"%v %s\"",
    "-0.5",
    "-7",
];
const FUNCTIONS: [&str; 47] = [
    "and", "or", "not", "len", "index", "slice", "eq", "ne", "lt", "le", "gt", "ge", "print", "printf",
    "println", "html", "js", "urlquery", "call", "add", "upper", "glue", "ident", "size", "typed", "first",
    "half", "byte", "wide", "small", "single", "flag", "typeof", "dict", "list", "strs", "nothing", "nilmap",
    "hello", "strlist", "and", "or", "index", "printf", "typeof", "include", "fail",
];
/// For calls whose arguments nobody looks at.
const HELM_FUNCTIONS: [&str; 30] = [
    "and", "or", "not", "len", "index", "slice", "eq", "ne", "lt", "gt", "print", "printf", "println",
    "html", "js", "urlquery", "call", "include", "tpl", "required", "fail", "default", "toYaml", "quote",
    "dict", "list", "get", "hasKey", "dig", "nope",
];
const METHODS: [&str; 9] = [
    "version.Bump",
    "version.Join",
    "version.Any",
    "version.Narrow",
    "version.Table",
    "values.Table",
    "names.Has",
    "files.Get",
    "version.Fail",
];
const TEXTS: [&str; 8] = ["", " ", "x", "\n", "  \n  ", "text ", "é", "-"];

/// That many templates for a seed, over the data.
pub fn templates(seed: u64, count: usize, data: &[u8]) -> Vec<Question> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let mut generator = Generator {
                random: &mut random,
                variables: Vec::new(),
                loops: 0,
                defining: false,
                helm: None,
            };
            let text = generator.text();
            let missing_key = random.pick(&["default", "default", "zero", "error"]);
            let parts = [("text:t", text.as_bytes()), ("data", data), ("missingkey", missing_key.as_bytes())];
            Question::new("text", parts)
        })
        .collect()
}

/// A template that Helm's engine renders, with Helm's functions.
pub(super) fn of_helm(random: &mut Random, helm: &Pipelines) -> Question {
    let helm = Some(helm.clone());
    let mut generator = Generator { random, variables: Vec::new(), loops: 0, defining: false, helm };
    let text = generator.text();
    let helpers = generator.helpers();
    let values = super::pipelines::VALUES;
    Question::new(
        "template",
        [("text", text.as_bytes()), ("helpers", helpers.as_bytes()), ("values", values.as_bytes())],
    )
}

/// A template as one of a chart, with the values of made-up ones.
pub fn in_chart(text: &str) -> Question {
    Question::new("template", [("text", text.as_bytes()), ("values", super::pipelines::VALUES.as_bytes())])
}

struct Generator<'r> {
    random: &'r mut Random,
    variables: Vec<String>,
    loops: usize,
    /// Within a definition nothing that is defined is used: endless recursion takes its time.
    defining: bool,
    /// Expressions over Helm's functions instead of those of the tests.
    helm: Option<Pipelines>,
}

impl Generator<'_> {
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.random.one_in(3) {
            self.defining = true;
            let body = self.body(2);
            self.defining = false;
            text.push_str(&format!("{{{{ define \"sub\" }}}}{body}{{{{ end }}}}"));
            self.variables.clear();
        }
        text.push_str(&self.body(3));
        if self.random.one_in(6) {
            text = self.damaged(&text);
        }
        text
    }

    /// Definitions that templates of Helm include.
    fn helpers(&mut self) -> String {
        self.variables.clear();
        self.defining = true;
        let body = self.body(1);
        format!(
            "{{{{ define \"sub\" }}}}[{{{{ . }}}}]{{{{ end }}}}{{{{- define \"name\" -}}}} n-{{{{ .Values.str }}}} {{{{- end -}}}}\n\
             {{{{ define \"made\" }}}}{body}{{{{ end }}}}"
        )
    }

    /// The text with one character left out, doubled or replaced.
    fn damaged(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        let at = self.random.below(characters.len().max(1)).min(characters.len().saturating_sub(1));
        if characters.is_empty() {
            return String::new();
        }
        match self.random.below(4) {
            0 => {
                characters.remove(at);
            }
            1 => characters.insert(at, characters[at]),
            2 => characters.truncate(at),
            _ => {
                let replacement = self
                    .random
                    .pick(&["{", "}", "(", ")", ".", "|", "\"", "$", "=", " ", ",", "-", "1", "a", "é"]);
                characters[at] = replacement.chars().next().unwrap();
            }
        }
        characters.into_iter().collect()
    }

    fn body(&mut self, depth: usize) -> String {
        let known = self.variables.len();
        let statements: String = (0..=self.random.below(4)).map(|_| self.statement(depth)).collect();
        self.variables.truncate(known);
        statements
    }

    fn delimited(&mut self, action: &str) -> String {
        let left = self.random.pick(&["{{ ", "{{ ", "{{", "{{- "]);
        let right = self.random.pick(&[" }}", " }}", " }}", " -}}"]);
        format!("{left}{action}{right}")
    }

    fn statement(&mut self, depth: usize) -> String {
        let text = self.random.pick(&TEXTS).to_owned();
        let action = match self.random.below(if depth == 0 { 6 } else { 14 }) {
            0..=2 => {
                let pipeline = self.pipeline(2);
                self.delimited(&pipeline)
            }
            3 => self.declaration(),
            4 => self.assignment(),
            5 => text.clone(),
            6..=8 => self.block("if", depth),
            9 => self.block("with", depth),
            10 | 11 => self.range(depth),
            12 if !self.defining => {
                let dot = self.operand(1);
                self.delimited(&format!("template \"sub\" {dot}"))
            }
            _ if self.loops > 0 => {
                let word = self.random.pick(&["break", "continue"]);
                let (condition, word) = (self.pipeline(1), format!("{{{{ {word} }}}}"));
                format!("{{{{ if {condition} }}}}{word}{{{{ end }}}}")
            }
            _ => "{{/* comment */}}".to_owned(),
        };
        format!("{text}{action}")
    }

    fn declaration(&mut self) -> String {
        let name = format!("$v{}", self.random.below(4));
        let pipeline = self.pipeline(2);
        self.variables.push(name.clone());
        self.delimited(&format!("{name} := {pipeline}"))
    }

    fn assignment(&mut self) -> String {
        let pipeline = self.pipeline(2);
        match self.variable() {
            Some(name) => self.delimited(&format!("{name} = {pipeline}")),
            None => self.delimited(&pipeline),
        }
    }

    fn variable(&mut self) -> Option<String> {
        if self.variables.is_empty() {
            return None;
        }
        let at = self.random.below(self.variables.len());
        self.variables.get(at).cloned()
    }

    fn block(&mut self, word: &str, depth: usize) -> String {
        let known = self.variables.len();
        let mut condition = self.pipeline(2);
        if self.random.one_in(4) {
            let name = format!("$v{}", self.random.below(4));
            condition = format!("{name} := {condition}");
            self.variables.push(name);
        }
        let mut out = self.delimited(&format!("{word} {condition}"));
        out.push_str(&self.body(depth - 1));
        if self.random.one_in(3) {
            let condition = self.pipeline(1);
            out.push_str(&self.delimited(&format!("else {word} {condition}")));
            out.push_str(&self.body(depth - 1));
        }
        if self.random.one_in(2) {
            out.push_str(&self.delimited("else"));
            out.push_str(&self.body(depth - 1));
        }
        self.variables.truncate(known);
        out + &self.delimited("end")
    }

    fn range(&mut self, depth: usize) -> String {
        let known = self.variables.len();
        let over = if self.random.one_in(3) {
            self.pipeline(1)
        } else {
            format!(
                "$.{}",
                match self.helm {
                    Some(_) => self.random.pick(&super::pipelines::RANGES),
                    None => self.random.pick(&[
                        "list", "words", "ints", "map", "smap", "maps", "values", "names", "nolist",
                    ]),
                }
            )
        };
        let declared = match self.random.below(5) {
            0 => vec!["$k", "$v0"],
            1 => vec!["$v1"],
            2 if !self.variables.is_empty() => Vec::new(),
            _ => Vec::new(),
        };
        let head = if declared.is_empty() { over } else { format!("{} := {over}", declared.join(", ")) };
        self.variables.extend(declared.into_iter().map(str::to_owned));
        let mut out = self.delimited(&format!("range {head}"));
        self.loops += 1;
        out.push_str(&self.body(depth - 1));
        self.loops -= 1;
        if self.random.one_in(3) {
            out.push_str(&self.delimited("else"));
            out.push_str(&self.body(depth - 1));
        }
        self.variables.truncate(known);
        out + &self.delimited("end")
    }

    fn pipeline(&mut self, depth: usize) -> String {
        if let Some(helm) = &mut self.helm
            && !self.random.one_in(8)
        {
            return helm.any_within(self.random, depth, &self.variables, self.defining);
        }
        let mut out = self.command(depth);
        while self.random.one_in(4) {
            let next = match self.random.below(6) {
                0 => format!(".{}", self.random.pick(&METHODS)),
                _ => self.call(depth),
            };
            out = format!("{out} | {next}");
        }
        out
    }

    fn command(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0..=3 => self.call(depth),
            4 if depth > 0 => {
                let (method, arg) = (self.random.pick(&METHODS).to_owned(), self.operand(depth - 1));
                format!("$.{method} {arg}")
            }
            _ => self.operand(depth),
        }
    }

    fn call(&mut self, depth: usize) -> String {
        let functions: &[&str] = if self.helm.is_some() { &HELM_FUNCTIONS } else { &FUNCTIONS };
        let mut out = self.random.pick(functions).to_owned();
        if self.defining && matches!(&*out, "include" | "tpl") {
            out = "print".to_owned();
        }
        for _ in 0..self.random.below(4) {
            out.push(' ');
            out.push_str(&self.operand(depth.saturating_sub(1)));
        }
        out
    }

    fn operand(&mut self, depth: usize) -> String {
        if let Some(helm) = &mut self.helm
            && self.random.one_in(2)
        {
            return helm.leaf(self.random, &self.variables);
        }
        match self.random.below(12) {
            0 => ".".to_owned(),
            1 | 2 => self.random.pick(&CONSTANTS).to_owned(),
            3 => match self.variable() {
                Some(name) if self.random.one_in(2) => format!("{name}.{}", self.random.pick(&SUBFIELDS)),
                Some(name) => name,
                None => "$".to_owned(),
            },
            4 | 5 if depth > 0 => {
                let inner = self.pipeline(depth - 1);
                let field =
                    if self.random.one_in(4) { self.random.pick(&[".a", ".c.d", ".x", ".X"]) } else { "" };
                format!("({inner}){field}")
            }
            6 => format!(".{}", self.random.pick(&SUBFIELDS)),
            7 => format!(".{}.{}", self.random.pick(&FIELDS), self.random.pick(&SUBFIELDS)),
            8 => format!("$.{}.{}", self.random.pick(&FIELDS), self.random.pick(&SUBFIELDS)),
            9 | 10 => format!("$.{}", self.random.pick(&FIELDS)),
            _ => format!(".{}", self.random.pick(&FIELDS)),
        }
    }
}
