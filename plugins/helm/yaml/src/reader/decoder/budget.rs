//! How much of a document may come out of aliases: go-yaml's guard against documents that blow up when they are read.

use crate::reader::failure::Failure;

const SMALL: usize = 400_000;
const LARGE: usize = 4_000_000;

/// Counts the nodes that are decoded, and those of them that stand behind an alias.
#[derive(Debug, Default)]
pub(super) struct Budget {
    decoded: usize,
    aliased: usize,
    alias_depth: usize,
}

impl Budget {
    /// Counts one node.
    ///
    /// # Errors
    ///
    /// When too many of the nodes come out of aliases.
    #[inline]
    pub(super) fn spend(&mut self) -> Result<(), Failure> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.aliased += 1;
        }
        if self.aliased > 100 && self.decoded > 1000 && self.ratio() > allowed_ratio(self.decoded) {
            return Err(Failure::Document("document contains excessive aliasing".to_owned()));
        }
        Ok(())
    }

    pub(super) fn enter_alias(&mut self) {
        self.alias_depth += 1;
    }

    pub(super) fn leave_alias(&mut self) {
        self.alias_depth -= 1;
    }

    #[expect(clippy::cast_precision_loss, reason = "the counts stay far below 2^52")]
    fn ratio(&self) -> f64 {
        self.aliased as f64 / self.decoded as f64
    }
}

/// 99 in 100 for small documents, 1 in 10 for large ones, in between on a straight line.
#[expect(clippy::cast_precision_loss, reason = "the counts stay far below 2^52")]
fn allowed_ratio(decoded: usize) -> f64 {
    if decoded <= SMALL {
        0.99
    } else if decoded >= LARGE {
        0.10
    } else {
        0.99 - 0.89 * ((decoded - SMALL) as f64 / (LARGE - SMALL) as f64)
    }
}
