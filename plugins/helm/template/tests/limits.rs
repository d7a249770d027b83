//! Templates that would use too much: each ends with an error, on a stack as small as a guest's.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use helm_template::{
    Execution, Function, Functions, LimitExceeded, Limits, List, Map, Render, Signature, TemplateSet, Type,
    Value,
};

/// A quarter of what WebAssembly guests have by default; unoptimised code takes far more.
const STACK: usize = if cfg!(debug_assertions) { 2 << 20 } else { 256 << 10 };

const NAMED: Signature = Signature::new(&[Type::String, Type::Any], Type::String).fallible();

fn functions() -> Vec<Function> {
    let name = |args: &[Value]| args[0].as_string().cloned().unwrap_or_default();
    vec![
        Function::rendering("include", NAMED, move |_, args| {
            Ok(Render::template(name(args), args[1].clone()))
        }),
        Function::rendering("tpl", NAMED, move |context, args| {
            Ok(Render::text(context.set_name(), name(args), args[1].clone())
                .then(|result| result.map(Value::from).map_err(|error| error.context("in tpl: "))))
        }),
        Function::new("native", NAMED, move |context, args| {
            context.execute_template(&name(args).to_string(), args[1].clone())
        }),
        Function::new("list", Signature::variadic(&[], &Type::Any, Type::SLICE), |_, args| {
            Ok(args.to_vec().into())
        }),
        Function::new("until", Signature::new(&[Type::INT], Type::SLICE).fallible(), |context, args| {
            let count = args[0].as_i64().unwrap_or(0);
            context.charge(count.unsigned_abs())?;
            Ok(Value::List((0..count).map(Value::int).collect()))
        }),
        Function::new("fail", Signature::new(&[Type::String], Type::String).fallible(), move |_, args| {
            Err(name(args).to_string().into())
        }),
    ]
}

