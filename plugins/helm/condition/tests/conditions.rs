//! Conditions as people write them, and as nobody should.

use std::time::{Duration, Instant};

use helm_condition::{Condition, ConditionError, HealthCheck, ready};
use helm_health::Health;
use serde_json::{Value, json};

fn dependency() -> Value {
    json!({
        "metadata": {"name": "db", "generation": 3, "labels": {"app.kubernetes.io/version": "1.2"}},
        "spec": {"replicas": 2, "share": 0.5},
        "status": {"observedGeneration": 3, "replicas": 2, "phase": "Running", "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "False"}]}
    })
}

fn answer(expr: &str) -> Result<bool, ConditionError> {
    ready(
        expr,
        &dependency(),
        &json!({"metadata": {"labels": {"app.kubernetes.io/version": "1.2"}}, "spec": {"min": 2}}),
    )
}

fn told(expr: &str) -> String {
    answer(expr).expect_err(expr).to_string()
}

#[test]
fn a_dependency_is_ready_when_its_expression_says_so() {
    let yes = [
        "true",
        "dep.status.observedGeneration == dep.metadata.generation",
        "dep.status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')",
        "dep.status.conditions.exists(e, e.type == 'Ready' && e.status == 'True')",
        "dep.metadata.labels['app.kubernetes.io/version'] == self.metadata.labels['app.kubernetes.io/version']",
        "dep.status.replicas >= self.spec.min",
        "dep.status.replicas + 1 == 3 && dep.spec.share < 1.0",
        "has(dep.status.phase) && dep.status.phase in ['Running', 'Done']",
        "!has(dep.status.nothing)",
        "dep.status.conditions.map(e, e.type).size() == 2",
        "dep.status.phase.matches('^Run')",
        "size(dep.status.conditions) > 0 ? dep.status.phase.startsWith('R') : false",
    ];
    for expr in yes {
        assert_eq!(answer(expr), Ok(true), "{expr}");
    }
    for expr in
        ["false", "dep.status.phase == 'Failed'", "dep.status.conditions.exists_one(e, e.status == 'Nope')"]
    {
        assert_eq!(answer(expr), Ok(false), "{expr}");
    }
}

#[test]
fn what_fails_is_told_with_its_place() {
    assert_eq!(told("dep.status.nope == 1"), "line 1, column 11: no such key: nope");
    assert!(told("true &&\n  nobody.x").starts_with("line 2, column 3: undeclared reference to \"nobody\""));
    assert!(matches!(answer("dep.status.phase + 1 == 2"), Err(ConditionError::Evaluation { .. })));
    assert!(told("dep.status.conditions[7].type == ''").contains("out of bounds"));
    let syntax = answer("dep.status ==\n== 1").expect_err("no CEL");
    assert!(matches!(syntax, ConditionError::Syntax { line: 2, column: 1, .. }), "{syntax:?}");
    assert!(matches!(answer(""), Err(ConditionError::Syntax { .. })));
}

#[test]
fn an_answer_that_is_neither_yes_nor_no_is_refused() {
    assert_eq!(told("dep.status.replicas"), "the expression must be true or false, it is of type int");
    assert_eq!(told("dep.status.phase"), "the expression must be true or false, it is of type string");
    assert_eq!(told("null"), "the expression must be true or false, it is of type null");
}

#[test]
fn an_error_does_not_tell_what_objects_contain() {
    let secret = json!({"data": {"password": "c2VjcmV0"}, "spec": {"n": 1}});
    for expr in [
        "dep.data.password + 1 == 2",
        "dep.data.password < 1",
        "dep.data.password[0] == 1",
        "dep.data == 1 + dep.data",
    ] {
        if let Err(error) = ready(expr, &secret, &json!({})) {
            assert!(!format!("{error} {error:?}").contains("c2VjcmV0"), "{expr}: {error:?}");
        }
    }
}

#[test]
fn a_health_check_decides_in_its_order() {
    let check = HealthCheck::compile(
        "status.phase == 'Done'",
        Some("has(status.phase) && status.phase == 'Busy'"),
        Some("has(status.phase) && status.phase.startsWith('Fail')"),
    )
    .expect("CEL");
    let thing = |phase: &str| json!({"kind": "Thing", "metadata": {"name": "t"}, "status": {"phase": phase}});
    assert_eq!(check.judge(&thing("Done")), Ok(Health::Current));
    assert_eq!(
        check.judge(&thing("Busy")),
        Ok(Health::InProgress("Thing: it is in progress by its check".to_owned()))
    );
    assert_eq!(
        check.judge(&thing("Failing")),
        Ok(Health::Failed("Thing: it has failed by its check".to_owned()))
    );
    assert_eq!(
        check.judge(&thing("Else")),
        Ok(Health::InProgress("Thing: it is not current by its check".to_owned()))
    );
    let told = check.judge(&json!({"kind": "Thing"})).expect_err("no phase yet").to_string();
    assert_eq!(told, "current: line 1, column 7: no such key: phase");
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    assert_eq!(check.judge(&deleted), Ok(Health::Terminating));
    let wrong = HealthCheck::compile("true", None, Some("a b")).expect_err("no CEL").to_string();
    assert!(wrong.starts_with("failed: line 1, column 3: "), "{wrong}");
}

#[test]
fn an_object_without_a_status_can_be_asked_for_one() {
    let check = HealthCheck::compile("has(status.phase)", None, None).expect("CEL");
    assert!(matches!(check.judge(&json!({"kind": "Thing"})), Ok(Health::InProgress(_))));
}

/// On the stack that a plugin has.
fn on_a_small_stack(expr: String) -> (Result<bool, ConditionError>, Duration) {
    let list: Vec<Value> = (0..200).map(|n| json!({"name": format!("element {n}"), "n": n})).collect();
    let dep = json!({"list": list, "text": "x".repeat(1000)});
    let run = move || {
        let start = Instant::now();
        (ready(&expr, &dep, &json!({})), start.elapsed())
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread").join().expect("no overflow")
}

#[test]
fn expressions_that_would_take_for_ever_are_refused_at_once() {
    let grow = |step: &str, times: usize| format!("['x']{}.size() == 1", step.repeat(times));
    let hostile = [
        grow(".map(i, i + i)", 40),
        grow(".map(i, [i, i])", 60),
        grow(".map(i, i + i + i + i + i + i + i + i)", 12),
        "dep.list.all(a, dep.list.all(b, dep.list.all(c, dep.list.all(d, a.n + b.n + c.n + d.n >= 0))))"
            .to_owned(),
        "dep.list.map(a, dep.list.map(b, dep.list.map(c, dep.text))).size() == 1".to_owned(),
        "dep.list.map(a, dep.text + dep.text).map(a, dep.list.map(b, a + a)).size() == 200".to_owned(),
        "dep.list.all(a, dep.list.all(b, dep.text.matches('(x*)*y' + b.name)))".to_owned(),
    ];
    for expr in hostile {
        let (answer, took) = on_a_small_stack(expr.clone());
        assert_eq!(answer, Err(ConditionError::Cost), "{expr}");
        assert!(took < Duration::from_secs(5), "{expr}: {took:?}");
    }
}

#[test]
fn deep_and_long_expressions_are_refused_or_answered_but_never_overflow() {
    let deep = [
        format!("{}true{}", "(".repeat(2000), ")".repeat(2000)),
        format!("{}1{} == []", "[".repeat(2000), "]".repeat(2000)),
        format!("{}true", "!".repeat(4000)),
        format!("{}1 == 1", "-".repeat(4000)),
        format!("{}true", "true ? true : ".repeat(280)),
        format!("{}1 == 0", "1+".repeat(2000)),
        format!("dep{} == 1", ".a".repeat(2000)),
        format!("dep{} == 1", "[0]".repeat(1300)),
        format!("{}true", "true && ".repeat(500)),
        format!("dep{}", ".f(".repeat(1300)),
        "{".repeat(4000),
        "'".repeat(4000),
        "a".repeat(5000),
    ];
    for expr in deep {
        let (answer, took) = on_a_small_stack(expr.clone());
        // Chains of these are flat: they have an answer.
        assert!(answer.is_err() || expr.starts_with(['!', '-', 't']), "{answer:?} for {}", &expr[..20]);
        assert!(took < Duration::from_secs(20), "{}: {took:?}", &expr[..20]);
    }
}

#[test]
fn usual_expressions_over_large_objects_are_not_refused() {
    let pods: Vec<Value> = (0..1000)
        .map(|n| json!({"name": format!("pod-{n}"), "ready": true, "text": "x".repeat(100)}))
        .collect();
    let dep = json!({"status": {"pods": pods}});
    let expr = "dep.status.pods.filter(p, p.ready).all(p, p.name.startsWith('pod-')) && size(dep.status.pods) == 1000";
    assert_eq!(ready(expr, &dep, &json!({})), Ok(true));
}

#[test]
fn a_condition_is_compiled_once_and_asked_often() {
    let condition = Condition::compile("n > 1").expect("CEL");
    for n in 0..4 {
        assert_eq!(condition.holds(&[("n", &json!(n))]), Ok(n > 1));
    }
}
