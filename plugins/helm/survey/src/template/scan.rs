//! Kinds that templates speak of, found without rendering them.

use helm_chart::{Chart, File};

use super::actions::{Action, Keyword, TokenKind, actions};
use super::blocks::assigned;
use crate::discovery;

/// A kind that a template speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spoken {
    /// None: it cannot be told, and there are several that have such a kind, or none.
    pub(crate) group: Option<String>,
    pub(crate) kind: String,
    /// The template's full path.
    pub(crate) template: String,
}

/// Goes through all templates of a chart and of those it depends on.
pub(crate) fn scan(chart: &Chart) -> Vec<Spoken> {
    let mut found = Vec::new();
    each_template(chart, &mut |template, file| {
        let text = String::from_utf8_lossy(&file.data);
        found.extend(spoken(&text).into_iter().map(|(group, kind)| Spoken {
            group,
            kind,
            template: template.to_owned(),
        }));
    });
    found.sort();
    found.dedup();
    found
}

/// Templates that write whole objects out of values, as `extraManifests` are.
pub(crate) fn writers(chart: &Chart) -> Vec<String> {
    let mut found = Vec::new();
    each_template(chart, &mut |template, file| {
        let text = String::from_utf8_lossy(&file.data);
        let is_partial = template.rsplit('/').next().is_some_and(|name| name.starts_with('_'));
        if !is_partial && has_writer(&text) {
            found.push(template.to_owned());
        }
    });
    found
}

fn has_writer(text: &str) -> bool {
    let actions = actions(text);
    actions.iter().enumerate().any(|(index, action)| {
        writes_whole(text, action)
            && begins_document(text, actions.get(..index).unwrap_or_default(), action.start)
    })
}

/// Whether nothing but actions and comments stands between the beginning of a document and a place.
fn begins_document(text: &str, actions: &[Action], place: usize) -> bool {
    let before = text.get(..place).unwrap_or_default();
    let start = before.rfind("\n---").map_or(0, |at| at + 4);
    let mut plain = String::new();
    let mut at = start;
    for action in actions.iter().filter(|action| action.start >= start) {
        plain.push_str(text.get(at..action.start).unwrap_or_default());
        at = action.end;
    }
    plain.push_str(text.get(at..place).unwrap_or_default());
    let nothing = |line: &str| line.is_empty() || line == "---" || line.starts_with('#');
    plain.lines().all(|line| nothing(line.trim()))
}

/// Whether an action at the beginning of a line writes something as YAML, and not as a part of what stands around it.
fn writes_whole(text: &str, action: &Action) -> bool {
    let line = text.get(..action.start).and_then(|before| before.rsplit('\n').next());
    let word = |wanted: &[&str]| {
        action
            .tokens
            .iter()
            .any(|token| matches!(&token.kind, TokenKind::Word(word) if wanted.contains(&word.as_str())))
    };
    let renders = word(&["toYaml", "tpl"])
        || action
            .tokens
            .iter()
            .any(|token| matches!(&token.kind, TokenKind::Text(text) if text.ends_with("tplvalues.render")));
    action.keyword == Keyword::Other
        && line.is_some_and(|line| line.trim().is_empty())
        && renders
        && assigned(action).is_none()
        && !word(&["indent", "nindent", "set", "sha256sum", "fromYaml", "b64enc"])
}

/// The templates with their full paths.
pub(crate) fn each_template(chart: &Chart, each: &mut dyn FnMut(&str, &File)) {
    fn walk(chart: &Chart, path: &str, each: &mut dyn FnMut(&str, &File)) {
        for file in chart.templates.iter().filter(|file| !file.name.ends_with("NOTES.txt")) {
            each(&format!("{path}/{}", file.name), file);
        }
        for dependency in &chart.dependencies {
            walk(dependency, &format!("{path}/charts/{}", dependency.name()), each);
        }
    }
    walk(chart, chart.name(), each);
}

fn spoken(text: &str) -> Vec<(Option<String>, String)> {
    let lines: Vec<&str> = text.lines().collect();
    // Elsewhere items have kinds that are none of objects, such as the subjects of a binding.
    let is_list = lines.iter().any(|line| line.starts_with("kind:") && line.trim_end().ends_with("List"));
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let listed = || line.trim_start().strip_prefix("- kind:").filter(|_| is_list);
        let Some(value) = line.strip_prefix("kind:").or_else(listed) else { continue };
        for kind in words(value).into_iter().filter(|word| is_kind(word)) {
            let group = api_version(&lines, index).or_else(|| discovery::group_of(&kind).map(str::to_owned));
            found.push((group, kind));
        }
    }
    found
}

