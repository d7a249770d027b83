//! Fields that a chart has and the cluster does not know. A server-side apply of such an object is refused as a whole, whatever is
//! said of validation; what Helm 3 sent was taken without them. So they are left out, and that is told.

use std::{borrow::Cow, collections::BTreeMap};

use pilothouse_sdk::{Applied, ApplyItem, ApplyOptions, Change, Event, KubeError};
use serde_json::Value;

use crate::{call::Call, releases::Prepared};

/// How the API server begins to say it.
const REFUSAL: &str = "failed to create typed patch object";
/// How it ends the line of a field.
const NOT_DECLARED: &str = ": field not declared in schema";
/// So often one object is tried in all. The server names those of a level of an object at once, and those below it when they are
/// gone.
const MOST_ROUNDS: usize = 64;
/// Fields that a sentence names.
const MOST_NAMED: usize = 5;

/// What was asked about objects, each without the fields that the cluster does not know.
struct Asked<'i, T> {
    items: Cow<'i, [ApplyItem]>,
    answers: Vec<Result<T, KubeError>>,
    /// What was left out of which of them.
    left_out: BTreeMap<usize, Vec<String>>,
}

/// Asks about objects, and from the first on that is refused for fields that the cluster does not know once more, without those.
fn ask_without<T>(
    items: Cow<'_, [ApplyItem]>,
    ask: impl Fn(&[ApplyItem]) -> Vec<Result<T, KubeError>>,
) -> Asked<'_, T> {
    let (mut answers, mut left_out) = (Vec::with_capacity(items.len()), BTreeMap::<_, Vec<_>>::new());
    let (mut items, mut rounds) = (items, (0, 0));
    loop {
        let begin = answers.len();
        let round = ask(items.get(begin..).unwrap_or_default());
        let refused = round.iter().enumerate().find_map(|(at, answer)| Some((at, undeclared(answer)?)));
        let refused = refused.map(|(at, fields)| (at, begin + at, fields));
        let stripped = refused.and_then(|(at, place, fields)| {
            rounds = if rounds.0 == place { (place, rounds.1 + 1) } else { (place, 1) };
            let stripped = without(&items.get(place)?.object, &fields)?;
            (rounds.1 < MOST_ROUNDS).then_some((at, place, fields, stripped))
        });
        let Some((at, place, fields, stripped)) = stripped else {
            answers.extend(round);
            return Asked { items, answers, left_out };
        };
        answers.extend(round.into_iter().take(at));
        if let Some(item) = items.to_mut().get_mut(place) {
            item.object = stripped;
        }
        left_out.entry(place).or_default().extend(fields);
    }
}

impl Call<'_> {
    /// Applies objects, without fields that the cluster does not know. Which those are is found out each time: it may know them by
    /// now, also since the object before.
    pub(crate) fn send(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>> {
        let asked = ask_without(Cow::Borrowed(items), |items| self.kube().apply(items, options));
        for (place, fields) in &asked.left_out {
            let (item, answer) = (asked.items.get(*place), asked.answers.get(*place));
            if let (Some(item), Some(Ok(applied))) = (item, answer)
                && applied.change != Change::Unchanged
                && !options.dry_run
            {
                let object: Value = serde_json::from_str(&item.object).unwrap_or_default();
                let text =
                    |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                let of = format!("{} {}", text("/kind"), text("/metadata/name"));
                let message = format!(
                    "the cluster does not know these fields of {of}, which are left out: {}",
                    named(fields)
                );
                self.ctx().publish(&Event::warning("UnknownFields", message));
            }
        }
        asked.answers
    }

    /// Whether one object of a release at rest is as it is applied; nothing is changed. Beginning with what was left out of it when
    /// this was asked before: nobody has to be asked then.
    pub(crate) fn is_as_applied(
        &self,
        prepared: &Prepared,
        at: usize,
        item: &ApplyItem,
        options: ApplyOptions,
    ) -> bool {
        let known = prepared.undeclared.borrow().get(&at).cloned().unwrap_or_default();
        let begun = if known.is_empty() { None } else { without(&item.object, &known) };
        let (known, items) = match begun {
            Some(object) => (known, Cow::Owned(vec![ApplyItem { object, ..item.clone() }])),
            None => (Vec::new(), Cow::Borrowed(std::slice::from_ref(item))),
        };
        let mut asked = ask_without(items, |items| self.kube().apply(items, options));
        let fields = [known, asked.left_out.remove(&0).unwrap_or_default()].concat();
        let stands =
            matches!(asked.answers.first(), Some(Ok(applied)) if applied.change == Change::Unchanged);
        // What does not stand may do so with them.
        if stands && !fields.is_empty() {
            prepared.undeclared.borrow_mut().insert(at, fields);
        } else {
            prepared.undeclared.borrow_mut().remove(&at);
        }
        stands
    }

    /// What would become of an object without fields that the cluster does not know, and which those are, for people.
    pub(crate) fn preview_known(&self, item: &ApplyItem) -> (Result<Value, KubeError>, Option<String>) {
        let items = Cow::Borrowed(std::slice::from_ref(item));
        let mut asked = ask_without(items, |items| self.kube().preview::<Value>(items, self.is_strict()));
        let none = || Err(KubeError::Malformed("the host did not answer for the object".to_owned()));
        let fields = asked.left_out.get(&0).map(|fields| named(fields));
        (asked.answers.pop().unwrap_or_else(none), fields)
    }
}

