//! The comparison of renderings in which something is random.
//!
//! Nobody says where: our renderer is asked several times, and what is the same in all of its answers has to be the
//! same, to the byte, in helm's. Where its answers differ, helm's has to be of the same kind: a word of the same length
//! and alphabet, a UUID, a hash, a key, a certificate, or base64 of one of them, into which is looked. A value that
//! occurs several times has to do so in helm's rendering, in the same places; one that occurs in two renderings was not
//! random at all.

mod alphabet;
mod certificate;
mod keys;
mod pem;
mod proof;
mod token;
mod words;

use crate::compare::{Difference, Outcome, Verdict, compare, differing, first_difference};
use base64::{Engine, engine::general_purpose::STANDARD};
use proof::Proof;
use token::{Token, tokens};
use words::Words;

/// How often a random case has to be rendered: seldom enough to be quick, often enough that what stays the same by
/// chance (a digit, with a probability of 10⁻⁵) is next to nothing.
pub const SAMPLES: usize = 6;

/// What was generated in a case, and has been verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generated {
    /// Passwords, parts of names, checksums.
    pub words: usize,
    /// Random bytes in base64.
    pub bytes: usize,
    /// UUIDs.
    pub uuids: usize,
    /// Hashes of bcrypt that verify a password that the values name.
    pub hashes_verified: usize,
    /// Hashes of bcrypt of an unknown password.
    pub hashes: usize,
    /// Private keys.
    pub keys: usize,
    /// Certificates.
    pub certificates: usize,
}

impl Generated {
    /// What several cases generated, in a sentence.
    pub fn told<'a>(all: impl IntoIterator<Item = &'a Self>) -> String {
        let mut sum = Self::default();
        for one in all {
            sum.words += one.words;
            sum.bytes += one.bytes;
            sum.uuids += one.uuids;
            sum.hashes_verified += one.hashes_verified;
            sum.hashes += one.hashes;
            sum.keys += one.keys;
            sum.certificates += one.certificates;
        }
        format!(
            "generated and verified: {} words, {} random bytes, {} UUIDs, {} hashes ({} of a known password), {} keys, \
             {} certificates",
            sum.words,
            sum.bytes,
            sum.uuids,
            sum.hashes + sum.hashes_verified,
            sum.hashes_verified,
            sum.keys,
            sum.certificates,
        )
    }
}

/// Compares a random case; `ours` are several renderings of it, `passwords` what may have been hashed.
#[must_use]
pub fn compare_random(theirs: &str, ours: &[Outcome], passwords: &[String]) -> (Verdict, Generated) {
    let mut texts = vec![theirs];
    for outcome in ours {
        match outcome {
            Outcome::Rendered(text) => texts.push(text),
            Outcome::Failed(_) => return (compare(theirs, false, outcome), Generated::default()),
        }
    }
    let mut comparison = Comparison { passwords, words: Words::new(texts.len()), ..Comparison::default() };
    let result = match texts.len() {
        0..=2 => Err(whole("one rendering does not show what is random")),
        _ => comparison.text(&texts, false).and_then(|()| comparison.proof.check(&mut comparison.generated)),
    };
    match result.and_then(|()| comparison.words.check()) {
        Ok(()) => (Verdict::Identical, comparison.generated),
        Err(difference) => (Verdict::Different(difference), comparison.generated),
    }
}

type Result<T> = std::result::Result<T, Difference>;

fn whole(why: impl Into<String>) -> Difference {
    Difference { line: None, why: why.into() }
}

/// The same place in all renderings: helm's, then ours.
type Place<'a> = [&'a str];

#[derive(Default)]
struct Comparison<'a> {
    passwords: &'a [String],
    words: Words,
    proof: Proof,
    generated: Generated,
}

/// Whether this is the same in all of our renderings; then whether it is what helm wrote.
fn settled(place: &Place<'_>) -> Option<bool> {
    let (theirs, ours) = place.split_first()?;
    let first = ours.first()?;
    ours.iter().all(|text| text == first).then_some(theirs == first)
}

/// What helm wrote and what we did first.
fn shown<'a>(place: &Place<'a>) -> (&'a str, &'a str) {
    (place.first().copied().unwrap_or_default(), place.get(1).copied().unwrap_or_default())
}

