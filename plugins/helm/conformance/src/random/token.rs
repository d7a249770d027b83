//! A line cut into what may be random and what stands between.

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A hash of bcrypt.
    Bcrypt(&'a str),
    /// A UUID.
    Uuid(&'a str),
    /// Letters, digits and what else base64 consists of.
    Word(&'a str),
    /// Anything else.
    Between(&'a str),
}

impl<'a> Token<'a> {
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Bcrypt(text) | Self::Uuid(text) | Self::Word(text) | Self::Between(text) => text,
        }
    }
}

const BCRYPT_LENGTH: usize = 60;
const UUID_LENGTH: usize = 36;

/// Cuts a line; the parts together are the line.
pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut rest) = (Vec::new(), line);
    while let Some(first) = rest.chars().next() {
        let (token, length) = if let Some(hash) = bcrypt(rest) {
            (Token::Bcrypt(hash), hash.len())
        } else if let Some(uuid) = uuid(rest) {
            (Token::Uuid(uuid), uuid.len())
        } else if of_word(first) {
            let word = word(rest);
            (Token::Word(word), word.len())
        } else {
            let between = between(rest);
            (Token::Between(between), between.len())
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

fn of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '/')
}

fn bcrypt(text: &str) -> Option<&str> {
    let hash = text.get(..BCRYPT_LENGTH)?;
    let of_hash = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/');
    let [b'$', b'2', b'a' | b'b' | b'y', b'$', ten, one, b'$', rest @ ..] = hash.as_bytes() else {
        return None;
    };
    let fits =
        ten.is_ascii_digit() && one.is_ascii_digit() && rest.iter().all(|byte| of_hash(char::from(*byte)));
    fits.then_some(hash)
}

fn uuid(text: &str) -> Option<&str> {
    let uuid = text.get(..UUID_LENGTH)?;
    let fits = uuid.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    });
    fits.then_some(uuid)
}

/// A run of word characters, with the `=` that complete base64.
fn word(text: &str) -> &str {
    let end = text.find(|c| !of_word(c)).unwrap_or(text.len());
    let padding = text.get(end..).unwrap_or_default().bytes().take_while(|byte| *byte == b'=').count();
    let whole = if padding <= 2 && (end + padding) % 4 == 0 { end + padding } else { end };
    text.get(..whole).unwrap_or(text)
}

/// Up to where a word or a hash may begin.
fn between(text: &str) -> &str {
    let begins = |(at, c): (usize, char)| {
        let hash = c == '$' && text.get(at..).is_some_and(|rest| bcrypt(rest).is_some());
        (at > 0 && (hash || of_word(c))).then_some(at)
    };
    let end = text.char_indices().find_map(begins).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_into_words_and_what_stands_between() {
        assert_eq!(
            tokens("  key: \"YWJjZA==\" # é"),
            [
                Token::Between("  "),
                Token::Word("key"),
                Token::Between(": \""),
                Token::Word("YWJjZA=="),
                Token::Between("\" # é"),
            ]
        );
    }

    #[test]
    fn hashes_and_uuids_are_one_part_each() {
        let hash = "$2a$10$obIHpJX9wugqJs2ark/KteQbMvZwtkLek.c33DedknnUTRd2VC4um";
        let line = format!("job: {hash}, 884609ad-39de-4158-8c10-999bc8670ede");
        assert_eq!(tokens(&line)[2], Token::Bcrypt(hash));
        assert_eq!(tokens(&line)[4], Token::Uuid("884609ad-39de-4158-8c10-999bc8670ede"));
    }

    #[test]
    fn an_equals_sign_that_completes_no_base64_stands_between() {
        assert_eq!(tokens("ab=c"), [Token::Word("ab"), Token::Between("="), Token::Word("c")]);
    }

    #[test]
    fn no_character_is_lost() {
        for line in ["", "$2a$", "é$x=/==", "a--b $$2b$10$zz"] {
            let text: String = tokens(line).iter().map(Token::text).collect();
            assert_eq!(text, line);
        }
    }
}
