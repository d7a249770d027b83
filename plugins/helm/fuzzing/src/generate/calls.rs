//! Calls of every function with arguments that fit, nearly fit or do not fit at all.

use helm_template::{Signature, Type, fmt};

use super::pools::{self, has_lengths, numbers, texts};
use crate::Random;
use crate::ours::data;

/// Named data that is a map or a list, for parameters of these types.
const MAPS: [&str; 9] =
    ["$.map", "$.map2", "$.emap", "$.nilmap", "$.values", "$.smap", "$.nil", "dict", "dict \"a\" (list 1)"];
const LISTS: [&str; 8] =
    ["$.list", "$.elist", "$.nillist", "$.deep", "$.strs", "$.ints", "$.nil", "list 1 \"x\""];
/// Whole arguments that are none of the named data.
const ANY: [&str; 26] = [
    "nil",
    "\"3\"",
    "\"a\"",
    "\"\"",
    "12",
    "-1",
    "1.25",
    "true",
    "'x'",
    "0x10",
    "1e3",
    "\"1.50\"",
    "\"0x1f\"",
    "\"010\"",
    "\"1_000\"",
    "\"true\"",
    "\"-5.0\"",
    "\"1h30m\"",
    "(list 1 2)",
    "(dict \"k\" \"v\")",
    "(int64 9)",
    "(float64 \"0.25\")",
    "(semver \"1.2.3\")",
    "(toDate \"2006-01-02\" \"2021-03-04\")",
    "(mustToDuration \"90m\")",
    "(list (list) (dict))",
];

struct Generator<'n> {
    random: Random,
    names: &'n [String],
}

impl<'n> Generator<'n> {
    fn new(seed: u64, names: &'n [String]) -> Self {
        Self { random: Random::new(seed), names }
    }

    /// One call of a function.
    fn call(&mut self, name: &str, signature: &Signature) -> Vec<u8> {
        let fixed = signature.params.len();
        let mut count = fixed + if signature.variadic.is_some() { self.random.below(4) } else { 0 };
        if self.random.one_in(30) {
            count = self.random.below(4);
        }
        let mut out = format!("{{{{ {name}");
        let mut given: Vec<String> = Vec::new();
        for index in 0..count {
            let ty = signature.params.get(index).or(signature.variadic);
            let mut argument =
                if self.random.one_in(25) { self.any() } else { self.argument(name, index, ty) };
            // Go would use up the memory, or the stack for a map within itself.
            let endless = given.contains(&argument) || matches!(argument.as_str(), "$.imax" | "$.imin");
            if endless && (name == "set" || has_lengths(name)) {
                argument = "1".to_owned();
            }
            given.push(argument);
        }
        for argument in given {
            out.push(' ');
            out.push_str(&argument);
        }
        let shown = match name {
            // Go's maps have no order.
            "keys" => " | sortAlpha | printf \"%q\"",
            "values" => " | toStrings | sortAlpha | printf \"%q\"",
            _ if self.random.one_in(6) => " | printf \"%T\"",
            _ if self.random.one_in(3) => " | printf \"%v\"",
            _ if self.random.one_in(3) => " | toJson",
            _ => " | printf \"%#v\"",
        };
        out.push_str(shown);
        out.push_str(" }}");
        out.into_bytes()
    }

    fn argument(&mut self, name: &str, index: usize, ty: Option<&'static Type>) -> String {
        match ty {
            Some(Type::String) => self.text(name, index),
            Some(Type::Int(_) | Type::Uint(_)) => self.random.pick(numbers(name)).to_owned(),
            Some(Type::Bool) => self.random.pick(&["true", "false", "$.t", "$.f"]).to_owned(),
            Some(Type::Float(_)) => self.random.pick(&["0.5", "1", "$.fl", "0.3", "-1.5"]).to_owned(),
            Some(ty) if matches!(ty.underlying(), Type::Map(_)) => self.grouped(&MAPS),
            Some(ty) if matches!(ty.underlying(), Type::Slice(_)) => self.grouped(&LISTS),
            Some(Type::Named(named)) if named.name == "time.Time" => self
                .random
                .pick(&[
                    "now",
                    "(toDate \"2006-01-02\" \"1969-12-31\")",
                    "$.i64",
                    "(toDate \"2006\" \"0300\")",
                ])
                .to_owned(),
            _ => self.object(name, index),
        }
    }

    fn grouped(&mut self, choices: &[&str]) -> String {
        let choice = self.random.pick(choices);
        if choice.starts_with('$') { choice.to_owned() } else { format!("({choice})") }
    }

    /// For an `interface {}`: what the function is meant for, mostly.
    fn object(&mut self, name: &str, index: usize) -> String {
        let wants_list = matches!(
            name.trim_start_matches("must").to_ascii_lowercase().as_str(),
            "first"
                | "last"
                | "rest"
                | "initial"
                | "reverse"
                | "append"
                | "push"
                | "prepend"
                | "concat"
                | "compact"
                | "uniq"
                | "without"
                | "slice"
                | "sortalpha"
                | "join"
                | "has"
                | "chunk"
        );
        if wants_list
            && (index == 0 || matches!(name, "concat" | "join" | "has" | "mustHas" | "chunk" | "mustChunk"))
        {
            if !self.random.one_in(4) {
                return self.grouped(&LISTS);
            }
        } else if matches!(name, "slice" | "mustSlice") {
            return self.random.pick(&["0", "1", "2", "3", "-1", "9", "\"1\"", "$.i64", "$.fl"]).to_owned();
        } else if name.starts_with("dig") {
            return self.dig(index);
        } else if matches!(name, "seq" | "until") {
            return self.random.pick(numbers(name)).to_owned();
        } else if !texts(name, index).is_empty() && !self.random.one_in(3) {
            return self.text(name, index);
        }
        self.any()
    }

    fn dig(&mut self, index: usize) -> String {
        match index {
            0 | 1 => self.random.pick(&["\"a\"", "\"c\"", "\"x\"", "\"y\"", "\"c\"", "1"]).to_owned(),
            2 => self.random.pick(&["$.map", "\"x\"", "\"d\"", "nil", "$.map2"]).to_owned(),
            _ => self.random.pick(&["$.map", "$.map2", "$.values", "$.smap", "\"s\""]).to_owned(),
        }
    }

    fn text(&mut self, name: &str, index: usize) -> String {
        let special = texts(name, index);
        if special.is_empty() || self.random.one_in(8) {
            return match self.random.below(3) {
                0 => self
                    .random
                    .pick(&["$.s", "$.empty", "$.uni", "$.bad", "$.space", "$.num", "$.multi"])
                    .to_owned(),
                _ => fmt::quote(self.random.pick(pools::TEXTS).as_bytes()),
            };
        }
        fmt::quote(self.random.pick(special).as_bytes())
    }

    fn any(&mut self) -> String {
        if self.random.one_in(3) {
            return self.random.pick(&ANY).to_owned();
        }
        format!("$.{}", self.names[self.random.below(self.names.len())])
    }
}

/// Calls of every function, the same for a seed.
pub fn calls(seed: u64, each: usize) -> Vec<Vec<u8>> {
    let names = data::names();
    let functions = helm_functions::functions();
    let mut known: Vec<_> = functions.names().map(ToString::to_string).collect();
    known.sort();
    let mut generator = Generator::new(seed, &names);
    let mut out = Vec::new();
    for name in &known {
        let Some(function) = functions.get(name) else { continue };
        let times = if pools::is_slow(name) { 0 } else { each };
        out.extend((0..times).map(|_| generator.call(name, function.signature())));
    }
    out
}
