//! Paths as Go's `path` package reads them (and `filepath`, which is the same where Helm runs).

use helm_template::{Signature, Type, Value};

use crate::register::{Register, TEXT, text};

pub(crate) fn register(all: &mut Register) {
    let map = |all: &mut Register, names: [&'static str; 2], change: fn(&str) -> String| {
        for name in names {
            all.add(name, TEXT, move |args| Ok(through_text(text(args, 0), change)));
        }
    };
    map(all, ["base", "osBase"], base);
    map(all, ["dir", "osDir"], dir);
    map(all, ["clean", "osClean"], clean);
    map(all, ["ext", "osExt"], ext);
    for name in ["isAbs", "osIsAbs"] {
        all.add(name, Signature::new(&[Type::String], Type::Bool), |args| {
            Ok(Value::Bool(text(args, 0).starts_with(b"/")))
        });
    }
}

/// Paths are bytes, and what matters in them is ASCII: bytes that are no text pass as characters of their numbers.
fn through_text(path: &[u8], change: fn(&str) -> String) -> Value {
    match std::str::from_utf8(path) {
        Ok(text) => Value::from(change(text)),
        Err(_) => {
            let widened: String = path.iter().map(|byte| char::from(*byte)).collect();
            let bytes: Vec<u8> =
                change(&widened).chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect();
            Value::String(bytes.into())
        }
    }
}

/// `path.Base`.
fn base(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let trimmed = path.trim_end_matches('/');
    let name = trimmed.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { "/".to_owned() } else { name.to_owned() }
}

/// `path.Dir`.
fn dir(path: &str) -> String {
    let directory = path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default();
    clean(directory)
}

/// `path.Clean`.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// `path.Ext`.
fn ext(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, cleaned) in
            [("a//b/./c/..", "a/b"), ("/../a", "/a"), ("../../x", "../../x"), ("", "."), ("/", "/")]
        {
            assert_eq!(clean(path), cleaned, "{path}");
        }
        assert_eq!((base("/a/b/"), base("/"), base("")), ("b".into(), "/".into(), ".".into()));
        assert_eq!((dir("/a/b"), dir("a"), ext("x/y.tar.gz")), ("/a".into(), ".".into(), ".gz".into()));
    }
}
