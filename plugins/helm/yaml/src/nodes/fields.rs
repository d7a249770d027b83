//! Fields of mappings, as kyaml finds, makes and takes them away (`fns.go`).

use super::objects::ObjectError;
use super::token::ScalarStyle;
use super::tree::{Kind, Node, NodeId, STR, Tree};

type Found = Result<Option<NodeId>, ObjectError>;

impl Tree {
    /// The value of a field; `None` also for nodes that are no mappings.
    pub(super) fn field(&self, id: NodeId, name: &str) -> Option<NodeId> {
        let node = self.get(id)?;
        (node.kind == Kind::Mapping).then(|| self.first_value(id, name)).flatten()
    }

    fn first_value(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.pairs(id).find(|(key, _)| self.value(*key) == name).map(|(_, value)| value)
    }

    /// The text of a node, without that of null.
    pub(super) fn text(&self, id: NodeId) -> &str {
        match self.get(id) {
            Some(node) if !node.is_null() => &node.value,
            _ => "",
        }
    }

    /// Whether there is nothing in a node: null, or an empty collection.
    pub(super) fn is_empty(&self, id: NodeId) -> bool {
        let Some(node) = self.get(id) else { return true };
        let collection = matches!(node.kind, Kind::Mapping | Kind::Sequence);
        node.is_null() || (collection && node.content.is_empty())
    }

    /// The value of a field of a mapping; null has none.
    ///
    /// # Errors
    /// When the node is something else.
    pub(super) fn match_field(&self, id: NodeId, name: &str) -> Found {
        if self.get(id).is_none_or(Node::is_null) {
            return Ok(None);
        }
        self.check_mapping(id)?;
        Ok(self.first_value(id, name))
    }

    /// The value of a field of a mapping, which is made where there is none.
    ///
    /// # Errors
    /// When the node is something else.
    pub(super) fn match_or_make_mapping(&mut self, id: NodeId, name: &str) -> Found {
        if self.get(id).is_none_or(Node::is_null) {
            return Ok(None);
        }
        if let Some(found) = self.match_field(id, name)? {
            return Ok(Some(found));
        }
        Ok(Some(self.push_pair(id, name, Node::new(Kind::Mapping))))
    }

    /// Sets a field to a text. One that is there keeps its style, and nothing else.
    ///
    /// # Errors
    /// When the node is no mapping.
    pub(super) fn set_text(&mut self, id: NodeId, name: &str, text: &str) -> Result<(), ObjectError> {
        let mut value = Node { tag: STR.to_owned(), ..Node::text(text) };
        value.style.scalar = ScalarStyle::SingleQuoted;
        match self.match_field(id, name)? {
            Some(found) => {
                if let Some(node) = self.get_mut(found) {
                    value.style = node.style;
                    *node = value;
                }
            }
            None => {
                self.push_pair(id, name, value);
            }
        }
        Ok(())
    }

    fn push_pair(&mut self, id: NodeId, name: &str, value: Node) -> NodeId {
        let (key, value) = (self.add(Node::text(name)), self.add(value));
        if let Some(node) = self.get_mut(id) {
            node.content.extend([key, value]);
        }
        value
    }

    /// Takes a field away; with `if_empty` the first one that has no items.
    ///
    /// # Errors
    /// When the node is neither a mapping nor null.
    pub(super) fn clear_field(&mut self, id: NodeId, name: &str, if_empty: bool) -> Result<(), ObjectError> {
        self.check_mapping(id)?;
        let unwanted = |(key, value): &(NodeId, NodeId)| {
            self.value(*key) == name && (!if_empty || self.content(*value).is_empty())
        };
        let found = self.pairs(id).position(|pair| unwanted(&pair));
        if let Some(at) = found {
            self.remove_pair(id, at * 2);
        }
        Ok(())
    }

    fn check_mapping(&self, id: NodeId) -> Result<(), ObjectError> {
        match self.get(id) {
            Some(node) if node.kind != Kind::Mapping && !node.is_null() => {
                let contents = super::objects::text_of(self, id);
                Err(ObjectError::Kind { found: node.kind.name(), contents })
            }
            _ => Ok(()),
        }
    }
}
