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
        let mut left_out = Vec::new();
        let mut keywords = self.path_to(within).split('/').peekable();
        let (mut depth, mut own) = (self.depth, self.combinator);
        while let Some(keyword) = keywords.next() {
            let text = match keyword {
                ALL_OF => "'allOf' failed",
                ANY_OF => "'anyOf' failed",
                ONE_OF => "'oneOf' failed, none matched",
                _ => "",
            };
            match keyword {
                ALL_OF | ANY_OF | ONE_OF => {
                    keywords.next();
                    if keyword != own {
                        left_out.push(LeftOut { depth, text });
                    }
                }
                "properties" | "patternProperties" => {
                    keywords.next();
                    depth += 1;
                }
                "items" | "prefixItems" => {
                    keywords.next_if(|index| index.bytes().all(|byte| byte.is_ascii_digit()));
                    depth += 1;
                }
                "additionalProperties"
                | "additionalItems"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contains" => depth += 1,
                "dependentSchemas" | "dependencies" => drop(keywords.next()),
                "if" | "then" | "else" | "not" => {}
                _ => break,
            }
            own = "";
        }
        left_out
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
    fn properties_may_have_the_name_of_a_combinator() {
        assert_eq!(left_out("", "file:///x#/a/properties/allOf"), []);
        assert_eq!(left_out("", "file:///elsewhere#/allOf/0"), []);
    }
}