/// What may come out of the rest of a line: its text and the constants of its actions.
fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    for action in actions(value) {
        plain.push_str(value.get(at..action.start).unwrap_or_default());
        plain.push(' ');
        at = action.end;
        words.extend(action.tokens.into_iter().filter_map(|token| match token.kind {
            TokenKind::Text(text) => Some(text),
            _ => None,
        }));
    }
    plain.push_str(value.get(at..).unwrap_or_default());
    let plain = plain.split(" #").next().unwrap_or_default();
    words.extend(plain.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()));
    words
}

fn is_kind(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
}

/// The group in the `apiVersion` of the same document.
fn api_version(lines: &[&str], kind: usize) -> Option<String> {
    let end = |line: &&&str| line.starts_with("---");
    let value = |line: &&str| {
        line.strip_prefix("apiVersion:").or_else(|| line.strip_prefix("- apiVersion:")).map(str::to_owned)
    };
    let before = lines.get(..kind)?.iter().rev().take_while(|line| !end(line)).find_map(value);
    let after = || lines.get(kind..)?.iter().take_while(|line| !end(line)).find_map(value);
    let words = words(&before.or_else(after)?);
    let version = words.iter().find(|word| {
        let version = word.rsplit('/').next().unwrap_or_default();
        version.starts_with('v') && version.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    })?;
    Some(version.split_once('/').map_or("", |(group, _)| group).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(Option<String>, String)> {
        spoken(text)
    }

    fn pair(group: &str, kind: &str) -> (Option<String>, String) {
        (Some(group.to_owned()), kind.to_owned())
    }

    #[test]
    fn kinds_are_found_with_their_groups() {
        let text = "{{ if .x }}\napiVersion: batch/v1\nkind: Job # done\nspec:\n  kind: Inner\n---\nkind: \"Pod\"\napiVersion: v1\n";
        assert_eq!(told(text), [pair("batch", "Job"), pair("", "Pod")]);
    }

    #[test]
    fn kinds_that_are_chosen_are_found_all() {
        let text = "apiVersion: {{ include \"a\" . }}\nkind: {{ if .Values.c }}Cluster{{ else }}Deployment{{ end }}\n---\n\
                    apiVersion: {{ default \"apps/v1\" .Values.v }}\nkind: {{ ternary \"DaemonSet\" \"StatefulSet\" .Values.d }}\n";
        assert_eq!(
            told(text),
            [
                pair("postgresql.cnpg.io", "Cluster"),
                pair("apps", "Deployment"),
                pair("apps", "DaemonSet"),
                pair("apps", "StatefulSet")
            ]
        );
    }

    #[test]
    fn items_of_lists_are_objects_and_the_subjects_of_bindings_are_not() {
        let binding = "kind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nsubjects:\n- kind: ServiceAccount\n";
        assert_eq!(told(binding), [pair("rbac.authorization.k8s.io", "RoleBinding")]);
        let list = "kind: List\napiVersion: v1\nitems:\n- kind: Pod\n";
        assert_eq!(told(list), [pair("", "List"), pair("", "Pod")]);
    }

    #[test]
    fn templates_that_write_what_values_hold_are_told() {
        let whole = has_writer;
        assert!(!whole("metadata:\n  labels:\n{{ toYaml .Values.labels }}"));
        assert!(whole("{{ range .Values.extra }}\n---\n{{ tpl (toYaml .) $ }}\n{{ end }}"));
        assert!(!whole("spec:\n  {{- toYaml .Values.spec | nindent 2 }}"));
        assert!(!whole("data: {{ tpl .Values.data . }}"));
    }

    #[test]
    fn a_kind_of_an_unknown_group_is_told_without_one() {
        assert_eq!(told("kind: Widget\napiVersion: {{ .Values.v }}\n"), [(None, "Widget".to_owned())]);
        assert_eq!(told("kind: {{ .Values.kind }}\n"), []);
    }
}
