//! Rules of roles: what is missing in one, and as text with the reasons.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::survey::Rule;

/// What an operator does with the objects of its charts.
pub const MANAGE: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

fn words<'a>(rule: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    rule.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a rule of a role grants a verb on a resource, for the names of objects that are meant.
fn grants(rule: &Value, group: &str, resource: &str, verb: &str, names: &[String]) -> bool {
    let has = |key: &str, wanted: &str| words(rule, key).any(|word| word == wanted || word == "*");
    let own: Vec<&str> = words(rule, "resourceNames").collect();
    // Rules for names of objects do not stand for all objects.
    let named =
        own.is_empty() || (!names.is_empty() && names.iter().all(|name| own.contains(&name.as_str())));
    named && has("apiGroups", group) && has("resources", resource) && has("verbs", verb)
}

fn grants_url(rule: &Value, url: &str, verb: &str) -> bool {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => url.starts_with(start),
        None => pattern == url,
    };
    words(rule, "nonResourceURLs").any(matches)
        && words(rule, "verbs").any(|word| word == verb || word == "*")
}

/// What of the wanted rules the existing ones do not grant: each with only the resources and verbs that are missing.
pub fn missing(existing: &[Value], wanted: &[Rule]) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    for rule in wanted {
        for url in &rule.non_resource_urls {
            let granted = |verb: &String| existing.iter().any(|has| grants_url(has, url, verb));
            let verbs: Vec<String> = rule.verbs.iter().filter(|verb| !granted(verb)).cloned().collect();
            if !verbs.is_empty() {
                out.push(Rule { non_resource_urls: vec![url.clone()], verbs, ..rule.clone() });
            }
        }
        for (group, resource) in pairs(rule) {
            let names = &rule.resource_names;
            let granted =
                |verb: &String| existing.iter().any(|has| grants(has, group, resource, verb, names));
            let verbs: Vec<String> = rule.verbs.iter().filter(|verb| !granted(verb)).cloned().collect();
            if !verbs.is_empty() {
                push(&mut out, rule, group, resource, verbs);
            }
        }
    }
    out
}

fn pairs(rule: &Rule) -> impl Iterator<Item = (&String, &String)> {
    rule.api_groups.iter().flat_map(|group| rule.resources.iter().map(move |resource| (group, resource)))
}

/// Together with what is missing of the same rule already, where only the resource differs.
fn push(out: &mut Vec<Rule>, rule: &Rule, group: &str, resource: &str, verbs: Vec<String>) {
    let same = out.iter_mut().find(|other| {
        let like = Rule {
            api_groups: vec![group.to_owned()],
            resources: other.resources.clone(),
            verbs: verbs.clone(),
            ..rule.clone()
        };
        **other == like
    });
    match same {
        Some(other) => other.resources.push(resource.to_owned()),
        None => out.push(Rule {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            verbs,
            ..rule.clone()
        }),
    }
}

/// Rules as a role has them.
pub fn values(rules: &[Rule]) -> Vec<Value> {
    let value = |rule: &Rule| {
        json!({
            "apiGroups": rule.api_groups,
            "resources": rule.resources,
            "resourceNames": rule.resource_names,
            "nonResourceURLs": rule.non_resource_urls,
            "verbs": rule.verbs,
        })
    };
    rules.iter().map(value).collect()
}

/// The rules for the kind itself.
pub fn own_rules(group: &str, plural: &str) -> Vec<Rule> {
    let rule = |resource: String, verbs: &[&str], why: &str| Rule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource],
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        why: vec![why.to_owned()],
        ..Rule::default()
    };
    vec![
        rule(plural.to_owned(), &["get", "list", "patch", "update", "watch"], "the custom resources"),
        rule(format!("{plural}/status"), &["get", "patch", "update"], "what is told of them"),
        rule(format!("{plural}/finalizers"), &["update"], "they own what the chart makes"),
    ]
}

/// Those of them that nobody has told of: where a chart was looked at, the rights on its kind are among what it takes.
pub fn untold_own_rules(told: &[Rule], group: &str, plural: &str) -> Vec<Rule> {
    let about_it = |rule: &Rule| {
        rule.api_groups.iter().any(|has| has == group) && rule.resources.iter().any(|has| has == plural)
    };
    if told.iter().any(about_it) { Vec::new() } else { own_rules(group, plural) }
}

/// What the host itself reads and writes beside charts.
pub fn host_rules() -> Vec<Rule> {
    let rule = |group: &str, resource: &str, verbs: &[&str], why: &str| Rule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        why: vec![why.to_owned()],
        scope: if group.is_empty() { "namespace" } else { "cluster" }.to_owned(),
        ..Rule::default()
    };
    vec![
        rule("", "secrets", &MANAGE, "Helm's records of releases"),
        rule("", "events", &["create", "patch"], "events on custom resources, counted up when they repeat"),
        rule(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            &["list", "watch"],
            "kinds that come and go are seen at once",
        ),
        rule(
            "apiregistration.k8s.io",
            "apiservices",
            &["list", "watch"],
            "kinds that come and go are seen at once",
        ),
    ]
}

