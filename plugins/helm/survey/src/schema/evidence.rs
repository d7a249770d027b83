//! What the templates do with values, as far as it makes their types doubtful.

use std::collections::BTreeSet;

use helm_chart::Chart;

use crate::template::actions::{Action, Keyword, TokenKind, actions};

/// Functions that ask for a type: who asks, takes several.
const ASKING: [&str; 8] =
    ["kindIs", "kindOf", "typeIs", "typeOf", "typeIsLike", "isString", "isMap", "isList"];
/// Functions with whose results nothing is written of a truth value itself.
const DECIDING: [&str; 8] = ["if", "and", "or", "not", "ternary", "set", "dict", "empty"];

/// Values of which several types are taken, by key and the key above it.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Their types are asked for.
    asked: BTreeSet<(String, String)>,
    /// They are compared with texts.
    compared: BTreeSet<(String, String)>,
    /// They are written somewhere.
    written: BTreeSet<(String, String)>,
}

impl Evidence {
    /// Reads all templates.
    pub(super) fn of(chart: &Chart) -> Self {
        let mut evidence = Self::default();
        crate::template::scan::each_template(chart, &mut |_, file| {
            for action in actions(&String::from_utf8_lossy(&file.data)) {
                evidence.action(&action);
            }
        });
        evidence
    }

    fn action(&mut self, action: &Action) {
        let word = |wanted: &[&str]| {
            action.tokens.iter().any(|token| match &token.kind {
                TokenKind::Word(word) => wanted.contains(&word.as_str()),
                _ => false,
            })
        };
        let compares = word(&["eq", "ne", "has"])
            && action.tokens.iter().any(|token| matches!(token.kind, TokenKind::Text(_)));
        let asks = word(&ASKING);
        let writes = action.keyword == Keyword::Other && !word(&DECIDING);
        for token in &action.tokens {
            let (TokenKind::Dot(names) | TokenKind::Variable(_, names)) = &token.kind else { continue };
            let [.., key] = names.as_slice() else { continue };
            let above =
                names.len().checked_sub(2).and_then(|at| names.get(at)).filter(|above| *above != "Values");
            let pair = (above.cloned().unwrap_or_default(), key.clone());
            if asks {
                self.asked.insert(pair.clone());
            }
            if compares {
                self.compared.insert(pair.clone());
            }
            if writes {
                self.written.insert(pair);
            }
        }
    }

    /// Whether the chart looks what type a value has.
    pub(super) fn is_asked(&self, path: &[String]) -> bool {
        has(&self.asked, path)
    }

    /// Whether a value is compared with texts, so that it may be one.
    pub(super) fn is_compared(&self, path: &[String]) -> bool {
        has(&self.compared, path)
    }

    /// Whether a value is written somewhere, and not only asked whether it is true.
    pub(super) fn is_written(&self, path: &[String]) -> bool {
        has(&self.written, path)
    }
}

/// Within a `with` the key stands alone.
fn has(pairs: &BTreeSet<(String, String)>, path: &[String]) -> bool {
    let [.., key] = path else { return false };
    let above = path.len().checked_sub(2).and_then(|at| path.get(at)).cloned().unwrap_or_default();
    pairs.contains(&(above, key.clone())) || pairs.contains(&(String::new(), key.clone()))
}
