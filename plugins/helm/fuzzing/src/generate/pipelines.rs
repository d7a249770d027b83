//! Expressions in which functions get what they are meant for, mostly: results of other functions, fields, constants.

use std::rc::Rc;

use helm_template::{Function, Functions, Type, fmt};

use super::pools;
use crate::Random;
use crate::ours::data;

/// The values of templates that Helm's engine renders.
pub const VALUES: &str = r#"str: hello World
empty: ""
uni: "héllo wörld ŝ€😀"
multi: "line one\nline two\n\n  indented\n"
long: "a rather long text with so many words in it that a writer of YAML that folds at eighty columns has to fold it at least once or twice"
tpl: "{{ .Values.str | upper }} {{ include \"name\" . }}"
badtpl: "{{ .Values.str"
failtpl: "{{ fail .Values.str }}"
version: v1.28.4-gke.100
num: "42"
int: 17
neg: -3
zero: 0
big: 1000000
huge: 12345678901234567
float: 1.5
tiny: 0.00001
yes: true
no: false
nothing: null
date: 2024-02-29
list: [b, a, 3, null, true, {k: v}, [x, y]]
words: [delta, alpha, charlie, alpha]
ints: [3, 1, 2]
nolist: []
maps: [{name: m1, v: 1}, {name: m2, v: 2, w: null}]
nomap: {}
map: {b: 2, a: one, c: {d: {e: deep}, l: [1, 2]}, n: null, "y": "no", "1": x}
map2: {a: two, c: {d: {f: more}, x: 1}, z: [1]}
labels: {app.kubernetes.io/name: demo, tier: "1", flag: "true"}
image: {repository: docker.io/library/nginx, tag: 1.10, pullPolicy: ""}
resources: {limits: {cpu: 100m, memory: 1Gi}, requests: {cpu: 0.5}}
"#;

const VALUE_PATHS: &[&str] = &[
    "str",
    "empty",
    "uni",
    "multi",
    "long",
    "version",
    "num",
    "int",
    "neg",
    "zero",
    "big",
    "huge",
    "float",
    "tiny",
    "yes",
    "no",
    "nothing",
    "date",
    "list",
    "words",
    "ints",
    "nolist",
    "maps",
    "nomap",
    "map",
    "map2",
    "labels",
    "image",
    "resources",
    "map.a",
    "map.c",
    "map.c.d",
    "map.c.d.e",
    "map.n",
    "image.tag",
    "image.repository",
    "resources.limits.cpu",
    "missing",
    "missing.deeper",
    "tpl",
];

/// Values that loops go over, below the top.
pub(super) const RANGES: [&str; 10] = [
    "Values.list",
    "Values.words",
    "Values.ints",
    "Values.map",
    "Values.maps",
    "Values.nolist",
    "Values.nomap",
    "Values.nothing",
    "Values.int",
    "Values.labels",
];

const TOP_PATHS: &[&str] = &[
    "$",
    ".",
    "$.Release",
    "$.Release.Name",
    "$.Release.IsInstall",
    "$.Release.Revision",
    "$.Chart",
    "$.Chart.Name",
    "$.Template.Name",
    "$.Template",
    "$.Capabilities.KubeVersion.Minor",
    "$.Capabilities.KubeVersion",
    "$.Values",
    "$.Capabilities.KubeVersion.Version",
    "$.Capabilities.HelmVersion",
    "$.Subcharts",
    "($.Capabilities.APIVersions.Has \"apps/v1\")",
    "($.Files.Get \"none\")",
    "($.Files.Glob \"*\")",
];

/// The kinds of expressions that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Any,
    Text,
    Whole,
    Float,
    Flag,
    List,
    Map,
}

fn want(ty: &Type) -> Want {
    match ty {
        Type::String => Want::Text,
        Type::Int(_) | Type::Uint(_) => Want::Whole,
        Type::Float(_) => Want::Float,
        Type::Bool => Want::Flag,
        ty if matches!(ty.underlying(), Type::Map(_)) => Want::Map,
        ty if matches!(ty.underlying(), Type::Slice(_)) => Want::List,
        _ => Want::Any,
    }
}

/// Makes expressions.
#[derive(Debug, Clone)]
pub(super) struct Pipelines {
    functions: Vec<Rc<Function>>,
    /// Over the data of calls, or over what Helm's engine gives templates.
    over_data: bool,
    /// Whether templates may be included.
    includes: bool,
}

