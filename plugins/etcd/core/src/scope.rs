//! Which objects an operator is responsible for.

use std::collections::BTreeMap;

use etcd_api::names::{SCOPE_ANNOTATION, SCOPE_CLUSTER_WIDE};

/// Is an operator responsible for an object with these annotations? One for all namespaces only for objects that ask for it,
/// any other only for the rest: so both can run side by side, and never fight over one object.
pub fn is_responsible(cluster_wide: bool, annotations: &BTreeMap<String, String>) -> bool {
    let asked = annotations.get(SCOPE_ANNOTATION).is_some_and(|scope| scope == SCOPE_CLUSTER_WIDE);
    asked == cluster_wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_belongs_to_one_of_two_operators() {
        let plain = BTreeMap::new();
        let wide = BTreeMap::from([(SCOPE_ANNOTATION.to_owned(), SCOPE_CLUSTER_WIDE.to_owned())]);
        let other = BTreeMap::from([(SCOPE_ANNOTATION.to_owned(), "somewhere".to_owned())]);
        assert!(is_responsible(true, &wide) && !is_responsible(false, &wide));
        assert!(!is_responsible(true, &plain) && is_responsible(false, &plain));
        assert!(!is_responsible(true, &other) && is_responsible(false, &other));
    }
}
