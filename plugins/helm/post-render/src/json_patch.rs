//! RFC 6902 as kustomize's library has it: indices may count from the end, and `replace` sets members that are not there.

use serde_json::Value;

/// The operations of a patch, in order.
#[derive(Debug, Clone)]
pub(crate) struct JsonPatch(Vec<Operation>);

#[derive(Debug, Clone)]
enum Operation {
    Add(String, Value),
    Remove(String),
    Replace(String, Value),
    Move(String, String),
    Copy(String, String),
    Test(String, Value),
}

impl JsonPatch {
    pub(crate) fn read(operations: &[Value]) -> Result<Self, String> {
        let read = operations.iter().enumerate().map(|(index, operation)| {
            Operation::read(operation).map_err(|problem| format!("operation {index}: {problem}"))
        });
        Ok(Self(read.collect::<Result<_, _>>()?))
    }

    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), String> {
        self.0.iter().try_for_each(|operation| operation.apply(document))?;
        if document.is_object() { Ok(()) } else { Err("what the patch leaves is no object".to_owned()) }
    }
}

impl Operation {
    fn read(operation: &Value) -> Result<Self, String> {
        let text = |field: &str| match operation.get(field) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("{field} is no text")),
            None => Err(format!("missing {field}")),
        };
        let value = || operation.get("value").cloned().ok_or_else(|| "missing value".to_owned());
        if !operation.is_object() {
            return Err("it is no object".to_owned());
        }
        match text("op")?.as_str() {
            "add" => Ok(Self::Add(text("path")?, value()?)),
            "remove" => Ok(Self::Remove(text("path")?)),
            "replace" => Ok(Self::Replace(text("path")?, value()?)),
            "move" => Ok(Self::Move(text("from")?, text("path")?)),
            "copy" => Ok(Self::Copy(text("from")?, text("path")?)),
            "test" => Ok(Self::Test(text("path")?, value()?)),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn apply(&self, document: &mut Value) -> Result<(), String> {
        match self {
            Self::Add(path, value) => add(document, path, value.clone(), &|path| {
                format!("add operation does not apply: doc is missing path: {path:?}: missing value")
            })
            .map_err(|problem| told(problem, || format!("error in add for path: '{path}'"))),
            Self::Remove(path) => remove(document, path).map(drop),
            Self::Replace(path, value) => replace(document, path, value),
            Self::Move(from, path) => {
                let value = taken(document, from)?;
                add(document, path, value, &|path| destination("move", path))
                    .map_err(|problem| told(problem, || format!("error in move for path: '{path}'")))
            }
            Self::Copy(from, path) => {
                let value = copied(document, from)?;
                add(document, path, value, &|path| destination("copy", path))
                    .map_err(|problem| told(problem, || "error while adding value during copy".to_owned()))
            }
            Self::Test(path, value) => test(document, path, value),
        }
    }
}

/// What went wrong: without a way to the place, or at the place itself.
enum Problem {
    NoWay(String),
    There(String),
}

fn told(problem: Problem, context: impl FnOnce() -> String) -> String {
    match problem {
        Problem::NoWay(text) => text,
        Problem::There(text) => format!("{}: {text}", context()),
    }
}