impl Pipelines {
    pub(super) fn over_data() -> Self {
        Self::new(true)
    }

    pub(super) fn over_values() -> Self {
        Self::new(false)
    }

    fn new(over_data: bool) -> Self {
        let all: Functions = helm_functions::functions();
        let mut functions: Vec<_> = all.names().filter_map(|name| all.get(name)).map(Rc::clone).collect();
        functions.sort_by(|a, b| a.name().cmp(b.name()));
        functions.retain(|function| {
            let name = function.name().to_string();
            // Without the bubble there is no common clock.
            let timed =
                matches!(&*name, "now" | "ago" | "htmlDate" | "htmlDateInZone" | "date" | "dateInZone")
                    || name.starts_with("date");
            !pools::is_slow(&name)
                && (over_data || !timed)
                && !matches!(&*name, "keys" | "values" | "date_in_zone")
        });
        Self { functions, over_data, includes: !over_data }
    }

    /// An action that shows an expression.
    pub(super) fn shown(&mut self, random: &mut Random) -> String {
        let expression = self.any(random, 3, &[]);
        let show = random.pick(&[
            "",
            " | printf \"%v\"",
            " | printf \"%#v\"",
            " | toJson",
            " | toYaml",
            " | printf \"%T\"",
        ]);
        format!("{{{{ {expression}{show} }}}}")
    }

    /// Anything that is not too deep.
    pub(super) fn any(&mut self, random: &mut Random, depth: usize, variables: &[String]) -> String {
        let mut out = self.command(random, Want::Any, depth, variables);
        while random.one_in(3) {
            out = format!("{out} | {}", self.filter(random, depth, variables));
        }
        out
    }

    /// The same, within a definition or not.
    pub(super) fn any_within(
        &mut self,
        random: &mut Random,
        depth: usize,
        variables: &[String],
        defining: bool,
    ) -> String {
        self.includes = !defining;
        self.any(random, depth, variables)
    }

    /// A field, a variable or a constant.
    pub(super) fn leaf(&mut self, random: &mut Random, variables: &[String]) -> String {
        if !variables.is_empty() && random.one_in(4) {
            return variables[random.below(variables.len())].clone();
        }
        if self.over_data {
            let names = data::names();
            return format!("$.{}", names[random.below(names.len())]);
        }
        match random.below(8) {
            0 => random.pick(TOP_PATHS).to_owned(),
            1 => ".".to_owned(),
            2 => fmt::quote(random.pick(pools::TEXTS).as_bytes()),
            3 => random
                .pick(&["0", "1", "-2", "1.5", "true", "nil", "\"a\"", "\"1\"", "'x'", "1e3"])
                .to_owned(),
            _ => format!("$.Values.{}", random.pick(VALUE_PATHS)),
        }
    }

    /// A function that takes what is piped into it.
    fn filter(&mut self, random: &mut Random, depth: usize, variables: &[String]) -> String {
        if random.one_in(4) {
            let builtin = random.pick(&[
                "len",
                "not",
                "html",
                "js",
                "urlquery",
                "print",
                "println",
                "printf \"%v|%T\"",
            ]);
            return builtin.to_owned();
        }
        let function = self.function(random, |function| !function.signature().params.is_empty());
        self.call(random, &function, depth.saturating_sub(1), variables, true)
    }

    fn function(&self, random: &mut Random, fits: impl Fn(&Function) -> bool) -> Rc<Function> {
        loop {
            let function = &self.functions[random.below(self.functions.len())];
            if fits(function) {
                return Rc::clone(function);
            }
        }
    }

    fn command(&mut self, random: &mut Random, wanted: Want, depth: usize, variables: &[String]) -> String {
        if depth == 0 || random.one_in(5) {
            return self.simple(random, wanted, variables);
        }
        if random.one_in(6) && self.includes {
            return self.of_engine(random, depth, variables);
        }
        if random.one_in(6) {
            return self.builtin(random, wanted, depth, variables);
        }
        let function = self
            .function(random, |function| wanted == Want::Any || want(&function.signature().result) == wanted);
        self.call(random, &function, depth - 1, variables, false)
    }