/// Runs on a small stack: what it wrote, or the error's text and limit.
fn run(template: &str, limits: Limits) -> Result<String, (String, Option<LimitExceeded>)> {
    let template = template.to_owned();
    let work = move || {
        let mut set = TemplateSet::new("root", functions().into_iter().collect::<Functions>());
        set.parse("t", template).map_err(|error| (error.to_string(), None))?;
        let map = Map::new();
        map.insert("self", map.clone());
        map.insert("tpl", "{{ tpl .tpl . }}");
        let how = Execution { limits, ..Execution::default() };
        let result = set.execute("t", Value::Map(map.clone()), &how);
        map.remove("self");
        match result {
            Ok(out) => Ok(String::from_utf8(out).unwrap()),
            Err(error) => Err((error.to_string(), error.limit().cloned())),
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap()
}

#[track_caller]
fn exceeds(template: &str, limits: Limits, wanted: &LimitExceeded) {
    let (text, limit) = run(template, limits).unwrap_err();
    assert_eq!(limit.as_ref(), Some(wanted), "{text}");
    assert!(text.len() < 4000, "{text}");
}

#[test]
fn endless_recursion_ends_with_gos_error() {
    let limits = Limits::default();
    let wanted = LimitExceeded::Templates(limits.depth);
    exceeds("{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}", limits, &wanted);
    exceeds("{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}", limits, &wanted);
    let limits = Limits { depth: 5000, ..limits };
    exceeds("{{ tpl .tpl . }}", limits, &LimitExceeded::Templates(5000));
}

#[test]
fn native_calls_are_bounded_on_their_own() {
    let limits = Limits { nesting: 8, ..Limits::default() };
    exceeds(
        "{{ define \"x\" }}{{ native \"x\" . }}{{ end }}{{ native \"x\" . }}",
        limits,
        &LimitExceeded::Nesting(8),
    );
}

#[test]
fn a_failure_deep_inside_is_told_with_all_that_lies_around_it() {
    let template = "{{ define \"x\" }}{{ if lt . 5000 }}{{ include \"x\" (len (printf \"%*d\" . 1 | printf \"%s-\")) }}{{ else }}{{ fail \"bottom\" }}{{ end }}{{ end }}{{ include \"x\" 1 }}";
    let (text, limit) = run(template, Limits::default()).unwrap_err();
    assert_eq!(limit, None);
    assert_eq!(text.matches("error calling include").count(), 5000);
    assert!(text.ends_with("error calling fail: bottom"));
}

#[test]
fn long_loops_run_out_of_steps() {
    let limits = Limits { steps: 100_000, ..Limits::default() };
    let wanted = LimitExceeded::Steps(100_000);
    exceeds("{{ range 1000000000 }}{{ end }}", limits, &wanted);
    exceeds(
        "{{ range 1000 }}{{ range 1000 }}{{ if . }}{{ continue }}{{ end }}{{ end }}{{ end }}",
        limits,
        &wanted,
    );
    exceeds("{{ range until 1000000000 }}{{ end }}", limits, &wanted);
    exceeds(
        "{{ define \"x\" }}{{ if . }}{{ $y := slice . 1 }}{{ template \"x\" $y }}{{ template \"x\" $y }}{{ end }}{{ end }}{{ template \"x\" \"0123456789012345678901234567890123456789\" }}",
        limits,
        &wanted,
    );
}

#[test]
fn what_is_written_is_bounded_wherever_it_goes() {
    let limits = Limits { output: 1_000_000, ..Limits::default() };
    let wanted = LimitExceeded::Output(1_000_000);
    exceeds("{{ range 1000000 }}some text{{ end }}", limits, &wanted);
    exceeds("{{ $x := \"double\" }}{{ range 64 }}{{ $x = print $x $x }}{{ end }}", limits, &wanted);
    exceeds(
        "{{ define \"x\" }}{{ range 1000 }}0123456789{{ end }}{{ end }}{{ range 1000 }}{{ $_ := include \"x\" . }}{{ end }}",
        limits,
        &wanted,
    );
    exceeds("{{ range 10 }}{{ $_ := printf \"%0500000d\" 1 }}{{ end }}", limits, &wanted);
}

#[test]
fn a_map_that_contains_itself_is_not_printed_for_ever() {
    for template in
        ["{{ . }}", "{{ print .self }}", "{{ printf \"%#v\" . }}", "{{ html . }}", "{{ println 1 . }}"]
    {
        let (text, limit) = run(template, Limits::default()).unwrap_err();
        assert!(matches!(limit, Some(LimitExceeded::Depth(_))), "{text}");
    }
}

#[test]
fn a_value_as_deep_as_a_loop_is_long_is_freed() {
    let template = "{{ $x := list 1 }}{{ range 100000 }}{{ $x = list $x }}{{ end }}{{ len $x }}";
    assert_eq!(run(template, Limits::default()).unwrap(), "1");
}

#[test]
fn blocks_may_be_nested_at_will() {
    let depth = 20_000;
    let nested = format!("{}deep{}", "{{ if true }}".repeat(depth), "{{ end }}".repeat(depth));
    assert_eq!(run(&nested, Limits::default()).unwrap(), "deep");
    let chain =
        format!("{{{{ if false }}}}{}{{{{ else }}}}last{{{{ end }}}}", "{{ else if false }}".repeat(depth));
    assert_eq!(run(&chain, Limits::default()).unwrap(), "last");
    let (text, _) = run(&"{{ if true }}".repeat(depth), Limits::default()).unwrap_err();
    assert_eq!(text, "template: t:1: unexpected EOF");
}

#[test]
fn parentheses_may_not() {
    let nested = |depth: usize| format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(run(&nested(150), Limits::default()).unwrap(), "1");
    let (text, _) = run(&nested(100_000), Limits::default()).unwrap_err();
    assert_eq!(text, "template: t:1: max expression depth exceeded");
}

#[test]
fn the_error_of_a_deep_expression_shows_it() {
    let nested = format!("{{{{ {}.self.tpl.x{} }}}}", "(".repeat(140), ")".repeat(140));
    let (text, _) = run(&nested, Limits::default()).unwrap_err();
    assert!(text.ends_with("<.self.tpl.x>: can't evaluate field x in type interface {}"), "{text}");
    let nested = format!("{{{{ {}.self.tpl{} 1 }}}}", "(".repeat(140), ")".repeat(140));
    let (text, _) = run(&nested, Limits::default()).unwrap_err();
    assert!(text.contains("can't give argument to non-function (((("), "{text}");
}

#[test]
fn rendered_texts_are_parsed_once() {
    let template =
        "{{ range 10000 }}{{ $_ := tpl \"{{ len .self }}{{ define \\\"a\\\" }}{{ end }}\" $ }}{{ end }}";
    assert_eq!(run(template, Limits::default()).unwrap(), "");
}

#[test]
fn lists_of_a_hundred_thousand_are_no_trouble() {
    let list = List::new((0..100_000).map(Value::int).collect());
    let mut set = TemplateSet::new("root", functions().into_iter().collect::<Functions>());
    set.parse("t", "{{ $n := 0 }}{{ range $i, $e := . }}{{ $n = $i }}{{ end }}{{ $n }}").unwrap();
    assert_eq!(set.execute("t", Value::List(list), &Execution::default()).unwrap(), b"99999");
}