fn destination(operation: &str, path: &str) -> String {
    format!("{operation} operation does not apply: doc is missing destination path: {path}: missing value")
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The container of the place a path leads to, and the last part of the path.
fn container<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let mut parts: Vec<&str> = path.split('/').skip(1).collect();
    let last = unescaped(parts.pop()?);
    let mut place = document;
    for part in parts {
        place = match place {
            Value::Object(map) => map.get_mut(&unescaped(part))?,
            Value::Array(list) => {
                let index = index(&unescaped(part), list.len()).ok()?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    matches!(place, Value::Object(_) | Value::Array(_)).then_some((place, last))
}

/// The place of an element that is there; negative numbers count from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let number: i64 = key.parse().map_err(|_| format!("strconv.Atoi: parsing {key:?}: invalid syntax"))?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = if number < 0 { number.saturating_add(length) } else { number };
    usize::try_from(place)
        .ok()
        .filter(|_| place < length)
        .ok_or_else(|| format!("Unable to access invalid index: {number}: invalid index referenced"))
}

fn get(container: &Value, key: &str) -> Result<Option<Value>, String> {
    match container {
        Value::Array(list) => Ok(list.get(index(key, list.len())?).cloned()),
        other => Ok(other.get(key).cloned()),
    }
}

fn add(
    document: &mut Value,
    path: &str,
    value: Value,
    no_way: &dyn Fn(&str) -> String,
) -> Result<(), Problem> {
    let (container, key) = container(document, path).ok_or_else(|| Problem::NoWay(no_way(path)))?;
    match container {
        Value::Array(list) if key == "-" => list.push(value),
        Value::Array(list) => {
            if key.parse::<i64>().is_err() {
                let wrong = format!("value was not a proper array index: '{key}'");
                return Err(Problem::There(format!(
                    "{wrong}: strconv.Atoi: parsing {key:?}: invalid syntax"
                )));
            }
            // One place more than there are elements: the one behind the last.
            let place = index(&key, list.len() + 1).map_err(Problem::There)?;
            list.insert(place, value);
        }
        Value::Object(map) => {
            map.insert(key, value);
        }
        _ => return Err(Problem::NoWay(no_way(path))),
    }
    Ok(())
}

fn remove_from(container: &mut Value, key: &str) -> Result<Value, String> {
    match container {
        Value::Array(list) => {
            let place = index(key, list.len())?;
            Ok(list.remove(place))
        }
        Value::Object(map) => map
            .shift_remove(key)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
        _ => Err("missing value".to_owned()),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let Some((container, key)) = container(document, path) else {
        return Err(format!("remove operation does not apply: doc is missing path: {path:?}: missing value"));
    };
    remove_from(container, &key).map_err(|problem| format!("error in remove for path: '{path}': {problem}"))
}

fn replace(document: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    if path.is_empty() {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err("replace operation value must be object or array".to_owned());
        }
        *document = value.clone();
        return Ok(());
    }
    let Some((container, key)) = container(document, path) else {
        return Err(format!("replace operation does not apply: doc is missing path: {path}: missing value"));
    };
    let missing = || format!("replace operation does not apply: doc is missing key: {path}: missing value");
    match container {
        Value::Array(list) => {
            let place = index(&key, list.len()).map_err(|_| missing())?;
            *list.get_mut(place).ok_or_else(missing)? = value.clone();
        }
        Value::Object(map) => {
            map.insert(key, value.clone());
        }
        _ => return Err(missing()),
    }
    Ok(())
}

fn from_path<'a>(
    document: &'a mut Value,
    operation: &str,
    from: &str,
) -> Result<(&'a mut Value, String), String> {
    let none =
        || format!("{operation} operation does not apply: doc is missing from path: {from}: missing value");
    container(document, from).ok_or_else(none)
}

fn taken(document: &mut Value, from: &str) -> Result<Value, String> {
    let (container, key) = from_path(document, "move", from)?;
    remove_from(container, &key).map_err(|problem| format!("error in move for path: '{key}': {problem}"))
}

/// Kustomize copies null from where there is nothing; the RFC wants an error, and so does everybody.
fn copied(document: &mut Value, from: &str) -> Result<Value, String> {
    let (container, key) = from_path(document, "copy", from)?;
    let failed = |problem: String| format!("error in copy for from: '{from}': {problem}");
    get(container, &key).map_err(failed)?.ok_or_else(|| failed("missing value".to_owned()))
}

fn test(document: &mut Value, path: &str, wanted: &Value) -> Result<(), String> {
    let failed = || format!("testing value {path} failed: test failed");
    if path.is_empty() {
        return if same(document, wanted) { Ok(()) } else { Err(failed()) };
    }
    let Some((container, key)) = container(document, path) else {
        return Err(format!("test operation does not apply: is missing path: {path}: missing value"));
    };
    let there =
        get(container, &key).map_err(|problem| format!("error in test for path: '{path}': {problem}"))?;
    if same(&there.unwrap_or(Value::Null), wanted) { Ok(()) } else { Err(failed()) }
}

/// Numbers are equal by value, as the RFC wants it.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}
