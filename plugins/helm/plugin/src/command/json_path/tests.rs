//! What helm 4.3.1 prints for the same templates.

use super::Template;

const VALUES: &str = r#"
name: web
count: 3
on: true
none: null
image: {tag: "1.2", repo: "a<b", "x.y": dotted}
list: [{k: a, v: 1}, {k: b, v: 2.5, w: x}, {k: c, v: 3}]
nums: [1, 2, 3, 4, 5]
"#;

#[track_caller]
fn prints(cases: &[(&str, &str)]) {
    let values = helm_template::Value::Map(helm_chart::yaml::load_values(VALUES.as_bytes()).unwrap());
    for (template, want) in cases {
        let printed = Template::parse(template).unwrap().print(&values);
        assert_eq!(String::from_utf8(printed).unwrap(), *want, "{template}");
    }
}

#[test]
fn fields_and_text_are_printed() {
    prints(&[
        ("{.name}", "web"),
        ("{.image.tag} and {.count}", "1.2 and 3"),
        ("{.image}", r#"{"repo":"a\u003cb","tag":"1.2","x.y":"dotted"}"#),
        (r"{.image.x\.y}", "dotted"),
        ("{.image['repo']}", "a<b"),
        ("{.none}", "null"),
        ("{.image.*}", "a<b 1.2 dotted"),
        ("{$.name}{@.count}", "web3"),
        ("{1}{1.5}{true}", "11.5true"),
        (r#"{"a\tb"}{'q'}"#, "a\tbq"),
        ("{['name','count']}", "web 3"),
        ("plain", "plain"),
    ]);
}

#[test]
fn lists_are_indexed_cut_and_filtered() {
    prints(&[
        ("{.list[*].k}", "a b c"),
        ("{.list[0].k}{.list[-1].k}", "ac"),
        ("{.list[1:].k}", "b c"),
        ("{.nums[1:3]}", "2 3"),
        ("{.nums[::2]}", "1 3 5"),
        ("{.nums[-2:]}", "4 5"),
        ("{.nums[0,2]}", "1 3"),
        ("{.nums[:]}", "1 2 3 4 5"),
        ("{.list[?(@.k==\"b\")].v}", "2.5"),
        ("{.list[?(@.k=='b' )].k}", "b"),
        ("{.list[?(@.k==\"b\")]}", r#"{"k":"b","v":2.5,"w":"x"}"#),
        ("{.list[?(@.k!=\"b\")].k}", "a c"),
        ("{.list[?(@.v>2.0)].k}", "b c"),
        ("{.list[?(@.w)].k}", "b"),
        ("{.list[?(@.k in \"b\")].k}", "a b c"),
        ("{..k}", "a b c"),
        ("{.list..v}", "1 2.5 3"),
    ]);
}

#[test]
fn loops_are_unrolled() {
    prints(&[
        (r#"{range .list[*]}{.k}={.v}{"\n"}{end}done"#, "a=1\nb=2.5\nc=3\ndone"),
        ("{range .list[*]}{.k}:{range $.v}x{end};{end}!", "a:x;b:x;c:x;!"),
        ("{range .list[*]}{range .k}{@}{end}{end}", "abc"),
        ("{range .nums[*]}{@} {end}", "1 2 3 4 5 "),
    ]);
}

#[test]
fn what_is_not_found_prints_nothing_at_all() {
    for template in [
        "a{.missing}",
        "{.image['x.y']}",
        "{.nums[9]}",
        "{.nums[2:1]}",
        "{.name[0]}",
        "{.list[?(@.v>2)].k}",
        "{range .list[*]}{.k}{range .nope}x{end}{end}",
        "{range .nums[9:9]}{.x}{end}after",
        "{end}",
        "{foo}",
        "{...}",
    ] {
        prints(&[(template, "")]);
    }
}

#[test]
fn a_template_that_is_none_is_refused() {
    for (template, want) in [
        ("{.name", "unclosed action"),
        ("{.list[a]}", "invalid array index a"),
        ("{.nums[}", "unterminated array"),
        ("{.list[?(@.n==\"b\"}", "unterminated filter"),
        ("{#}", "unrecognized character in action: U+0023 '#'"),
        ("{\"\\q\"}", "unquote string \"\\q\" error invalid syntax"),
    ] {
        assert_eq!(Template::parse(template).unwrap_err(), want, "{template}");
    }
}