    fn builtin(&mut self, random: &mut Random, wanted: Want, depth: usize, variables: &[String]) -> String {
        let mut argument = |kind| self.argument(random, kind, depth - 1, variables);
        let (a, b) = (argument(Want::Any), argument(Want::Any));
        let (list, index) = (argument(Want::List), argument(Want::Whole));
        let name = match wanted {
            Want::Flag => random.pick(&["eq", "ne", "lt", "le", "gt", "ge", "not", "and", "or"]),
            Want::Text => random.pick(&["print", "html", "js", "printf \"%v %s\"", "urlquery"]),
            _ => random.pick(&["and", "or", "eq", "index", "slice", "len", "print", "printf \"%d %q\""]),
        };
        match name {
            "not" | "len" => format!("{name} {a}"),
            "index" | "slice" => format!("{name} {list} {index}"),
            _ => format!("{name} {a} {b}"),
        }
    }

    fn of_engine(&mut self, random: &mut Random, depth: usize, variables: &[String]) -> String {
        let text = self.argument(random, Want::Text, depth - 1, variables);
        let any = self.argument(random, Want::Any, depth - 1, variables);
        match random.below(7) {
            0 | 1 => format!(
                "include {} {any}",
                random.pick(&["\"sub\"", "\"name\"", "\"none\"", "(print \"su\" \"b\")"])
            ),
            2 => format!("include \"{}\" $", random.pick(&["name", "sub", "made"])),
            3 => format!("tpl {text} $"),
            4 => {
                format!("tpl $.Values.{} {any}", random.pick(&["tpl", "badtpl", "failtpl", "str", "missing"]))
            }
            5 => format!("required {text} {any}"),
            _ => format!("lookup \"v1\" \"Secret\" {text} \"x\""),
        }
    }

    fn simple(&mut self, random: &mut Random, wanted: Want, variables: &[String]) -> String {
        match wanted {
            Want::Text if !random.one_in(4) => fmt::quote(random.pick(pools::TEXTS).as_bytes()),
            Want::Whole if !random.one_in(4) => {
                random.pick(&["0", "1", "2", "3", "-1", "7", "80"]).to_owned()
            }
            Want::Flag if !random.one_in(4) => random.pick(&["true", "false"]).to_owned(),
            Want::Float if !random.one_in(4) => random.pick(&["0.5", "1.25", "2", "-0.1"]).to_owned(),
            Want::List if !random.one_in(3) => {
                self.one_of(random, &["list", "strs", "deep", "elist"], &["list", "words", "maps", "nolist"])
            }
            Want::Map if !random.one_in(3) => {
                self.one_of(random, &["map", "map2", "emap", "values"], &["map", "map2", "labels", "nomap"])
            }
            _ => self.leaf(random, variables),
        }
    }

    fn one_of(&self, random: &mut Random, data: &[&str], values: &[&str]) -> String {
        match self.over_data {
            true => format!("$.{}", random.pick(data)),
            false => format!("$.Values.{}", random.pick(values)),
        }
    }

    fn argument(&mut self, random: &mut Random, wanted: Want, depth: usize, variables: &[String]) -> String {
        if random.one_in(30) {
            return self.leaf(random, variables);
        }
        let command = self.command(random, wanted, depth, variables);
        let quoted = command.starts_with(['"', '(']) && depth == 0;
        if quoted || !command.contains(' ') { command } else { format!("({command})") }
    }

    /// A call of a function; one argument less where something is piped into it.
    fn call(
        &mut self,
        random: &mut Random,
        function: &Function,
        depth: usize,
        variables: &[String],
        piped: bool,
    ) -> String {
        let name = function.name().to_string();
        let signature = function.signature();
        let more = if signature.variadic.is_some() { random.below(4) } else { 0 };
        let count = (signature.params.len() + more).saturating_sub(usize::from(piped));
        let mut out = name.clone();
        for index in 0..count {
            let ty = signature.params.get(index).or(signature.variadic).copied().unwrap_or(Type::Any);
            let special = pools::texts(&name, index);
            let argument = match want(&ty) {
                // Go would make what is that long, and a map within itself has no end.
                Want::Whole | Want::Any if pools::has_lengths(&name) => {
                    random.pick(pools::numbers(&name)).to_owned()
                }
                Want::Any if name == "set" => random.pick(&["1", "\"x\"", "nil", "(list 1)"]).to_owned(),
                Want::Text | Want::Any if !special.is_empty() && !random.one_in(5) => {
                    fmt::quote(random.pick(special).as_bytes())
                }
                wanted => self.argument(random, wanted, depth, variables),
            };
            out.push(' ');
            out.push_str(&argument);
        }
        out
    }
}
