//! What is in the database, as its own client sees it.

use std::fmt;

use anyhow::{Context as _, Result};

use crate::demo::look::Look;

/// How many rows are written.
pub(super) const PLAYERS: usize = 1000;
/// The password of root, with what shells and SQL have a meaning for.
pub(super) const PASSWORD: &str = "a 'quoted' \\ $word";

const FILL: &str = "INSERT INTO player (name, score) SELECT CONCAT('Player ', seq, ' \u{1F3C6}'), seq * 7 FROM seq_1_to_1000";
/// Over names and values, so that neither a row nor a column can be missing or another.
const SUM: &str = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, name, score))) FROM player";

/// How many there are, and a checksum over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rows {
    count: String,
    checksum: String,
}

impl Rows {
    /// Writes them.
    ///
    /// # Errors
    /// What the client said.
    pub(super) fn fill(look: Look<'_>) -> Result<Self> {
        sql(look, FILL)?;
        Self::read(look)
    }

    /// Those that are there.
    ///
    /// # Errors
    /// What the client said, for one that the column is not there.
    pub(super) fn read(look: Look<'_>) -> Result<Self> {
        let said = sql(look, SUM)?;
        let (count, checksum) = said.trim().split_once('\t').with_context(|| format!("{SUM}: {said}"))?;
        Ok(Self { count: count.to_owned(), checksum: checksum.to_owned() })
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows with the checksum {}", self.count, self.checksum)
    }
}

fn sql(look: Look<'_>, statement: &str) -> Result<String> {
    let client = r#"MYSQL_PWD="$MARIADB_ROOT_PASSWORD" exec mariadb --host=127.0.0.1 --user=root --default-character-set=utf8mb4 --batch --skip-column-names --database=shop --execute="$0""#;
    // Behind the dashes everything is the command's.
    let place =
        ["exec", "--namespace", look.namespace, "shop-mariadb-0", "--", "sh", "-c", client, statement];
    look.access.kubectl(&place)
}
