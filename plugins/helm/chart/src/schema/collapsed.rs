//! Combinators of a schema that the library leaves out of its errors, and Helm's does not.
//!
//! Where one branch of an `allOf`, `anyOf` or `oneOf` fails, boon reports what is wrong in the branch as if there were
//! no combinator around it. That there is one can be seen in where the branch stands in the schema.

use boon::{ErrorKind, ValidationError};

/// What stands around an error.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Where the schema is that the error is found in.
    url: &'a str,
    /// How deep the value is that it checks.
    depth: usize,
    /// The combinator whose branches the errors within are.
    combinator: &'static str,
}

/// A combinator that is not reported: the value it checks, by the depth, and what is to be said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) depth: usize,
    pub(super) text: &'static str,
}

const ALL_OF: &str = "allOf";
const ANY_OF: &str = "anyOf";
const ONE_OF: &str = "oneOf";

impl<'a> Around<'a> {
    /// What is around the causes of an error.
    pub(super) fn causes_of(error: &'a ValidationError<'_, '_>) -> Self {
        let url = match &error.kind {
            ErrorKind::Reference { url, .. } | ErrorKind::Schema { url } => url,
            _ => error.schema_url,
        };
        let combinator = match error.kind {
            ErrorKind::AllOf => ALL_OF,
            ErrorKind::AnyOf => ANY_OF,
            ErrorKind::OneOf(_) => ONE_OF,
            _ => "",
        };
        Self { url, depth: error.instance_location.tokens.len(), combinator }
    }

    /// Where the schema is in its document.
    pub(super) fn pointer(self) -> &'a str {
        self.url.split_once('#').map_or("", |(_, pointer)| pointer)
    }

    /// The keywords from here to a schema within; nothing when it is elsewhere.
    pub(super) fn path_to(self, within: &'a str) -> &'a str {
        within.strip_prefix(self.url).and_then(|path| path.strip_prefix('/')).unwrap_or_default()
    }

    /// The combinators between this and an error within, from the outside.
    pub(super) fn left_out(self, within: &'a str) -> Vec<LeftOut> {
        let steps = self.steps(within).into_iter().enumerate();
        let unsaid = steps.filter(|(at, step)| *at > 0 || step.keyword != self.combinator);
        unsaid.filter_map(|(_, step)| Some(LeftOut { depth: step.from, text: step.text()? })).collect()
    }

    /// Where several errors are found that have one combinator around them together: boon hands on what is in it as if
    /// it were in this error itself. `within` has the schema of each, and how many tokens are the same in the places of
    /// their values.
    pub(super) fn shared(self, within: &[&'a str], tokens: usize) -> Option<Around<'a>> {
        let (first, others) = within.split_first().filter(|(_, others)| !others.is_empty())?;
        let is_shared = |path: &str| {
            let leads_to = |url: &&str| {
                self.path_to(url)
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            others.iter().all(leads_to)
        };
        let path = self.path_to(first);
        let fits = |step: &Step<'_>| step.depth <= tokens && path.get(..step.end).is_some_and(is_shared);
        let shared: Vec<Step<'_>> = self.steps(first).into_iter().take_while(fits).collect();
        let last = shared.last().filter(|_| shared.iter().any(|step| step.text().is_some()))?;
        let url = first.get(..first.len() - path.len() + last.end)?;
        Some(Around { url, depth: last.depth, combinator: "" })
    }

    /// How deep the value is.
    pub(super) fn depth(self) -> usize {
        self.depth
    }

    /// Where the schema is.
    pub(super) fn url(self) -> &'a str {
        self.url
    }

    /// The way to a schema within, from subschema to subschema.
    fn steps(self, within: &'a str) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let path = self.path_to(within);
        let mut keywords = path.split('/').peekable();
        let (mut depth, mut end) = (self.depth, 0);
        while let Some(keyword) = keywords.next() {
            let from = depth;
            let mut length = keyword.len();
            let mut skipped = |name: Option<&str>| length += name.map_or(0, |name| name.len() + 1);
            match keyword {
                ALL_OF | ANY_OF | ONE_OF | "dependentSchemas" | "dependencies" => skipped(keywords.next()),
                "properties" | "patternProperties" => {
                    skipped(keywords.next());
                    depth += 1;
                }
                "items" | "prefixItems" => {
                    skipped(keywords.next_if(|index| index.bytes().all(|byte| byte.is_ascii_digit())));
                    depth += 1;
                }
                "additionalProperties"
                | "additionalItems"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contains" => depth += 1,
                "if" | "then" | "else" | "not" => {}
                _ => break,
            }
            end += length;
            steps.push(Step { keyword, from, depth, end });
            // The slash before the next one.
            end += 1;
        }
        steps
    }
}

/// A keyword on the way to a schema.
struct Step<'a> {
    keyword: &'a str,
    /// How deep the value is that it checks.
    from: usize,
    /// How deep the value is that the schema behind it checks.
    depth: usize,
    /// Where the way to that schema ends.
    end: usize,
}

impl Step<'_> {
    /// What is said of a combinator.
    fn text(&self) -> Option<&'static str> {
        Some(match self.keyword {
            ALL_OF => "'allOf' failed",
            ANY_OF => "'anyOf' failed",
            ONE_OF => "'oneOf' failed, none matched",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(combinator: &'static str, within: &str) -> Vec<(usize, &'static str)> {
        let around = Around { url: "file:///x#/a", depth: 2, combinator };
        around.left_out(within).into_iter().map(|left_out| (left_out.depth, left_out.text)).collect()
    }

    #[test]
    fn a_combinator_is_found_with_the_value_it_checks() {
        assert_eq!(left_out("", "file:///x#/a/allOf/1"), [(2, "'allOf' failed")]);
        assert_eq!(
            left_out("", "file:///x#/a/properties/b/items/oneOf/0/additionalProperties/anyOf/0"),
            [(4, "'oneOf' failed, none matched"), (5, "'anyOf' failed")]
        );
    }

    #[test]
    fn one_that_is_reported_is_not_left_out() {
        assert_eq!(left_out("allOf", "file:///x#/a/allOf/1"), []);
        assert_eq!(left_out("allOf", "file:///x#/a/allOf/1/allOf/0"), [(2, "'allOf' failed")]);
    }

    #[test]
    fn errors_that_share_a_combinator_are_found_in_it_together() {
        let around = Around { url: "file:///x#", depth: 0, combinator: "" };
        let shared = |within: &[&'static str], tokens| {
            around.shared(within, tokens).map(|shared| (shared.pointer(), shared.depth))
        };
        let errors = ["file:///x#/allOf/0/properties/b", "file:///x#/allOf/0/not"];
        assert_eq!(shared(&errors, 0), Some(("/allOf/0", 0)));
        let items = ["file:///x#/allOf/0/items", "file:///x#/allOf/0/items"];
        assert_eq!(shared(&items, 0), Some(("/allOf/0", 0)));
        assert_eq!(shared(&items, 1), Some(("/allOf/0/items", 1)));
        assert_eq!(shared(&["file:///x#/allOf/0", "file:///x#/allOf/1"], 0), None);
        assert_eq!(shared(&["file:///x#/properties/a", "file:///x#/properties/a"], 1), None);
        assert_eq!(shared(&["file:///x#/allOf/0"], 0), None);
    }

    #[test]
    fn properties_may_have_the_name_of_a_combinator() {
        assert_eq!(left_out("", "file:///x#/a/properties/allOf"), []);
        assert_eq!(left_out("", "file:///elsewhere#/allOf/0"), []);
    }
}
