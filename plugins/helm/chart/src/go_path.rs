//! Go's `path` package on slash-separated chart paths: `Clean`, `Base`, `Ext`, `Join`.
//!
//! Rust's `Path` normalises differently (and follows the platform), so the few functions Helm's rules are
//! written in are spelled out here.

/// The shortest path that is lexically equal to `path` (`path.Clean`): no `.`, no inner `..`, no doubled slash.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." => {
                    kept.pop();
                }
                _ if rooted => {}
                _ => kept.push(part),
            },
            _ => kept.push(part),
        }
    }
    let joined = kept.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// The last element of `path` (`path.Base`): `.` for an empty path, `/` for one of slashes only.
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit_once('/').map_or(trimmed, |(_, last)| last)
}

/// What follows the last dot of the last element, dot included (`path.Ext`), or nothing.
pub fn extension(path: &str) -> &str {
    let last = path.rsplit_once('/').map_or(path, |(_, last)| last);
    last.rfind('.').and_then(|dot| last.get(dot..)).unwrap_or("")
}

/// Joins with slashes what is not empty, then cleans (`path.Join`).
pub fn join(parent: &str, child: &str) -> String {
    match (parent.is_empty(), child.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(child),
        (false, true) => clean(parent),
        (false, false) => clean(&format!("{parent}/{child}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_drops_dots_and_resolves_parents() {
        for (path, want) in [
            ("", "."),
            ("a/b", "a/b"),
            ("a//b/", "a/b"),
            ("./a/./b", "a/b"),
            ("a/../b", "b"),
            ("a/../../b", "../b"),
            ("../..", "../.."),
            ("/..", "/"),
            ("/../a", "/a"),
            (".", "."),
        ] {
            assert_eq!(clean(path), want, "{path:?}");
        }
    }

    #[test]
    fn base_is_the_last_element_without_trailing_slashes() {
        for (path, want) in [("", "."), ("/", "/"), ("//", "/"), ("a", "a"), ("a/b", "b"), ("a/b/", "b")] {
            assert_eq!(base(path), want, "{path:?}");
        }
    }

    #[test]
    fn extension_looks_at_the_last_element_only() {
        for (path, want) in
            [("a.tgz", ".tgz"), ("a.tar.gz", ".gz"), ("a.d/b", ""), (".hidden", ".hidden"), ("a.", ".")]
        {
            assert_eq!(extension(path), want, "{path:?}");
        }
    }

    #[test]
    fn join_cleans_and_ignores_empty_parts() {
        for (parent, child, want) in
            [("a", "b", "a/b"), ("", "b", "b"), ("a", "", "a"), ("", "", ""), ("a/b", "../c", "a/c")]
        {
            assert_eq!(join(parent, child), want);
        }
    }
}
