use super::*;

/// Values as JSON text, keys sorted.
fn shown(values: &Map) -> String {
    fn show(value: &Value) -> String {
        match value {
            Value::Nil => "null".to_owned(),
            Value::Bool(truth) => truth.to_string(),
            Value::Int(number, _) => number.to_string(),
            Value::Float(number, _) => format!("{number:?}"),
            Value::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(",")),
            Value::Map(map) => {
                let entries = map.snapshot();
                let entries: Vec<_> =
                    entries.iter().map(|(key, value)| format!("{key}:{}", show(value))).collect();
                format!("{{{}}}", entries.join(","))
            }
            other => quote(other.as_bytes().unwrap()),
        }
    }
    show(&Value::Map(values.clone()))
}

fn set(line: &str, style: Style<'_>) -> Result<String, String> {
    let values = Map::new();
    parse_into(line, style, &values).map(|()| shown(&values)).map_err(|error| error.to_string())
}

#[test]
fn typed_lines_set_what_helm_sets() {
    for (line, want) in [
        ("name1=null", "{name1:null}"),
        ("name1=value1", r#"{name1:"value1"}"#),
        ("name1=value1,name2=value2", r#"{name1:"value1",name2:"value2"}"#),
        ("name1=value1,name2=value2,", r#"{name1:"value1",name2:"value2"}"#),
        ("name1=,name2=value2", r#"{name1:"",name2:"value2"}"#),
        ("name1=", r#"{name1:""}"#),
        ("leading_zeros=00009", r#"{leading_zeros:"00009"}"#),
        ("zero_int=0", "{zero_int:0}"),
        ("long_int=1234567890", "{long_int:1234567890}"),
        ("negative=-5,plus=+5", "{negative:-5,plus:5}"),
        ("float=1.5", r#"{float:"1.5"}"#),
        ("huge=99999999999999999999", r#"{huge:"99999999999999999999"}"#),
        ("boolean=True,other=FALSE,none=NULL", "{boolean:true,none:null,other:false}"),
        ("is_null=null,name1=x", r#"{is_null:null,name1:"x"}"#),
        (r"name1=one\,two,name2=three\,four", r#"{name1:"one,two",name2:"three,four"}"#),
        (r"name1=one\=two,name2=three\=four", r#"{name1:"one=two",name2:"three=four"}"#),
        (r"na\.me=x", r#"{na.me:"x"}"#),
        ("outer.inner=value", r#"{outer:{inner:"value"}}"#),
        ("outer.middle.inner=value", r#"{outer:{middle:{inner:"value"}}}"#),
        ("outer.inner1=value,outer.inner2=value2", r#"{outer:{inner1:"value",inner2:"value2"}}"#),
        ("name1={value1,value2}", r#"{name1:["value1","value2"]}"#),
        ("name1={value1,value2},name2={3,4}", r#"{name1:["value1","value2"],name2:[3,4]}"#),
        ("name1={1021,902}", "{name1:[1021,902]}"),
        ("name1.name2={value1,value2}", r#"{name1:{name2:["value1","value2"]}}"#),
        ("name1={}", r#"{name1:[""]}"#),
        ("list[0]=foo", r#"{list:["foo"]}"#),
        ("list[0].foo=bar", r#"{list:[{foo:"bar"}]}"#),
        ("list[0].foo=bar,list[0].hello=world", r#"{list:[{foo:"bar",hello:"world"}]}"#),
        ("list[0].foo=bar,list[1].hello=world", r#"{list:[{foo:"bar"},{hello:"world"}]}"#),
        ("list[0]=foo,list[1]=bar", r#"{list:["foo","bar"]}"#),
        ("list[1]=foo", r#"{list:[null,"foo"]}"#),
        ("list[0]={1,2}", "{list:[[1,2]]}"),
        ("list[0][1]=x", r#"{list:[[null,"x"]]}"#),
        ("illegal[0]=1,illegal[1].name.foo[0]=2", "{illegal:[1,{name:{foo:[2]}}]}"),
        ("noval[0]", "{noval:[]}"),
        ("noval[0]=", r#"{noval:[""]}"#),
        ("open[0", "{}"),
        ("name.", "{}"),
        ("=x", "{}"),
        ("", "{}"),
    ] {
        assert_eq!(set(line, Style::Typed).as_deref(), Ok(want), "{line}");
    }
}

#[test]
fn malformed_lines_are_refused_with_helms_words() {
    for (line, want) in [
        ("name1", r#"key "name1" has no value"#),
        ("name1=value1,name2", r#"key "name2" has no value"#),
        ("name1,name2=x", r#"key "name1" has no value (cannot end with ,)"#),
        ("name1.=x", r#"key map "name1" has no value"#),
        ("name1.name2", r#"key "name2" has no value"#),
        ("name1={a,b", "list must terminate with '}'"),
        ("list[-1]=x", "negative -1 index not allowed"),
        ("list[x]=1", r#"error parsing index: strconv.Atoi: parsing "x": invalid syntax"#),
        ("list[65537]=1", "index of 65537 is greater than maximum supported index of 65536"),
        ("list[0]x=1", "unexpected data at end of array index: ['x']"),
        (
            "a=1,a.b=2",
            "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
        ),
        (
            "a=x,a[0]=2",
            "unable to parse key: interface conversion: interface {} is string, not []interface {}",
        ),
        (
            "a=null,a.b=2",
            "unable to parse key: interface conversion: interface {} is nil, not map[string]interface {}",
        ),
    ] {
        assert_eq!(set(line, Style::Typed).unwrap_err(), want, "{line}");
    }
}

#[test]
fn names_nest_thirty_levels_and_no_further() {
    let line = |levels: usize| format!("{}=x", vec!["n"; levels + 1].join("."));
    assert!(set(&line(30), Style::Typed).is_ok());
    assert_eq!(
        set(&line(31), Style::Typed).unwrap_err(),
        "value name nested level is greater than maximum supported nested level of 30"
    );
}

#[test]
fn endless_brackets_are_refused_before_the_stack_is() {
    let line = format!("a{}=1", "[0]".repeat(100_000));
    assert_eq!(set(&line, Style::Typed).unwrap_err(), "lists are nested deeper than 500");
}

#[test]
fn strings_stay_strings_in_lists_too() {
    assert_eq!(set("a=1,b=true,c={2,null}", Style::String).unwrap(), r#"{a:"1",b:"true",c:["2","null"]}"#);
}

#[test]
fn a_line_is_merged_into_what_is_there() {
    let values = Map::new();
    parse_into_typed("image.tag=1,image.name=a,list={x,y}", &values).unwrap();
    parse_into_string("image.tag=2,list[1]=z,list[3]=w", &values).unwrap();
    assert_eq!(shown(&values), r#"{image:{name:"a",tag:"2"},list:["x","z",null,"w"]}"#);
}

#[test]
fn json_values_replace_and_may_be_followed_by_more() {
    for (line, want) in [
        (r#"a={"b":[1,2.5,null,"x,y"]}, c=true"#, r#"{ c:true,a:{b:[1.0,2.5,null,"x,y"]}}"#),
        ("a= ,b=1", "{a:null,b:1.0}"),
        ("a=", "{a:null}"),
        (r#"outer.inner[1]="x""#, r#"{outer:{inner:[null,"x"]}}"#),
    ] {
        assert_eq!(set(line, Style::Json).as_deref(), Ok(want), "{line}");
    }
    assert!(set("a={", Style::Json).is_err());
    assert!(set("a=tru", Style::Json).is_err());
}

#[test]
fn files_are_read_by_the_caller_and_their_failure_is_reported() {
    let mut read = |path: &str| match path {
        "path,1" => Ok(b"content\n".to_vec()),
        other => Err(format!("open {other}: no such file or directory")),
    };
    assert_eq!(set(r"a.b=path\,1", Style::File(&mut read)).unwrap(), r#"{a:{b:"content\n"}}"#);
    assert_eq!(set("a=x", Style::File(&mut read)).unwrap_err(), "open x: no such file or directory");
}

#[test]
fn a_literal_takes_the_rest_of_the_line_as_it_stands() {
    for (line, want) in [
        (r"a.b=x,y={z}\n", r#"{a:{b:"x,y={z}\\n"}}"#),
        ("a=", r#"{a:""}"#),
        ("a,b=1", r#"{a,b:"1"}"#),
        ("list[1]=a=b", r#"{list:[null,"a=b"]}"#),
        ("list[0].k=v,w", r#"{list:[{k:"v,w"}]}"#),
    ] {
        assert_eq!(set(line, Style::Literal).as_deref(), Ok(want), "{line}");
    }
    assert_eq!(set("a", Style::Literal).unwrap_err(), r#"key "a" has no value"#);
}
