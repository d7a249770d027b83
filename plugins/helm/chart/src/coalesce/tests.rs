use super::*;
use crate::testing::{chart, shown, values};

const CHILD: &str = "apiVersion: v2\nname: child\nversion: 1.0.0\n";

/// Coalesced and merged values of a chart with defaults, a child with defaults, and values from outside.
fn both(defaults: &str, child: &str, given: &str) -> (String, String, Warnings) {
    let chart = chart(
        "top",
        &[("values.yaml", defaults), ("charts/child/Chart.yaml", CHILD), ("charts/child/values.yaml", child)],
    );
    let mut warnings = Warnings::new();
    let coalesced = coalesce_values(&chart, &values(given), &mut warnings).unwrap();
    let merged = merge_values(&chart, &values(given), &mut Warnings::new()).unwrap();
    (shown(&coalesced), shown(&merged), warnings)
}

#[test]
fn given_values_win_over_the_chart_and_the_chart_over_its_dependency() {
    let (coalesced, merged, _) = both(
        "a: chart\nb: {x: chart, w: chart}\nlist: [1, 2]\nchild: {c: chart}",
        "c: child\nd: child",
        "a: given\nb: {x: given}\nlist: [3]",
    );
    let want = "{a:given,b:{w:chart,x:given},child:{c:chart,d:child,global:{}},list:[3]}";
    assert_eq!(coalesced, want);
    assert_eq!(merged, want);
}

#[test]
fn a_null_removes_a_default_when_coalescing_and_stays_when_merging() {
    let (coalesced, merged, _) = both(
        "a: 1\nb: {x: 1, w: 2}\nkept: 1",
        "c: 1\nd: {e: 1, f: 2}",
        "a: null\nb: {x: null}\nchild: {c: null, d: {e: null}}\nnew: null",
    );
    assert_eq!(coalesced, "{b:{w:2},child:{d:{f:2},global:{}},kept:1,new:null}");
    assert_eq!(merged, "{a:null,b:{w:2,x:null},child:{c:null,d:{e:null,f:2},global:{}},kept:1,new:null}");
}

#[test]
fn nulls_of_defaults_do_not_reach_coalesced_values() {
    let (coalesced, merged, _) =
        both("a: null\nb: {x: null, w: 1}\nc: {z: null}", "d: null\ne: {f: null}", "c: {v: 1}");
    assert_eq!(coalesced, "{b:{w:1},c:{v:1},child:{e:{},global:{}}}");
    assert_eq!(merged, "{a:null,b:{w:1,x:null},c:{v:1,z:null},child:{d:null,e:{f:null},global:{}}}");
}

#[test]
fn a_null_in_the_parents_table_for_a_dependency_removes_the_dependencys_default() {
    let (coalesced, ..) = both("child: {c: null, d: {e: null}}", "c: 1\nd: {e: 1, f: 2}", "child: {g: 1}");
    assert_eq!(coalesced, "{child:{d:{f:2},g:1,global:{}}}");
}

#[test]
fn globals_flow_down_and_the_parents_win() {
    let (coalesced, ..) = both(
        "global: {a: chart, t: {x: chart}}",
        "global: {a: child, b: child, t: {x: child, w: child}}",
        "global: {given: 1}",
    );
    assert_eq!(
        coalesced,
        "{child:{global:{a:chart,b:child,given:1,t:{w:child,x:chart}}},global:{a:chart,given:1,t:{x:chart}}}"
    );
}

#[test]
fn tables_and_other_values_do_not_replace_each_other() {
    let (coalesced, _, warnings) =
        both("a: 1\nb: {x: 1}\nc: {t: {z: 1}, u: 1}", "d: 1", "a: {w: 1}\nb: 1\nc: {t: 5, u: {v: 1}}");
    assert_eq!(coalesced, "{a:{w:1},b:1,c:{t:5,u:{v:1}},child:{d:1,global:{}}}");
    assert_eq!(
        warnings,
        [
            "warning: skipped value for top.a: Not a table.",
            "warning: cannot overwrite table with non table for top.c.t (map[z:1])",
            "warning: destination for top.c.u is a table. Ignoring non-table value (1)",
        ]
    );
}

#[test]
fn globals_that_are_no_tables_are_reported_and_left_alone() {
    let (coalesced, _, warnings) = both("a: 1", "d: 1", "global: text");
    assert_eq!(coalesced, "{a:1,child:{d:1},global:text}");
    assert_eq!(warnings, ["warning: skipping globals because source global is not a table."]);
}

#[test]
fn a_dependencys_values_have_to_be_a_table() {
    let chart = chart("top", &[("charts/child/Chart.yaml", CHILD)]);
    for (given, want) in [
        ("child: text", "type mismatch on child: %!t(string=text)"),
        ("child: null", "type mismatch on child: %!t(<nil>)"),
        ("child: true", "type mismatch on child: true"),
    ] {
        let error = coalesce_values(&chart, &values(given), &mut Warnings::new()).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn nothing_given_is_changed() {
    let given = values("a: {x: null}\nglobal: {t: {x: 1}}");
    let chart = chart("top", &[("values.yaml", "a: {x: 1, w: 2}"), ("charts/child/Chart.yaml", CHILD)]);
    coalesce_values(&chart, &given, &mut Warnings::new()).unwrap();
    assert_eq!(shown(&given), "{a:{x:null},global:{t:{x:1}}}");
    assert_eq!(shown(chart.values.as_ref().unwrap()), "{a:{w:2,x:1}}");
}

#[test]
fn tables_merge_with_the_target_winning() {
    for (target, source, coalesced, merged) in [
        ("a: 1", "a: 2\nb: 3", "{a:1,b:3}", "{a:1,b:3}"),
        ("a: null", "a: 2", "{}", "{a:null}"),
        ("a: null", "a: null", "{a:null}", "{a:null}"),
        ("a: null", "b: 1", "{a:null,b:1}", "{a:null,b:1}"),
        ("t: {x: null}", "t: {x: {w: 1}, z: 1}", "{t:{z:1}}", "{t:{x:null,z:1}}"),
        ("t: {}", "t: null", "{t:{}}", "{t:{}}"),
    ] {
        let into = values(target);
        coalesce_tables(&into, &values(source), &mut Warnings::new()).unwrap();
        assert_eq!(shown(&into), coalesced, "coalesced {target:?} {source:?}");
        let into = values(target);
        merge_tables(&into, &values(source), Rules::Helm4, &mut Warnings::new()).unwrap();
        assert_eq!(shown(&into), merged, "merged {target:?} {source:?}");
    }
}

#[test]
fn values_that_contain_themselves_are_refused() {
    let given = values("a: {}");
    let Some(Value::Map(inner)) = given.get("a") else { panic!("a table") };
    inner.insert("a", given.clone());
    let error = coalesce_values(&chart("top", &[]), &given, &mut Warnings::new()).unwrap_err();
    assert_eq!(error, CoalesceError::TooDeep(TooDeep));
    let other = values("a: {}");
    let Some(Value::Map(inner)) = other.get("a") else { panic!("a table") };
    inner.insert("a", other.clone());
    assert!(merge_tables(&given, &other, Rules::Helm4, &mut Warnings::new()).is_err());
    given.remove("a");
    other.remove("a");
}
