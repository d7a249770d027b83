//! Comments, and what they belong to: what stands above, beside and below.

use super::Scanner;
use crate::nodes::mark::{Mark, NodeError};
use crate::nodes::token::{Comment, Token, TokenKind};

/// How far go-yaml looks for a comment.
const MAX_LOOK: usize = 512;

impl Scanner<'_> {
    /// Passes blanks, comments and line breaks.
    pub(super) fn scan_to_next_token(&mut self) -> Result<(), NodeError> {
        let scan = self.at.mark();
        loop {
            self.at.require(1)?;
            if self.at.column() == 0 && self.at.at_byte_order_mark() {
                self.at.skip();
            }
            self.at.require(1)?;
            // A tab may not stand where it could pass for indentation.
            while self.at.current() == b' '
                || (self.at.current() == b'\t' && !(self.in_block() && self.simple_key_allowed))
            {
                self.at.skip();
                self.at.require(1)?;
            }
            self.lift_comment_of_dash();
            if self.at.current() == b'#' {
                self.scan_comments(scan)?;
            }
            if !self.at.is_break_at(0) {
                return Ok(());
            }
            self.at.require(2)?;
            self.at.skip_line();
            if self.in_block() {
                self.simple_key_allowed = true;
            }
        }
    }

    /// A comment beside the first dash of a sequence is one above what the dash introduces.
    fn lift_comment_of_dash(&mut self) {
        let Some(before) = self.tokens.len().checked_sub(2) else { return };
        let kind = |at: usize| self.tokens.get(at).map(|token| &token.kind);
        let starts = kind(before) == Some(&TokenKind::BlockSequenceStart)
            && kind(before + 1) == Some(&TokenKind::BlockEntry);
        if !starts || self.at.is_break_at(0) {
            return;
        }
        let place = self.at.mark();
        if let Some(comment) = self.comments.last_mut()
            && !comment.line.is_empty()
        {
            comment.head = std::mem::take(&mut comment.line);
            if comment.start.line == place.line - 1 {
                comment.token = place;
            }
        }
    }

    /// Closes the block collections deeper than `column`. Comments that stand in the column of one of them stay inside.
    pub(super) fn unroll_indent(&mut self, column: isize, scan: Mark) {
        if !self.in_block() {
            return;
        }
        let mut block = Mark { index: scan.index - 1, ..scan };
        while self.indent > column {
            let mut stop = block.index;
            for comment in self.comments.iter().rev() {
                if comment.end.index < stop {
                    break;
                }
                if comment.start.column == self.indent + 1 {
                    block = comment.start;
                }
                stop = comment.scan.index;
            }
            self.tokens.push_back(Token { kind: TokenKind::BlockEnd, start: block });
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// A comment behind a token on its line.
    pub(super) fn scan_line_comment(&mut self, token: Mark) -> Result<(), NodeError> {
        if self.at.newlines > 0 {
            return Ok(());
        }
        let mut blanks = 0;
        while blanks < MAX_LOOK {
            self.at.require(blanks + 1)?;
            if !self.at.is_blank_at(blanks) {
                break;
            }
            blanks += 1;
        }
        if blanks == MAX_LOOK || self.at.peek(blanks) != b'#' {
            return Ok(());
        }
        self.at.skip_all(blanks);
        let (start, mut line) = (self.at.mark(), String::new());
        self.at.read_to_line_end(&mut line)?;
        self.comments.push(Comment { token, start, line, ..Comment::default() });
        Ok(())
    }

    /// Comments that stand on lines of their own.
    fn scan_comments(&mut self, scan: Mark) -> Result<(), NodeError> {
        let Some(search) = CommentSearch::new(self, scan) else { return Ok(()) };
        search.run(self)
    }
}

/// The search for the end of comments, and for the places where one ends and the next one starts.
struct CommentSearch {
    scan: Mark,
    owner: Mark,
    /// Whether the owner is the `:` of a mapping.
    owner_is_value: bool,
    start: Mark,
    text: String,
    next_indent: isize,
    recent_empty: bool,
    first_empty: bool,
    line: isize,
    column: isize,
    /// Where a comment must start to be one below what stands above.
    foot_line: isize,
    /// How many bytes ahead it looks.
    ahead: usize,
}

impl CommentSearch {
    fn new(scanner: &Scanner<'_>, scan: Mark) -> Option<Self> {
        let mut owner = scanner.tokens.back()?;
        if owner.kind == TokenKind::FlowEntry
            && let Some(before) = scanner.tokens.len().checked_sub(2)
        {
            owner = scanner.tokens.get(before)?;
        }
        let place = scanner.at.mark();
        let mut foot_line = -1;
        if scan.line > 0 {
            foot_line = place.line - scanner.at.newlines + 1;
            if scanner.at.newlines == 0 && place.column > 1 {
                foot_line += 1;
            }
        }
        Some(Self {
            scan,
            owner: owner.start,
            owner_is_value: owner.kind == TokenKind::Value,
            start: Mark::default(),
            text: String::new(),
            next_indent: scanner.indent.max(0),
            recent_empty: false,
            first_empty: scanner.at.newlines <= 1,
            line: place.line,
            column: place.column,
            foot_line,
            ahead: 0,
        })
    }

    fn run(mut self, scanner: &mut Scanner<'_>) -> Result<(), NodeError> {
        while self.ahead < MAX_LOOK {
            scanner.at.require(self.ahead + 1)?;
            self.column += 1;
            if scanner.at.is_blank_at(self.ahead) {
                self.ahead += 1;
                continue;
            }
            let byte = scanner.at.peek(self.ahead);
            let closes_flow = !scanner.in_block() && matches!(byte, b']' | b'}');
            if closes_flow || scanner.at.is_breakz_at(self.ahead) {
                self.end_line(scanner, closes_flow);
                if !scanner.at.is_break_at(self.ahead) {
                    break;
                }
                self.first_empty = false;
                self.recent_empty = true;
                self.column = 0;
                self.line += 1;
                self.ahead += 1;
                continue;
            }
            if !self.text.is_empty() && self.column - 1 < self.next_indent && self.column != self.start.column
            {
                self.end_foot(scanner);
            }
            if byte != b'#' {
                break;
            }
            self.take_line(scanner)?;
            self.ahead = 1;
        }
        if !self.text.is_empty() {
            let mut end = self.here(scanner);
            end.index -= 1;
            let (token, head) = (self.start, self.text);
            let comment =
                Comment { scan: self.scan, token, start: self.start, end, head, ..Comment::default() };
            scanner.comments.push(comment);
        }
        Ok(())
    }

    fn here(&self, scanner: &Scanner<'_>) -> Mark {
        let ahead = isize::try_from(self.ahead).unwrap_or(isize::MAX);
        Mark { index: scanner.at.mark().index + ahead, line: self.line, column: self.column }
    }

    /// A line ends, the first one behind a comment or an empty one, or a flow collection does.
    fn end_line(&mut self, scanner: &mut Scanner<'_>, closes_flow: bool) {
        if !closes_flow && self.recent_empty {
            return;
        }
        let dedented = self.start.column - 1 < self.next_indent;
        let below = self.start.line == self.foot_line && !self.owner_is_value;
        if closes_flow || (self.first_empty && (below || dedented)) {
            if !self.text.is_empty() {
                if dedented {
                    // It has nothing to do with the token in front.
                    self.owner = self.start;
                }
                self.end_foot(scanner);
            }
        } else if !self.text.is_empty() && scanner.at.peek(self.ahead) != 0 {
            self.text.push('\n');
        }
    }

    /// What was found so far is below what stands above it.
    fn end_foot(&mut self, scanner: &mut Scanner<'_>) {
        let end = self.here(scanner);
        let foot = std::mem::take(&mut self.text);
        scanner.comments.push(Comment {
            scan: self.scan,
            token: self.owner,
            start: self.start,
            end,
            foot,
            ..Comment::default()
        });
        self.scan = end;
        self.owner = end;
    }

    /// Passes a line of the comment.
    fn take_line(&mut self, scanner: &mut Scanner<'_>) -> Result<(), NodeError> {
        if self.text.is_empty() {
            self.start = self.here(scanner);
        } else {
            self.text.push('\n');
        }
        self.recent_empty = false;
        let seen = scanner.at.mark().index + isize::try_from(self.ahead).unwrap_or(isize::MAX);
        loop {
            scanner.at.require(1)?;
            let reached = scanner.at.mark().index >= seen;
            if scanner.at.is_breakz_at(0) {
                if reached {
                    break;
                }
                scanner.at.require(2)?;
                scanner.at.skip_line();
            } else if reached {
                scanner.at.read(&mut self.text);
            } else {
                scanner.at.skip();
            }
        }
        self.column = 0;
        self.line = scanner.at.line();
        self.next_indent = scanner.indent.max(0);
        Ok(())
    }
}
