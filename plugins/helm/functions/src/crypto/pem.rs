//! PEM blocks as `encoding/pem` reads and writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::encoding::base::decode_base64;

/// A block: what its first line names, and its content.
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) content: Vec<u8>,
}

/// `pem.Encode`: lines of 64 characters.
pub(super) fn encode(kind: &str, content: &[u8]) -> String {
    let encoded = STANDARD.encode(content);
    let mut out = format!("-----BEGIN {kind}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}

/// `pem.Decode`: the first block that is whole, wherever it begins.
pub(super) fn decode(source: &str) -> Option<Block> {
    let mut rest = source;
    loop {
        let start = if rest.starts_with("-----BEGIN ") { 0 } else { rest.find("\n-----BEGIN ")? + 1 };
        rest = rest.get(start + 11..)?;
        if let Some(block) = block(rest) {
            return Some(block);
        }
    }
}

/// What follows `-----BEGIN `.
fn block(source: &str) -> Option<Block> {
    let (line, body) = source.split_once('\n')?;
    let kind = line.trim_end_matches([' ', '\t', '\r']).strip_suffix("-----")?;
    let end = format!("-----END {kind}-----");
    let at = if body.starts_with(&end) { 0 } else { body.find(&format!("\n{end}"))? + 1 };
    let (body, after) = body.split_at_checked(at)?;
    let after = after.strip_prefix(&*end)?;
    let tail = after.split('\n').next().unwrap_or_default();
    if !tail.trim_matches([' ', '\t', '\r']).is_empty() {
        return None;
    }
    // Headers are lines with a colon in front.
    let body: String = body.lines().skip_while(|line| line.contains(':')).collect();
    let body: String = body.chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
    Some(Block { kind: kind.to_owned(), content: decode_base64(body.as_bytes()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_within_other_text() {
        let text = format!("noise\n{}more", encode("X KEY", &[7; 60]));
        let block = decode(&text).unwrap();
        assert_eq!((block.kind.as_str(), block.content), ("X KEY", vec![7; 60]));
        for wrong in
            ["", "-----BEGIN A-----\n", "-----BEGIN A-----\n!\n-----END A-----\n", "x-----BEGIN A-----"]
        {
            assert!(decode(wrong).is_none(), "{wrong}");
        }
    }
}
