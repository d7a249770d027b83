//! What random words are made of.

/// Its name, what is in it, and how many characters that are.
type Entry = (&'static str, fn(char) -> bool, f64);

/// The alphabets of sprig's generators and of what charts make of them, none after one that it is a part of.
const ALPHABETS: [Entry; 11] = [
    ("digits", |c| c.is_ascii_digit(), 10.0),
    ("hexadecimal digits", |c| matches!(c, '0'..='9' | 'a'..='f'), 16.0),
    ("upper hexadecimal digits", |c| matches!(c, '0'..='9' | 'A'..='F'), 16.0),
    ("lower letters", |c| c.is_ascii_lowercase(), 26.0),
    ("upper letters", |c| c.is_ascii_uppercase(), 26.0),
    ("lower letters and digits", |c| c.is_ascii_lowercase() || c.is_ascii_digit(), 36.0),
    ("upper letters and digits", |c| c.is_ascii_uppercase() || c.is_ascii_digit(), 36.0),
    ("letters", |c| c.is_ascii_alphabetic(), 52.0),
    ("letters and digits", |c| c.is_ascii_alphanumeric(), 62.0),
    ("letters, digits and underscores", |c| c.is_ascii_alphanumeric() || c == '_', 63.0),
    ("printable characters", |c| matches!(c, ' '..='~'), 95.0),
];

/// How improbable a sample has to be before it is taken for one of another alphabet.
const IMPROBABLE: f64 = 1e-6;

/// An alphabet, as its place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alphabet(usize);

impl Alphabet {
    /// The smallest that has all the characters; `None` for control characters and those beyond ASCII.
    pub(super) fn of(mut characters: impl Iterator<Item = char> + Clone) -> Option<Self> {
        let all = characters.clone();
        characters.next()?;
        let fits = |(_, member, _): &Entry| all.clone().all(member);
        ALPHABETS.iter().position(fits).map(Self)
    }

    pub(super) fn name(self) -> &'static str {
        ALPHABETS.get(self.0).map_or("", |(name, ..)| name)
    }

    fn size(self) -> f64 {
        ALPHABETS.get(self.0).map_or(1.0, |(.., size)| *size)
    }

    /// Whether `length` characters of which this is the smallest alphabet can have been drawn from `other`.
    fn drawn_from(self, other: Self, length: usize) -> bool {
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self == other || (self.size() / other.size()).powi(length) > IMPROBABLE
    }
}

/// Whether two samples can have been drawn from the same alphabet: that of all their characters.
pub(super) fn alike(left: &str, right: &str) -> bool {
    let both = Alphabet::of(left.chars().chain(right.chars()));
    let drawn = |sample: &str| match (Alphabet::of(sample.chars()), both) {
        (Some(of), Some(both)) => of.drawn_from(both, sample.chars().count()),
        _ => false,
    };
    drawn(left) && drawn(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> &'static str {
        Alphabet::of(text.chars()).map_or("none", Alphabet::name)
    }

    #[test]
    fn the_smallest_alphabet_is_found() {
        assert_eq!(of("0123"), "digits");
        assert_eq!(of("0f"), "hexadecimal digits");
        assert_eq!(of("0g"), "lower letters and digits");
        assert_eq!(of("aB9_"), "letters, digits and underscores");
        assert_eq!(of("a b"), "printable characters");
        assert_eq!(of("é"), "none");
        assert_eq!(of(""), "none");
    }

    #[test]
    fn a_short_word_may_lack_what_a_long_one_must_have() {
        assert!(alike("are3e", "Q7fZeXw0a1"));
        assert!(!alike("are3eare3eare3eare3eare3eare3e", "Q7fZeXw0a1Q7fZeXw0a1Q7fZeXw0a1"));
        assert!(!alike("012345678901234567890123456789", "f123456789abcdef0123456789"));
    }
}
