//! Changes in the YAML of people, that leave the rest of it as it is: comments, order, quotes.
//!
//! A change is made twice, in the text and in the value that it stands for. Where the two differ afterwards, the text is of a
//! form that is not understood here (anchors, flow style), and the file is left alone.

mod lines;

use serde_json::{Map, Value};

use super::yaml_text::{self, YamlError};

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key of a mapping.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// A path from the root of a document.
pub type Path = Vec<Step>;

/// A path of keys.
pub fn keys(keys: &[&str]) -> Path {
    keys.iter().map(|&key| Step::Key(key.to_owned())).collect()
}

/// A path with one more key.
pub fn below(path: &[Step], more: &[&str]) -> Path {
    path.iter().cloned().chain(keys(more)).collect()
}

/// A path with an item.
pub fn item(path: &[Step], index: usize) -> Path {
    path.iter().cloned().chain([Step::Item(index)]).collect()
}

/// A text that cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// No YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// Of a form that is not understood.
    #[error("its YAML is written in a form that cannot be changed without rewriting it ({0})")]
    Form(String),
}

/// One document of a file, under change.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it says.
    value: Value,
    text: String,
}

impl Document {
    /// Reads one.
    ///
    /// # Errors
    /// [`EditError::Yaml`].
    pub fn parse(text: &str) -> Result<Self, EditError> {
        Ok(Self { value: yaml_text::read(text)?, text: text.to_owned() })
    }

    /// What it says.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What stands at a path.
    pub fn get(&self, path: &[Step]) -> Option<&Value> {
        path.iter().try_fold(&self.value, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Item(index) => value.get(index),
        })
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts a value at a path of a mapping, and what is missing above it.
    ///
    /// # Errors
    /// [`EditError::Form`]; then nothing changed.
    pub fn set(&mut self, path: &[Step], value: Value) -> Result<(), EditError> {
        let known = (0..path.len()).rev().find(|&end| {
            path.get(..end).and_then(|above| self.get(above)).is_some_and(|found| !is_blank(found))
        });
        let known = known.unwrap_or(0);
        let (above, rest) = path.split_at(known);
        let Some((Step::Key(key), deeper)) = rest.split_first() else { return Err(form(path)) };
        let nested = deeper.iter().rev().try_fold(value, |value, step| match step {
            Step::Key(key) => Ok(Value::Object(Map::from_iter([(key.clone(), value)]))),
            Step::Item(_) => Err(form(path)),
        })?;
        let block = yaml_text::write(&Map::from_iter([(key.clone(), nested.clone())]))?;
        let text = lines::put(&self.text, above, key, &block).ok_or_else(|| form(path))?;
        let mut expected = self.value.clone();
        let target = at(&mut expected, above).ok_or_else(|| form(path))?;
        if target.is_null() {
            *target = Value::Object(Map::new());
        }
        target.as_object_mut().ok_or_else(|| form(path))?.insert(key.clone(), nested);
        self.accept(text, &expected, path)
    }

    /// Takes a key of a mapping or an item of a list away.
    ///
    /// # Errors
    /// [`EditError::Form`]; then nothing changed.
    pub fn remove(&mut self, path: &[Step]) -> Result<(), EditError> {
        let text = lines::remove(&self.text, path).ok_or_else(|| form(path))?;
        let mut expected = self.value.clone();
        let (last, above) = path.split_last().ok_or_else(|| form(path))?;
        let parent = at(&mut expected, above).ok_or_else(|| form(path))?;
        match (parent, last) {
            (Value::Object(map), Step::Key(key)) => {
                map.shift_remove(key);
            }
            (Value::Array(list), Step::Item(index)) if *index < list.len() => {
                list.remove(*index);
            }
            _ => return Err(form(path)),
        }
        self.accept(text, &expected, path)
    }