/// Fields for a sentence.
fn named(fields: &[String]) -> String {
    let named = fields.get(..MOST_NAMED).unwrap_or(fields).join(", ");
    match fields.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The fields that an answer says the cluster does not know; none: it says something else, or something else as well.
pub(crate) fn undeclared<T>(answer: &Result<T, KubeError>) -> Option<Vec<String>> {
    let Err(KubeError::Invalid(status)) = answer else { return None };
    let (_, told) = status.message.strip_prefix(REFUSAL)?.split_once("): ")?;
    let lines = told.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "errors:");
    let fields: Option<Vec<String>> =
        lines.map(|line| line.strip_suffix(NOT_DECLARED).map(str::to_owned)).collect();
    fields.filter(|fields| !fields.is_empty())
}

/// An object without these fields; none: it does not have all of them.
fn without(object: &str, fields: &[String]) -> Option<String> {
    let mut object: Value = serde_json::from_str(object).ok()?;
    fields.iter().all(|field| remove(&mut object, field)).then(|| object.to_string())
}

/// Takes a field off, by its path as structured-merge-diff writes it: `.spec.containers[name="web"].foo`. False: there is none.
fn remove(value: &mut Value, path: &str) -> bool {
    match value {
        Value::Object(fields) => {
            let Some(rest) = path.strip_prefix('.') else { return false };
            // Keys are not quoted, and may have dots in them.
            let fits = |key: &&String| {
                let after = rest.strip_prefix(key.as_str());
                after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
            };
            let Some(key) = fields.keys().filter(fits).max_by_key(|key| key.len()).cloned() else {
                return false;
            };
            match rest.get(key.len()..).unwrap_or_default() {
                "" => fields.shift_remove(&key).is_some(),
                below => fields.get_mut(&key).is_some_and(|value| remove(value, below)),
            }
        }
        Value::Array(elements) => {
            let Some((selector, below)) = selector(path) else { return false };
            let mut any = false;
            for (place, element) in elements.iter_mut().enumerate() {
                if is_selected(element, place, selector) {
                    any |= remove(element, below);
                }
            }
            any
        }
        _ => false,
    }
}

/// What stands between the first brackets of a path, and what follows them. Brackets in quotes are none.
fn selector(path: &str) -> Option<(&str, &str)> {
    let inner = path.strip_prefix('[')?;
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in inner.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some((inner.get(..at)?, inner.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// Whether an element of a list is meant by its place (`3`) or its keys (`containerPort=80,protocol="TCP"`). A key that it does not
/// have has its default.
fn is_selected(element: &Value, place: usize, selector: &str) -> bool {
    if let Ok(wanted) = selector.parse::<usize>() {
        return wanted == place;
    }
    let mut rest = selector;
    while let Some((key, after)) = rest.split_once('=') {
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { return false };
        if element.get(key).is_some_and(|known| *known != value) {
            return false;
        }
        rest = after.get(values.byte_offset()..).unwrap_or_default().trim_start_matches(',');
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_sdk::ApiStatus;
    use serde_json::json;

    fn told(message: &str) -> Option<Vec<String>> {
        let (code, reason, message) = (500, String::new(), message.to_owned());
        undeclared::<()>(&Err(KubeError::Invalid(ApiStatus { code, reason, message })))
    }

    #[test]
    fn fields_are_read_from_the_words_of_the_api_server() {
        let start = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): ";
        let one = ".spec.template.spec.containers[name=\"web\"].foo: field not declared in schema";
        let fields = vec![".spec.template.spec.containers[name=\"web\"].foo".to_owned()];
        assert_eq!(told(&format!("{start}{one}")), Some(fields));
        let two = format!("{start}errors:\n  {one}\n  .spec.bar: field not declared in schema");
        assert_eq!(told(&two).unwrap().len(), 2);
        let other = format!("{start}errors:\n  {one}\n  .spec.ports: duplicate entries for key [port=80]");
        assert_eq!(told(&other), None, "what else is wrong stays wrong");
        assert_eq!(told("admission webhook denied the request: field not declared in schema"), None);
    }

    #[test]
    fn a_field_is_taken_off_wherever_it_stands() {
        let object = json!({
            "spec": {"a.b/c": {"x": 1, "y": 2}, "z": [{"p": 1}, {"p": 2}], "list": [
                {"name": "web]", "foo": 1, "ports": [{"containerPort": 80, "foo": 1}, {"containerPort": 81, "foo": 1}]},
                {"name": "side", "foo": 1},
            ]},
        });
        let after = |path: &str| {
            let text = without(&object.to_string(), &[path.to_owned()])?;
            serde_json::from_str::<Value>(&text).ok()
        };
        assert_eq!(after(".spec.a.b/c.x").unwrap()["spec"]["a.b/c"], json!({"y": 2}));
        assert_eq!(after(".spec.z[1].p").unwrap()["spec"]["z"], json!([{"p": 1}, {}]));
        let list = after(".spec.list[name=\"web]\"].foo").unwrap()["spec"]["list"].clone();
        assert_eq!((list[0].get("foo"), &list[1]["foo"]), (None, &json!(1)));
        let path = ".spec.list[name=\"web]\"].ports[containerPort=81,protocol=\"TCP\"].foo";
        let ports = after(path).unwrap()["spec"]["list"][0]["ports"].clone();
        assert_eq!(ports, json!([{"containerPort": 80, "foo": 1}, {"containerPort": 81}]));
        for nowhere in
            [".spec.nothing", ".spec.list[name=\"other\"].foo", "spec", ".spec.list.foo", ".spec.z[7].p"]
        {
            assert_eq!(after(nowhere), None, "{nowhere}");
        }
    }
}
