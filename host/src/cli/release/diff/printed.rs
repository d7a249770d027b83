//! A difference as it is printed.

use super::colour::Paint;
use super::{Action, Change, HookRun, ObjectChange, Told};
use crate::unified_diff;

/// The whole answer; empty where nothing would be changed and there is nothing to say.
pub(super) fn printed(told: &Told, context: usize, colours: bool) -> String {
    let printer = Printer { context, paint: Paint(colours), told };
    let mut text = String::new();
    if !told.is_nothing() {
        text.push_str(&format!("{}\n", printer.paint.title(&printer.headline())));
    }
    for remark in &told.remarks {
        text.push_str(&format!("note: {remark}\n"));
    }
    for object in &told.objects {
        text.push('\n');
        text.push_str(&printer.object(object));
    }
    if !told.hooks.is_empty() {
        text.push('\n');
        text.push_str(&printer.hooks());
    }
    if !told.is_nothing() {
        text.push_str(&format!("\n{}\n", summary(told)));
    }
    text
}

struct Printer<'t> {
    context: usize,
    paint: Paint,
    told: &'t Told,
}

impl Printer<'_> {
    fn headline(&self) -> String {
        let numbered = |found: &Option<super::Numbered>| {
            found.as_ref().map(|found| format!("{} ({})", found.revision, found.chart)).unwrap_or_default()
        };
        let (from, to) = (numbered(&self.told.from), numbered(&self.told.to));
        let what = match self.told.action {
            Action::Install => format!("would be installed as revision {to}"),
            Action::Upgrade => format!("would be upgraded from revision {from} to {to}"),
            Action::Keep => format!("stays at revision {from}, from which the cluster differs"),
        };
        format!("{}: {what}", self.told.object)
    }

    fn object(&self, object: &ObjectChange) -> String {
        let place = object.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
        let what = match object.change {
            Change::Added => "would be created",
            Change::Changed => "would be changed",
            Change::Deleted => "would be deleted",
            Change::Replaced => "would be deleted and made anew",
            Change::Kept => "goes from the release and stays in the cluster",
            Change::Refused => "is refused, so the operation would fail",
        };
        let ObjectChange { kind, name, api_version, .. } = object;
        let mut text =
            format!("{}\n", self.paint.title(&format!("{kind} {name} ({api_version}){place} {what}")));
        if let Some(note) = &object.note {
            text.push_str(&format!("note: {note}\n"));
        }
        if !object.drift.is_empty() {
            let since = self.told.from.as_ref().map_or(0, |from| from.revision);
            text.push_str(&format!(
                "changed by others since revision {since}: {}\n",
                object.drift.join(", ")
            ));
        }
        text + &self.difference(&object.before, &object.after)
    }

    /// The lines in which two states differ.
    fn difference(&self, before: &str, after: &str) -> String {
        let lines = unified_diff::lines(before, after, self.context);
        if lines.is_empty() {
            return String::new();
        }
        let revision = self.told.to.as_ref().or(self.told.from.as_ref()).map_or(0, |found| found.revision);
        let mut text = format!("--- live\n+++ revision {revision}\n");
        for line in lines {
            text.push_str(&self.paint.line(line.sign, &line.text));
            text.push('\n');
        }
        text
    }

    fn hooks(&self) -> String {
        let mut text = format!("{}\n", self.paint.title("Hooks that would run:"));
        for hook in &self.told.hooks {
            let HookRun { event, kind, name, weight, known, .. } = hook;
            let known = match known.as_str() {
                "new" => ", new",
                "changed" => ", changed",
                _ => "",
            };
            text.push_str(&format!("  {event} {kind} {name} (weight {weight}{known})\n"));
        }
        for hook in self.told.hooks.iter().filter(|hook| hook.known == "changed" && hook.before != hook.after)
        {
            text.push_str(&format!("\n{}\n", self.paint.title(&format!("Hook {} {}", hook.kind, hook.name))));
            text.push_str(&self.difference(&hook.before, &hook.after));
        }
        text
    }
}