/// The rules as items of a list, each below its reason.
pub fn text(rules: &[Rule]) -> String {
    let mut out = String::new();
    for rule in rules {
        for line in reason(rule) {
            let _ = writeln!(out, "# {line}");
        }
        for (index, (key, words)) in keys(rule).into_iter().filter(|(_, words)| !words.is_empty()).enumerate()
        {
            let _ = writeln!(out, "{}{key}:", if index == 0 { "- " } else { "  " });
            for word in words {
                // Names of objects may be anything, `true` too.
                let plain = key != "resourceNames" && word.starts_with(|c: char| c.is_ascii_lowercase());
                let word = if plain { word.clone() } else { format!("\"{word}\"") };
                let _ = writeln!(out, "  - {word}");
            }
        }
    }
    out
}

fn keys(rule: &Rule) -> [(&'static str, &Vec<String>); 5] {
    [
        ("apiGroups", &rule.api_groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.resource_names),
        ("nonResourceURLs", &rule.non_resource_urls),
        ("verbs", &rule.verbs),
    ]
}

/// How a right was found, where that is not by rendering.
fn found(rule: &Rule) -> &'static str {
    match rule.found.as_str() {
        "text" => "(read in the template's text: none of the values that were tried makes it)",
        "granted" => "(a role of the chart grants it: who grants a right has to have it)",
        _ => "",
    }
}

/// Lines that say why, none of them longer than a screen is wide.
fn reason(rule: &Rule) -> Vec<String> {
    let mut words: Vec<String> = rule.why.iter().map(|why| one_line(why)).collect();
    if words.is_empty() {
        words.push("what the chart makes".to_owned());
    }
    // A sentence begins with a capital letter, a path stays a path.
    if let Some(first) = words.first_mut().filter(|first| first.contains(' ')) {
        let (head, tail) = first.split_at_checked(1).unwrap_or(("", ""));
        *first = format!("{}{tail}", head.to_ascii_uppercase());
    }
    let found = found(rule);
    let mut lines: Vec<String> = Vec::new();
    let last = words.len() - 1;
    for (index, word) in words.into_iter().enumerate() {
        let end = if index < last {
            ","
        } else if found.is_empty() {
            "."
        } else {
            ""
        };
        push_word(&mut lines, &format!("{word}{end}"));
    }
    if !found.is_empty() {
        push_word(&mut lines, &format!("{found}."));
    }
    lines
}

fn push_word(lines: &mut Vec<String>, word: &str) {
    match lines.last_mut() {
        Some(line) if line.len() + word.len() < 110 => {
            line.push(' ');
            line.push_str(word);
        }
        _ => lines.push(word.to_owned()),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::yaml_text;
    use serde_json::json;

    fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Rule {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Rule {
            api_groups: vec![group.to_owned()],
            resources: own(resources),
            verbs: own(verbs),
            why: vec!["templates/a.yaml".to_owned()],
            ..Rule::default()
        }
    }

    #[test]
    fn only_what_is_not_granted_yet_is_missing() {
        let existing = [
            json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}),
            json!({"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}),
            json!({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"], "resourceNames": ["one"]}),
        ];
        let wanted = [
            rule("apps", &["deployments", "statefulsets"], &["get", "patch"]),
            rule("", &["services"], &["get", "patch"]),
            rule("batch", &["jobs"], &["get"]),
        ];
        let found = missing(&existing, &wanted);
        assert_eq!(
            found,
            [
                rule("apps", &["statefulsets"], &["get", "patch"]),
                rule("", &["services"], &["patch"]),
                rule("batch", &["jobs"], &["get"]),
            ]
        );
        let urls = Rule {
            non_resource_urls: vec!["/metrics".to_owned(), "/healthz/x".to_owned()],
            verbs: vec!["get".to_owned()],
            ..Rule::default()
        };
        let has = [json!({"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]})];
        assert_eq!(missing(&has, &[urls])[0].non_resource_urls, ["/metrics"]);
        let all = [json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})];
        assert_eq!(missing(&all, &wanted), []);
    }

    #[test]
    fn rules_are_written_with_their_reasons_and_can_be_read() {
        let mut written = rule("", &["pods/exec"], &["*"]);
        written.why = vec!["what templates/a\n.yaml".to_owned(), "b".repeat(100)];
        written.found = "text".to_owned();
        let text = text(&[written]);
        let read = yaml_text::read(&text).unwrap();
        assert!(text.lines().all(|line| line.len() < 120), "{text}");
        assert_eq!(read, json!([{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["*"]}]));
        assert!(text.starts_with("# What templates/a .yaml,\n# bbb"), "{text}");
        assert!(text.contains("makes it).\n- apiGroups:\n  - \"\"\n"), "{text}");
    }
}
