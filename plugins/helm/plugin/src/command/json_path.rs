//! `show values --jsonpath`: the templates of `kubectl -o jsonpath` (k8s.io/client-go/util/jsonpath).

mod evaluate;
mod parse;

/// A number of an index or a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bound {
    value: i64,
    is_known: bool,
    /// Not written, but one more than the first.
    is_derived: bool,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    List(Vec<Node>),
    Text(String),
    Field(String),
    Array([Bound; 3]),
    Filter { left: Vec<Node>, operator: String, right: Vec<Node> },
    Int(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
    Identifier(String),
}

/// A template that was read.
#[derive(Debug)]
pub(super) struct Template(Vec<Node>);

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// In client-go's words.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parse::template(text).map(Self)
    }

    /// What it prints of a value. Errors are nobody's affair in Helm: what was printed until then stays.
    pub(super) fn print(&self, value: &helm_template::Value) -> Vec<u8> {
        evaluate::print(&self.0, value)
    }
}

#[cfg(test)]
mod tests;
