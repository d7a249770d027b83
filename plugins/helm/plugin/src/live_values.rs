//! Values of a live object in place of the chart's, at the paths that are left alone.

use serde_json::Value;

use crate::decorate::{MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE};

/// Gives an object the live values at these JSON pointers: what differs there is taken from the live object, and what is not
/// there any more although the object had it `before` is taken away. What only the live object has stays others'.
pub(crate) fn keep<'p>(
    object: &mut Value,
    live: &Value,
    before: &Value,
    paths: impl Iterator<Item = &'p str>,
) {
    // `stringData` becomes `data`: no live object has it.
    let paths: Vec<&str> = paths.filter(|path| !path.starts_with("/stringData")).collect();
    let mut gone = Vec::new();
    for path in paths {
        let (theirs, known) = (counterpart(object, live, path), counterpart(object, before, path));
        let Some(ours) = object.pointer_mut(path) else { continue };
        match theirs {
            theirs if is_table(path) && ours.is_object() => keep_entries(ours, theirs, known),
            Some(theirs) => ours.clone_from(theirs),
            None if known.is_some() => gone.push(path),
            None => {}
        }
    }
    // From the end of each list, so that the elements before keep their places.
    gone.sort_by_key(|path| std::cmp::Reverse(segments(path)));
    for path in gone {
        remove(object, live, path);
    }
}

/// Tables of which each entry has an owner of its own, so that nobody becomes the owner of others' entries.
fn is_table(path: &str) -> bool {
    ["/metadata/labels", "/metadata/annotations"].iter().any(|table| path.ends_with(table))
        || ["/data", "/binaryData"].contains(&path)
}

fn keep_entries(ours: &mut Value, theirs: Option<&Value>, before: Option<&Value>) {
    let Value::Object(ours) = ours else { return };
    // Whose the object is has to stand there.
    let is_mark = |name: &str| [MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE].contains(&name);
    let live = |name: &str| theirs.and_then(|theirs| theirs.get(name));
    let is_new = |name: &str| before.and_then(|before| before.get(name)).is_none();
    ours.retain(|name, _| is_mark(name) || live(name).is_some() || is_new(name));
    for (name, value) in ours.iter_mut().filter(|(name, _)| !is_mark(name)) {
        if let Some(live) = live(name) {
            value.clone_from(live);
        }
    }
}

/// What of the live object stands for a place of ours. Elements with names are found by them: others may stand before them.
fn counterpart<'l>(object: &Value, live: &'l Value, path: &str) -> Option<&'l Value> {
    let (mut ours, mut theirs) = (object, live);
    for segment in path.split('/').skip(1) {
        let name = unescaped(segment);
        (ours, theirs) = match (ours, theirs) {
            (Value::Array(ours), Value::Array(theirs)) => {
                let at: usize = name.parse().ok()?;
                let ours = ours.get(at)?;
                let theirs = match ours.get("name").and_then(Value::as_str) {
                    Some(name) => theirs.iter().find(|other| other["name"] == name)?,
                    None => theirs.get(at)?,
                };
                (ours, theirs)
            }
            (ours, theirs) => (ours.get(&name)?, theirs.get(&name)?),
        };
    }
    Some(theirs)
}

fn remove(object: &mut Value, live: &Value, path: &str) {
    let Some((parent, last)) = path.rsplit_once('/') else { return };
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.shift_remove(&unescaped(last))),
        Some(Value::Array(list)) => {
            if let Some(at) = last.parse().ok().filter(|at| *at < list.len()) {
                list.remove(at);
            }
        }
        _ => {}
    }
    let is_empty = object.pointer(parent).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
    if is_empty && live.pointer(parent).is_none() {
        remove(object, live, parent);
    }
}

fn segments(path: &str) -> Vec<(Option<usize>, &str)> {
    path.split('/').map(|segment| (segment.parse().ok(), segment)).collect()
}

fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kept(ours: &Value, live: &Value, paths: &[&str]) -> Value {
        let mut object = ours.clone();
        keep(&mut object, live, ours, paths.iter().copied());
        object
    }

    #[test]
    fn what_differs_is_taken_and_what_is_gone_is_left_out() {
        let ours = json!({"spec": {"a": 1, "b": {"c": 2}, "d": 3}});
        assert_eq!(kept(&ours, &json!({"spec": {"a": 5, "d": 3}}), &["/spec/a"])["spec"]["a"], 5);
        let live = json!({"spec": {"a": 1, "e": 9}});
        assert_eq!(kept(&ours, &live, &["/spec/b/c", "/spec/d", "/spec/e"]), json!({"spec": {"a": 1}}));
        let live = json!({"spec": {"a": 1, "b": {}, "d": 3}});
        assert_eq!(kept(&ours, &live, &["/spec/b/c"])["spec"]["b"], json!({}), "a table that is there stays");
    }

    #[test]
    fn what_is_new_is_as_the_chart_has_it() {
        let ours = json!({"spec": {"a": 1, "b": 2}, "metadata": {"labels": {"a": "1", "b": "2"}}});
        let before = json!({"spec": {"a": 1}, "metadata": {"labels": {"a": "1"}}});
        let mut object = ours.clone();
        let paths = ["/spec/a", "/spec/b", "/metadata/labels"];
        keep(&mut object, &json!({"spec": {}, "metadata": {}}), &before, paths.into_iter());
        assert_eq!(object, json!({"spec": {"b": 2}, "metadata": {"labels": {"b": "2"}}}));
    }

    #[test]
    fn elements_keep_their_places_and_are_found_by_name() {
        let list =
            |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({"name": name})).collect() };
        let ours = json!({"l": list(&["a", "b", "c", "d"])});
        let live = json!({"l": list(&["x", "a", "d"])});
        assert_eq!(kept(&ours, &live, &["/l/1", "/l/2"]), json!({"l": list(&["a", "d"])}));
        let ours = json!({"l": [{"name": "a", "image": "1"}]});
        let live = json!({"l": [{"name": "x", "image": "9"}, {"name": "a", "image": "2"}]});
        assert_eq!(kept(&ours, &live, &["/l/0/image"])["l"][0]["image"], "2");
        assert_eq!(kept(&json!({"l": [1, 2, 3]}), &json!({"l": [1]}), &["/l/1", "/l/2"]), json!({"l": [1]}));
        let many: Vec<u32> = (0..12).collect();
        let two = kept(
            &json!({"l": many}),
            &json!({"l": [0, 1, 2, 3, 4, 5, 6, 7, 8]}),
            &["/l/9", "/l/10", "/l/11"],
        );
        assert_eq!(two["l"].as_array().unwrap().len(), 9);
    }

    #[test]
    fn of_a_table_only_our_entries_are_kept_and_marks_as_they_are() {
        let ours = json!({"metadata": {"annotations": {"a": "1", "b": "2", RELEASE_NAME: "web"}}});
        let live = json!({"metadata": {"annotations": {"a": "5", "else": "x", RELEASE_NAME: "other"}}});
        assert_eq!(
            kept(&ours, &live, &["/metadata/annotations"]),
            json!({"metadata": {"annotations": {"a": "5", RELEASE_NAME: "web"}}})
        );
        assert_eq!(
            kept(&ours, &json!({"metadata": {}}), &["/metadata/annotations"]),
            json!({"metadata": {"annotations": {RELEASE_NAME: "web"}}})
        );
    }

    #[test]
    fn names_with_slashes_are_meant_by_their_pointer() {
        let ours = json!({"metadata": {"annotations": {"a/b": "1", "c": "2"}}});
        let live = json!({"metadata": {"annotations": {"c": "2"}}});
        assert_eq!(
            kept(&ours, &live, &["/metadata/annotations/a~1b"])["metadata"]["annotations"],
            json!({"c": "2"})
        );
    }

    #[test]
    fn string_data_of_a_secret_is_as_the_chart_has_it() {
        let ours = json!({"stringData": {"a": "b"}});
        assert_eq!(kept(&ours, &json!({"data": {"a": "Yg=="}}), &["/stringData/a"]), ours);
    }
}