fn unlike(place: &Place<'_>, why: &str) -> Difference {
    let (theirs, ours) = shown(place);
    whole(format!("{why}: {}", differing(1, ours, theirs).why))
}

/// The parts of all renderings, a place after the other; `None` when there are not equally many.
fn transposed<T: Copy>(parts: &[Vec<T>]) -> Option<Vec<Vec<T>>> {
    let length = parts.first()?.len();
    if parts.iter().any(|parts| parts.len() != length) {
        return None;
    }
    Some((0..length).map(|at| parts.iter().filter_map(|parts| parts.get(at).copied()).collect()).collect())
}

impl Comparison<'_> {
    /// Texts of several lines, which may contain PEM blocks. `value`: the whole was one value in base64.
    fn text(&mut self, place: &Place<'_>, value: bool) -> Result<()> {
        match settled(place) {
            Some(true) => return Ok(()),
            Some(false) => return Err(first_difference(shown(place).0, shown(place).1)),
            None => {}
        }
        let parts: Vec<Vec<pem::Part<'_>>> = place.iter().map(|text| pem::parts(text)).collect();
        let references: Vec<Vec<&pem::Part<'_>>> = parts.iter().map(|parts| parts.iter().collect()).collect();
        let Some(places) = transposed(&references) else {
            return Err(whole("not as many PEM blocks as in what helm wrote"));
        };
        let mut line = 1;
        for parts in places {
            line += self.part(&parts, value).map_err(|difference| Difference {
                line: Some(line - 1 + difference.line.unwrap_or(1)),
                ..difference
            })?;
        }
        Ok(())
    }

    /// One part of all renderings; how many line breaks helm's has.
    fn part(&mut self, parts: &[&pem::Part<'_>], value: bool) -> Result<usize> {
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| if let pem::Part::Text(text) = part { Some(*text) } else { None })
            .collect();
        if texts.len() == parts.len() {
            self.lines(&texts, value)?;
            return Ok(texts.first().map_or(0, |text| text.matches('\n').count()));
        }
        let blocks: Vec<&pem::Block<'_>> = parts
            .iter()
            .filter_map(|part| if let pem::Part::Block(block) = part { Some(block) } else { None })
            .collect();
        let Some((first, others)) = blocks.split_first().filter(|_| blocks.len() == parts.len()) else {
            return Err(whole("a PEM block where helm writes none, or the other way round"));
        };
        if others.iter().any(|block| (block.label, block.separator) != (first.label, first.separator)) {
            return Err(whole(format!("not helm's PEM block {}, or another indentation", first.label)));
        }
        self.proof.add(first.label, blocks.iter().map(|block| block.content.clone()).collect());
        Ok(first.lines)
    }

    fn lines(&mut self, place: &Place<'_>, value: bool) -> Result<()> {
        let lines: Vec<Vec<&str>> = place.iter().map(|text| text.split('\n').collect()).collect();
        let Some(places) = transposed(&lines) else {
            return Err(whole(format!(
                "{} lines instead of {}",
                lines.get(1).map_or(0, Vec::len),
                lines.first().map_or(0, Vec::len)
            )));
        };
        let single = value && places.len() == 1;
        for (index, place) in places.iter().enumerate() {
            self.line(place, single)
                .map_err(|difference| Difference { line: Some(index + 1), ..difference })?;
        }
        Ok(())
    }

    fn line(&mut self, place: &Place<'_>, value: bool) -> Result<()> {
        match settled(place) {
            Some(true) => return Ok(()),
            Some(false) => return Err(unlike(place, "not random with us")),
            None => {}
        }
        let parts: Vec<Vec<Token<'_>>> = place.iter().map(|line| tokens(line)).collect();
        let result = match transposed(&parts) {
            Some(places) => places.iter().try_for_each(|place| self.token(place)),
            None => Err(unlike(place, "not built as helm's line")),
        };
        // A password of any characters is cut anywhere: it is looked at as a whole.
        match result {
            Err(_) if value && self.words.add(place).is_ok() => {
                self.generated.words += 1;
                Ok(())
            }
            result => result,
        }
    }

    fn token(&mut self, place: &[Token<'_>]) -> Result<()> {
        let texts: Vec<&str> = place.iter().map(Token::text).collect();
        match settled(&texts) {
            Some(true) => return Ok(()),
            Some(false) => return Err(unlike(&texts, "not random with us")),
            None => {}
        }
        let all = |kind: fn(&Token<'_>) -> bool| place.iter().all(kind);
        if all(|token| matches!(token, Token::Word(_))) {
            self.word(&texts)
        } else if all(|token| matches!(token, Token::Uuid(_))) {
            self.uuid(&texts)
        } else if all(|token| matches!(token, Token::Bcrypt(_))) {
            self.hash(&texts)
        } else {
            Err(unlike(&texts, "not of the kind that helm generates"))
        }
    }

    fn uuid(&mut self, place: &Place<'_>) -> Result<()> {
        // Version 4 of RFC 9562: all random but for version and variant.
        let version = |uuid: &&str| {
            let mut characters = uuid.chars();
            characters.nth(14) == Some('4') && matches!(characters.nth(4), Some('8' | '9' | 'a' | 'b'))
        };
        if !place.iter().all(version) {
            return Err(unlike(place, "not a UUID of version 4"));
        }
        self.words.pair(place)?;
        self.generated.uuids += 1;
        Ok(())
    }

    fn hash(&mut self, place: &Place<'_>) -> Result<()> {
        let cost = |hash: &str| hash.get(..7).unwrap_or_default().to_owned();
        let (theirs, _) = shown(place);
        if place.iter().any(|hash| cost(hash) != cost(theirs)) {
            return Err(unlike(place, "another version or cost of bcrypt"));
        }
        let verifies = |password: &str, hash: &str| bcrypt::verify(password, hash).unwrap_or_default();
        match self.passwords.iter().find(|password| verifies(password, theirs)) {
            Some(password) if place.iter().any(|hash| !verifies(password, hash)) => {
                return Err(unlike(place, "not the hash of the same password"));
            }
            Some(_) => self.generated.hashes_verified += 1,
            None => self.generated.hashes += 1,
        }
        Ok(())
    }

    /// A word: base64 of a text, random characters, base64 of random bytes, or several of them.
    fn word(&mut self, place: &Place<'_>) -> Result<()> {
        let decoded: Vec<Vec<u8>> = place.iter().filter_map(|word| STANDARD.decode(word).ok()).collect();
        let decoded = if decoded.len() == place.len() { decoded } else { Vec::new() };
        let texts: Vec<&str> = decoded.iter().filter_map(|bytes| text(bytes)).collect();
        if !texts.is_empty() && texts.len() == place.len() {
            let within = |difference: Difference| whole(format!("within base64, {difference}"));
            return self.text(&texts, true).map_err(within);
        }
        let plain = place.iter().all(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        let alone = if plain { self.words.add(place) } else { Err(unlike(place, "no random word")) };
        let Err(difference) = alone else {
            self.generated.words += 1;
            return Ok(());
        };
        let length = decoded.first().map_or(0, Vec::len);
        if length >= words::SHORTEST && decoded.iter().all(|bytes| bytes.len() == length) {
            self.generated.bytes += 1;
            return Ok(());
        }
        self.pieces(place).unwrap_or(Err(difference))
    }

    /// The parts of a word, if it has some.
    fn pieces(&mut self, place: &Place<'_>) -> Option<Result<()>> {
        const MARKS: [char; 4] = ['/', '+', '=', '_'];
        let marks = |word: &str| word.chars().filter(|c| MARKS.contains(c)).collect::<String>();
        let (theirs, _) = shown(place);
        if marks(theirs).is_empty() || place.iter().any(|word| marks(word) != marks(theirs)) {
            return None;
        }
        let pieces: Vec<Vec<&str>> = place.iter().map(|word| word.split(MARKS).collect()).collect();
        Some(transposed(&pieces)?.iter().try_for_each(|place| match settled(place) {
            Some(true) => Ok(()),
            Some(false) => Err(unlike(place, "not random with us")),
            None => self.word(place),
        }))
    }
}

/// Bytes that are a text somebody can read.
fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let readable = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    (!text.is_empty() && text.chars().all(readable)).then_some(text)
}

#[cfg(test)]
mod tests;