/// `1 object would be created, 2 changed`.
fn summary(told: &Told) -> String {
    let count =
        |change: &[Change]| told.objects.iter().filter(|object| change.contains(&object.change)).count();
    let all = [
        (count(&[Change::Added]), "created"),
        (count(&[Change::Changed]), "changed"),
        (count(&[Change::Replaced]), "made anew"),
        (count(&[Change::Deleted]), "deleted"),
        (count(&[Change::Refused]), "refused"),
    ];
    let parts: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if parts.is_empty() {
        return "objects: none; what differs are hooks, notes or the version of the chart".to_owned();
    }
    format!("objects: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(value: Value) -> Told {
        serde_json::from_value(value).unwrap()
    }

    fn object(change: &str, name: &str, before: &str, after: &str) -> Value {
        json!({"change": change, "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": name,
            "before": before, "after": after})
    }

    fn upgrade() -> Told {
        let mut changed = object("changed", "a", "data:\n  x: '1'\n", "data:\n  x: '2'\n");
        changed["drift"] = json!([".data.x"]);
        told(json!({
            "object": "Web \"web\" in namespace \"shop\"", "release": "web", "namespace": "shop", "action": "upgrade",
            "from": {"revision": 3, "chart": "site-1.0.0"}, "to": {"revision": 4, "chart": "site-1.1.0"},
            "remarks": ["this waits"],
            "objects": [changed, object("deleted", "b", "data: {}\n", "")],
            "hooks": [
                {"event": "pre-upgrade", "kind": "Job", "name": "backup", "weight": -5, "known": "new", "after": "a: 1\n"},
                {"event": "post-upgrade", "kind": "Job", "name": "migrate", "weight": 0, "known": "changed",
                    "before": "a: 1\n", "after": "a: 2\n"},
            ],
        }))
    }

    #[test]
    fn an_upgrade_is_told_object_by_object() {
        assert_eq!(
            printed(&upgrade(), 3, false),
            "\
Web \"web\" in namespace \"shop\": would be upgraded from revision 3 (site-1.0.0) to 4 (site-1.1.0)
note: this waits

ConfigMap a (v1) in namespace shop would be changed
changed by others since revision 3: .data.x
--- live
+++ revision 4
@@ -1,2 +1,2 @@
 data:
-  x: '1'
+  x: '2'

ConfigMap b (v1) in namespace shop would be deleted
--- live
+++ revision 4
@@ -1 +0,0 @@
-data: {}

Hooks that would run:
  pre-upgrade Job backup (weight -5, new)
  post-upgrade Job migrate (weight 0, changed)

Hook Job migrate
--- live
+++ revision 4
@@ -1 +1 @@
-a: 1
+a: 2

objects: 1 changed, 1 deleted
"
        );
        assert_eq!(upgrade().exit_code(), 1);
        assert!(printed(&upgrade(), 3, true).contains("\x1b[31m-  x: '1'\x1b[0m"));
    }

    #[test]
    fn nothing_is_said_of_what_stays_as_it_is() {
        let mut same = upgrade();
        (same.action, same.to) = (Action::Keep, None);
        (same.objects, same.hooks, same.remarks) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!((printed(&same, 3, false).as_str(), same.exit_code()), ("", 0));
        same.remarks.push("suspended".to_owned());
        assert_eq!((printed(&same, 3, false).as_str(), same.exit_code()), ("note: suspended\n", 0));
    }

    #[test]
    fn an_upgrade_that_would_fail_is_an_error() {
        let mut refused = upgrade();
        refused.objects = vec![
            serde_json::from_value(object("refused", "c", "", "")).unwrap(),
            serde_json::from_value(object("added", "d", "", "data: {}\n")).unwrap(),
        ];
        assert_eq!(refused.exit_code(), 2);
        let text = printed(&refused, 3, false);
        assert!(
            text.contains("ConfigMap c (v1) in namespace shop is refused, so the operation would fail\n\n"),
            "{text}"
        );
        assert!(text.ends_with("objects: 1 created, 1 refused\n"), "{text}");
    }
}
