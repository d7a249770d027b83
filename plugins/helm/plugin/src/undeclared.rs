//! Fields that a chart has and the cluster does not know. A server-side apply of such an object is refused as a whole, whatever is
//! said of validation; what Helm 3 sent was taken without them. So they are left out, and that is told.

use std::{
    borrow::Cow,
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    rc::Rc,
};

use pilothouse_sdk::{Applied, ApplyItem, ApplyOptions, Change, Event, KubeError};
use serde_json::Value;

use crate::call::Call;

/// How the API server begins to say it.
const REFUSAL: &str = "failed to create typed patch object";
/// How it ends the line of a field.
const NOT_DECLARED: &str = ": field not declared in schema";
/// So often one apply is tried in all. The server names those of a level of an object at once, and those below it when they are gone.
const MOST_ROUNDS: usize = 64;
/// So many objects without their fields an instance keeps.
const MOST_KEPT: usize = 256;
/// Fields that a sentence names.
const MOST_NAMED: usize = 5;

/// Objects as they are sent without fields that the cluster does not know, by the digest of what they are with them: a release at
/// rest is compared with what was sent.
#[derive(Debug, Default)]
pub(crate) struct Undeclared(BTreeMap<u64, Rc<str>>);

impl Undeclared {
    fn sent_for(&self, item: &ApplyItem) -> Option<Rc<str>> {
        if self.0.is_empty() { None } else { self.0.get(&digest(&item.object)).cloned() }
    }

    fn keep(&mut self, object: &str, sent: &str) {
        if self.0.len() >= MOST_KEPT {
            self.0.clear();
        }
        self.0.insert(digest(object), sent.into());
    }
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Call<'_> {
    /// Applies objects, without fields that the cluster does not know.
    pub(crate) fn send(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>> {
        let mut known = self.without_known_fields(items);
        let mut answers = Vec::with_capacity(items.len());
        let mut left_out: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for number in 1.. {
            let begin = answers.len();
            let round = self.kube().apply(known.get(begin..).unwrap_or_default(), options);
            let refused = round.iter().enumerate().find_map(|(at, answer)| Some((at, undeclared(answer)?)));
            let Some((at, fields)) = refused.filter(|_| number < MOST_ROUNDS) else {
                answers.extend(round);
                break;
            };
            let place = begin + at;
            let stripped = known.get(place).and_then(|item| without(&item.object, &fields));
            let (Some(stripped), Some(original)) = (stripped, items.get(place)) else {
                answers.extend(round);
                break;
            };
            answers.extend(round.into_iter().take(at));
            self.operator().undeclared.borrow_mut().keep(&original.object, &stripped);
            if let Some(item) = known.to_mut().get_mut(place) {
                item.object = stripped;
            }
            left_out.entry(place).or_default().extend(fields);
        }
        for (place, fields) in left_out {
            if let (Some(item), Some(answer)) = (known.get(place), answers.get(place)) {
                self.tell_undeclared(item, answer, &fields);
            }
        }
        answers
    }

    fn without_known_fields<'i>(&self, items: &'i [ApplyItem]) -> Cow<'i, [ApplyItem]> {
        let undeclared = self.operator().undeclared.borrow();
        let mut known = Cow::Borrowed(items);
        for (place, item) in items.iter().enumerate() {
            if let Some(sent) = undeclared.sent_for(item)
                && let Some(item) = known.to_mut().get_mut(place)
            {
                item.object = sent.to_string();
            }
        }
        known
    }

    fn tell_undeclared(&self, item: &ApplyItem, answer: &Result<Applied, KubeError>, fields: &[String]) {
        if answer.as_ref().is_ok_and(|applied| applied.change == Change::Unchanged) || answer.is_err() {
            return;
        }
        let object: Value = serde_json::from_str(&item.object).unwrap_or_default();
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let named = fields.get(..MOST_NAMED).unwrap_or(fields).join(", ");
        let more = fields.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "the cluster does not know these fields of {} {}, which are left out: {named}{more}",
            text("/kind"),
            text("/metadata/name")
        );
        self.ctx().publish(&Event::warning("UnknownFields", message));
    }
}

/// The fields that an answer says the cluster does not know; none: it says something else, or something else as well.
fn undeclared(answer: &Result<Applied, KubeError>) -> Option<Vec<String>> {
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
        undeclared(&Err(KubeError::Invalid(ApiStatus { code, reason, message })))
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
