//! What comments say about values: above a key, behind it, as helm-docs (`# -- text`, `# path -- text`) and as the generator
//! of Bitnami's readmes (`## @param path text`) write it.

use std::collections::HashMap;

/// Longer descriptions are cut.
const MOST_CHARS: usize = 400;

/// Descriptions of values by their paths.
#[derive(Debug, Default)]
pub(super) struct Comments(HashMap<Vec<String>, String>);

impl Comments {
    /// Reads a values file line by line. What is written in braces has no comments of its own.
    pub(super) fn read(text: &str) -> Self {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line.trim_end());
        }
        let Reader { mut found, named, .. } = reader;
        // Who names the path means it.
        found.extend(named);
        found.retain(|_, text| !text.is_empty());
        Self(found)
    }

    /// What is said about a value.
    pub(super) fn get(&self, path: &[String]) -> &str {
        self.0.get(path).map(String::as_str).unwrap_or_default()
    }
}

#[derive(Default)]
struct Reader {
    found: HashMap<Vec<String>, String>,
    named: HashMap<Vec<String>, String>,
    /// The keys that the next line may be below, with their columns.
    open: Vec<(usize, String)>,
    /// The comment lines just above, without their marks.
    above: Vec<String>,
    /// The text of a block scalar is deeper than this.
    within: Option<usize>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let content = line.trim_start();
        let column = line.len() - content.len();
        if let Some(outer) = self.within {
            if content.is_empty() || column > outer {
                return;
            }
            self.within = None;
        }
        if let Some(comment) = content.strip_prefix('#') {
            self.comment(comment.trim_start_matches('#'));
        } else if content.is_empty() {
            self.above.clear();
        } else if let Some((key, value)) = key(content) {
            self.key(column, key, value);
        } else {
            self.above.clear();
        }
    }

    fn comment(&mut self, comment: &str) {
        let text = comment.trim();
        if let Some(param) = text.strip_prefix("@param ") {
            let (path, rest) = param.trim().split_once(char::is_whitespace).unwrap_or((param, ""));
            let rest = rest.trim();
            let said = match rest.strip_prefix('[') {
                Some(_) => rest.split_once(']').map_or("", |(_, said)| said.trim()),
                None => rest,
            };
            self.named.insert(path.split('.').map(str::to_owned).collect(), shortened(said));
        } else if text.starts_with('@') {
            // Other remarks to generators.
        } else if let Some(said) = text.strip_prefix("-- ") {
            self.above = vec![format!("-- {said}")];
        } else if let Some((path, said)) = text.split_once(" -- ").filter(|(path, _)| is_path(path)) {
            self.named.insert(path.split('.').map(str::to_owned).collect(), shortened(said.trim()));
        } else {
            self.above.push(text.to_owned());
        }
    }

    fn key(&mut self, column: usize, key: String, value: &str) {
        while self.open.last().is_some_and(|(outer, _)| *outer >= column) {
            self.open.pop();
        }
        self.open.push((column, key));
        let above = std::mem::take(&mut self.above);
        let said = sentence(&above);
        let behind = value.split_once(" #").map(|(_, comment)| comment.trim()).unwrap_or_default();
        let said = if said.is_empty() { shortened(behind) } else { said };
        self.found.insert(self.open.iter().map(|(_, key)| key.clone()).collect(), said);
        let value = value.split(" #").next().unwrap_or_default().trim();
        if value.starts_with(['|', '>']) {
            self.within = Some(column);
        }
    }
}

/// A key and the rest of its line.
fn key(content: &str) -> Option<(String, &str)> {
    if content.starts_with("- ") || content == "-" {
        return None;
    }
    let (key, value) = match content.strip_prefix(['"', '\'']) {
        Some(rest) => {
            let (key, after) = rest.split_once(['"', '\''])?;
            (key, after.strip_prefix(':')?)
        }
        None => content.split_once(':')?,
    };
    let plain = !key.is_empty() && !key.contains([' ', '{', '[', '#']);
    (plain && (value.is_empty() || value.starts_with(' '))).then(|| (key.to_owned(), value))
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Comment lines as a sentence: from helm-docs' mark on, and up to where values are only commented out.
fn sentence(lines: &[String]) -> String {
    let said = lines.iter().map(|line| line.strip_prefix("-- ").unwrap_or(line));
    let said = said.take_while(|line| !is_value(line)).filter(|line| !is_ruler(line));
    // helm-docs may say the type first.
    let text = said.collect::<Vec<_>>().join(" ");
    let text = text.trim();
    let text = match text.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((kind, rest)) if kind.len() < 16 && !kind.contains(' ') => rest,
        _ => text,
    };
    shortened(text)
}

/// Whether a line is a value that somebody took out.
fn is_value(line: &str) -> bool {
    line.starts_with("- ")
        || key(line)
            .is_some_and(|(key, _)| !matches!(&*key, "ref" | "Ref" | "NOTE" | "Note" | "https" | "http"))
}

fn is_ruler(line: &str) -> bool {
    !line.chars().any(char::is_alphanumeric)
}

/// At most so many characters, on one line.
pub(super) fn shortened(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = words.char_indices().nth(MOST_CHARS) {
        words.truncate(at);
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, path: &str) -> String {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        Comments::read(text).get(&path).to_owned()
    }

    #[test]
    fn comments_above_and_behind_keys_describe_them() {
        let text =
            "# How many\n# pods.\nreplicas: 1\nimage:\n  # -- (string) The tag\n  tag: x\n  pull: y # when\n";
        assert_eq!(said(text, "replicas"), "How many pods.");
        assert_eq!(said(text, "image.tag"), "The tag");
        assert_eq!((said(text, "image.pull"), said(text, "image")), ("when".into(), String::new()));
    }

    #[test]
    fn paths_in_comments_are_believed() {
        let text = "## @param image.tag [string, nullable] The tag\n## @section Other\nimage:\n  tag: 1 # no\n# a.b -- The b\na: {b: 1}\n";
        assert_eq!((said(text, "image.tag"), said(text, "a.b")), ("The tag".into(), "The b".into()));
    }

    #[test]
    fn values_that_were_taken_out_and_texts_are_no_comments() {
        let text = "# Limits.\n# limits:\n#   cpu: 1\nresources: {}\nscript: |\n  # not this\n  key: 1\n# ----\nafter: 1\n\n# far\n\nx: 1\n";
        assert_eq!(said(text, "resources"), "Limits.");
        assert_eq!((said(text, "script.key"), said(text, "after"), said(text, "x")), Default::default());
    }

    #[test]
    fn long_comments_are_cut() {
        let text = format!("# {}\na: 1\n", "word ".repeat(200));
        assert_eq!(said(&text, "a").chars().count(), MOST_CHARS + 1);
    }
}