    /// Appends items to a list, or makes the list. `text` is how they are to be written behind others, with their dashes and
    /// comments; without it they are written as values are.
    ///
    /// # Errors
    /// [`EditError::Form`]; then nothing changed.
    pub fn append(&mut self, path: &[Step], items: Vec<Value>, text: Option<&str>) -> Result<(), EditError> {
        let there = self.get(path).cloned().unwrap_or(Value::Null);
        if there.as_array().is_none_or(Vec::is_empty) {
            if !is_blank(&there) {
                return Err(form(path));
            }
            return self.set(path, Value::Array(items));
        }
        let block = match text {
            Some(text) => text.to_owned(),
            None => yaml_text::write(&items)?,
        };
        let text = lines::append(&self.text, path, &block).ok_or_else(|| form(path))?;
        let mut expected = self.value.clone();
        match at(&mut expected, path) {
            Some(Value::Array(list)) => list.extend(items),
            _ => return Err(form(path)),
        }
        self.accept(text, &expected, path)
    }

    /// Puts a value in the place of an item of a list.
    ///
    /// # Errors
    /// [`EditError::Form`]; then nothing changed.
    pub fn set_item(&mut self, path: &[Step], index: usize, value: Value) -> Result<(), EditError> {
        let path = item(path, index);
        let block = yaml_text::write(&[&value])?;
        let text = lines::replace_item(&self.text, &path, &block).ok_or_else(|| form(&path))?;
        let mut expected = self.value.clone();
        *at(&mut expected, &path).ok_or_else(|| form(&path))? = value;
        self.accept(text, &expected, &path)
    }

    /// Renames a key of the root.
    ///
    /// # Errors
    /// [`EditError::Form`]; then nothing changed.
    pub fn rename(&mut self, old: &str, new: &str) -> Result<(), EditError> {
        let path = keys(&[old]);
        let text = lines::rename(&self.text, old, new).ok_or_else(|| form(&path))?;
        let map = self.value.as_object().ok_or_else(|| form(&path))?;
        let renamed = |(key, value): (&String, &Value)| {
            (if key == old { new.to_owned() } else { key.clone() }, value.clone())
        };
        let expected = Value::Object(map.iter().map(renamed).collect());
        self.accept(text, &expected, &path)
    }

    /// Takes a change that the text and the value agree on.
    fn accept(&mut self, text: String, expected: &Value, path: &[Step]) -> Result<(), EditError> {
        match yaml_text::read(&text) {
            Ok(read) if read == *expected => {
                (self.text, self.value) = (text, read);
                Ok(())
            }
            _ => Err(form(path)),
        }
    }
}

/// The documents of a file, as texts; each but the first begins with its `---`.
pub fn documents(text: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let word = line.trim_end();
        let starts = word == "---" || word.starts_with("--- ");
        if starts && out.last().is_some_and(|text| has_content(text)) {
            out.push(String::new());
        }
        if let Some(last) = out.last_mut() {
            last.push_str(line);
        }
    }
    out
}

fn has_content(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line != "---"
    })
}

/// Inserts lines above a marker of kubebuilder's, `+kubebuilder:scaffold:NAME`, as far to the right as it stands.
pub fn at_marker(text: &str, marker: &str, block: &str) -> Option<String> {
    let wanted = format!("+kubebuilder:scaffold:{marker}");
    let is_marker =
        |line: &str| line.trim().strip_prefix('#').is_some_and(|comment| comment.trim() == wanted);
    let marker_line = text.lines().find(|line| is_marker(line))?;
    let margin = marker_line.len() - marker_line.trim_start().len();
    let mut out = String::with_capacity(text.len() + block.len());
    for line in text.lines() {
        if is_marker(line) {
            out.push_str(&yaml_text::indent(block, margin));
        }
        out.push_str(line);
        out.push('\n');
    }
    Some(out)
}

/// What counts as nothing where something is to be put.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Item(index) => value.get_mut(index),
    })
}

fn form(path: &[Step]) -> EditError {
    let shown = path.iter().map(|step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Item(index) => format!("[{index}]"),
    });
    EditError::Form(shown.collect::<String>().trim_start_matches('.').to_owned())
}

#[cfg(test)]
mod tests;
