//! Functions: signatures, rendering functions, state, native calls.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]

use std::cell::Cell;
use std::rc::Rc;

use helm_template::{
    CallError, Context, Execution, Function, Functions, List, Map, Method, NamedType, Render, Signature,
    TemplateSet, Type, Value,
};

const STRING: Type = Type::String;
const ANY: Type = Type::Any;
const NAMED: Signature = Signature::new(&[STRING, ANY], STRING).fallible();

fn set(functions: impl IntoIterator<Item = Function>) -> TemplateSet {
    TemplateSet::new("root", functions.into_iter().collect::<Functions>())
}

fn include() -> Function {
    Function::rendering("include", NAMED, |_, args| {
        Ok(Render::template(args[0].as_string().unwrap(), args[1].clone()))
    })
}

fn text() -> Function {
    Function::rendering("tpl", NAMED, |context, args| {
        Ok(Render::text(context.set_name(), args[0].as_string().unwrap(), args[1].clone()))
    })
}

fn run(set: &mut TemplateSet, template: &str, data: Value) -> Result<String, String> {
    set.parse("t", template).map_err(|error| error.to_string())?;
    let out = set.execute("t", data, &Execution::default()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn arguments_are_checked_against_the_signature() {
    let sum = Function::new("sum", Signature::variadic(&[Type::INT], &Type::INT, Type::INT), |_, args| {
        Ok(Value::int(args.iter().filter_map(Value::as_i64).sum()))
    });
    let mut set = set([sum]);
    assert_eq!(run(&mut set, "{{ sum 1 2 3 }} {{ 4 | sum 1 }} {{ sum 1.0 }}", Value::Nil).unwrap(), "6 5 1");
    for (template, message) in [
        ("{{ sum }}", "<sum>: wrong number of args for sum: want at least 1 got 0"),
        ("{{ sum \"a\" }}", "<\"a\">: expected integer; found \"a\""),
        ("{{ sum 1 .x }}", "<.x>: wrong type for value; expected int; got string"),
        ("{{ .x | sum 1 }}", "<1>: wrong type for value; expected int; got string"),
        ("{{ sum .nope }}", "<.nope>: invalid value; expected int"),
        ("{{ sum nil }}", "<nil>: cannot assign nil to int"),
    ] {
        let error = run(&mut set, template, Value::Map(Map::from_iter([("x", "s")]))).unwrap_err();
        assert!(error.ends_with(message), "{template}: {error}");
    }
}

#[test]
fn a_defined_map_type_loses_its_name_where_the_plain_one_is_wanted() {
    static VALUES: NamedType = NamedType { name: "common.Values", underlying: Type::MAP, methods: &[] };
    static VALUES_TYPE: Type = Type::Named(&VALUES);
    let name =
        Function::new("name", Signature::new(&[Type::MAP], STRING), |_, args| Ok(args[0].type_name().into()));
    let values = Map::from_iter([("a", 1)]).with_type(&VALUES_TYPE);
    let out = run(&mut set([name]), "{{ printf \"%T\" . }} {{ name . }}", values.into()).unwrap();
    assert_eq!(out, "common.Values map[string]interface {}");
}

#[test]
fn a_change_is_seen_through_every_name_of_a_map() {
    let put = Function::new("put", Signature::new(&[Type::MAP, STRING, ANY], Type::MAP), |_, args| {
        args[0].as_map().unwrap().insert(args[1].as_string().unwrap(), args[2].clone());
        Ok(args[0].clone())
    });
    let data = Map::from_iter([("inner", Map::new())]);
    let out = run(
        &mut set([put]),
        "{{ $x := .inner }}{{ $_ := put $x \"k\" 1 }}{{ .inner.k }}{{ $.inner }}",
        data.into(),
    );
    assert_eq!(out.unwrap(), "1map[k:1]");
}

#[test]
fn a_function_comes_before_a_builtin_of_its_name() {
    let len = Function::new("len", Signature::variadic(&[], &ANY, STRING), |_, args| {
        Ok(args.len().to_string().into())
    });
    assert_eq!(run(&mut set([len]), "{{ len 1 2 3 }}", Value::Nil).unwrap(), "3");
}

#[test]
fn a_rendered_template_is_the_result_of_the_call() {
    let mut set = set([include(), text()]);
    let data = Value::List(List::strings(["a", "b"]));
    let template = "{{ define \"x\" }}<{{ . }}>{{ end }}{{ range . }}{{ include \"x\" . | printf \"%q\" }}{{ end }}{{ tpl \"{{ define \\\"x\\\" }}own{{ end }}{{ include \\\"x\\\" . }}\" . }}{{ include \"x\" 1 }}";
    assert_eq!(run(&mut set, template, data).unwrap(), "\"<a>\"\"<b>\"own<1>");
}

#[test]
fn what_comes_after_a_rendering_sees_text_and_errors() {
    let shout = Function::rendering("shout", NAMED, |_, args| {
        Ok(Render::template(args[0].as_string().unwrap(), args[1].clone()).then(|result| match result {
            Ok(text) => Ok(text.to_string().to_uppercase().into()),
            Err(error) => Err(error.context("cannot shout: ")),
        }))
    });
    let mut set = set([shout]);
    assert_eq!(run(&mut set, "{{ define \"x\" }}ab{{ end }}{{ shout \"x\" . }}", Value::Nil).unwrap(), "AB");
    let error = run(&mut set, "{{ shout \"y\" . }}", Value::Nil).unwrap_err();
    assert_eq!(
        error,
        "template: t:1:3: executing \"t\" at <shout \"y\" .>: error calling shout: cannot shout: template: no template \"y\" associated with template \"root\""
    );
}

#[test]
fn a_rendering_that_fails_can_be_turned_into_a_value_and_leaves_no_trace() {
    let attempt = Function::rendering("attempt", NAMED, |_, args| {
        Ok(Render::template(args[0].as_string().unwrap(), args[1].clone())
            .then(|result| Ok(result.map_or_else(|_| "failed".into(), Value::from))))
    });
    let template = "{{ define \"x\" }}lost{{ range . }}{{ with . }}{{ .nope.nope }}{{ end }}{{ end }}{{ end }}{{ $y := 1 }}{{ range . }}{{ attempt \"x\" $ }}{{ . }}{{ $y }} {{ end }}";
    let out = run(&mut set([attempt]), template, Value::List(List::strings(["a", "b"]))).unwrap();
    assert_eq!(out, "faileda1 failedb1 ");
}

#[test]
fn functions_find_the_state_of_their_execution() {
    struct Counter(Cell<i64>);
    let next = Function::new("next", Signature::new(&[], Type::INT), |context, _| {
        let counter = context.state::<Counter>().ok_or("no counter")?;
        counter.0.set(counter.0.get() + 1);
        Ok(Value::int(counter.0.get()))
    });
    let mut set = set([next]);
    set.parse("t", "{{ next }}{{ next }}").unwrap();
    let how = Execution { state: Some(Rc::new(Counter(Cell::new(4)))), ..Execution::default() };
    assert_eq!(set.execute("t", Value::Nil, &how).unwrap(), b"56");
    let error = set.execute("t", Value::Nil, &Execution::default()).unwrap_err().to_string();
    assert!(error.ends_with("error calling next: no counter"), "{error}");
}

#[test]
fn a_function_can_execute_a_template_where_it_stands() {
    let length = Function::new("length", NAMED, |context: &mut Context, args: &[Value]| {
        let text = context.execute_template(args[0].as_str().unwrap(), args[1].clone())?;
        Ok(text.as_bytes().map_or(0, <[u8]>::len).to_string().into())
    });
    let mut set = set([length, include()]);
    let template = "{{ define \"x\" }}{{ . }}{{ include \"y\" . }}{{ end }}{{ define \"y\" }}!{{ end }}a{{ length \"x\" \"four\" }}b";
    assert_eq!(run(&mut set, template, Value::Nil).unwrap(), "a5b");
    let error = run(&mut set, "{{ define \"x\" }}{{ .a.b }}{{ end }}{{ length \"x\" \"s\" }}", Value::Nil)
        .unwrap_err();
    assert_eq!(
        error,
        "template: t:1:38: executing \"t\" at <length \"x\" \"s\">: error calling length: template: t:1:21: executing \"x\" at <.a.b>: can't evaluate field a in type string"
    );
}

#[test]
fn functions_and_methods_can_be_called_without_a_template() {
    static METHODS: [Method; 1] = [Method {
        name: "Twice",
        signature: Signature::new(&[], Type::INT),
        body: |_, this, _| Ok((this.as_list().unwrap().len() * 2).into()),
    }];
    static NAMES: NamedType = NamedType { name: "x.Names", underlying: Type::STRINGS, methods: &METHODS };
    static NAMES_TYPE: Type = Type::Named(&NAMES);
    let names = Value::List(List::strings(["a"]).with_type(&NAMES_TYPE));
    let method = names.ty().and_then(|ty| ty.method("Twice")).unwrap();
    assert_eq!((method.body)(&mut Context::detached(), &names, &[]).unwrap(), Value::from(2));
    let function = Function::new("f", Signature::new(&[ANY], ANY), |_, args| Ok(args[0].clone()));
    assert_eq!(function.call(&mut Context::detached(), &[1.into()]).unwrap(), Value::from(1));
    assert_eq!(run(&mut set([]), "{{ .Twice }}{{ with . }}{{ .Twice }}{{ end }}", names).unwrap(), "22");
}

#[test]
fn an_error_of_a_function_keeps_its_type() {
    let fail = Function::new("fail", Signature::new(&[], STRING).fallible(), |_, _| {
        Err(CallError::Other(Box::new(std::io::Error::from(std::io::ErrorKind::NotFound))))
    });
    let mut set = set([fail]);
    set.parse("t", "{{ fail }}").unwrap();
    let error = set.execute("t", Value::Nil, &Execution::default()).unwrap_err();
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    let found = std::iter::from_fn(|| {
        let current = source?;
        source = current.source();
        Some(current)
    })
    .any(<dyn std::error::Error>::is::<std::io::Error>);
    assert!(found);
}

#[test]
fn no_functions_at_all_leave_the_builtins() {
    assert_eq!(
        run(&mut TemplateSet::new("root", Functions::new()), "{{ len \"abc\" }}", Value::Nil).unwrap(),
        "3"
    );
}
