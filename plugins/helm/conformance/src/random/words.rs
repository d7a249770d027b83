//! Random words: of which shape they are, and where each of them occurs.

use super::{
    Place, Result,
    alphabet::{self, Alphabet},
    unlike, whole,
};
use std::collections::{HashMap, HashSet, hash_map::Entry};

/// Shorter words repeat by chance, so nobody could say that they are random.
pub(super) const SHORTEST: usize = 5;

/// The random words of all renderings of a case.
#[derive(Default)]
pub(super) struct Words {
    /// For each of our renderings: helm's word for ours, and ours for helm's.
    pairs: Vec<(HashMap<String, String>, HashMap<String, String>)>,
    /// All words of each rendering, helm's first.
    seen: Vec<HashSet<String>>,
}

impl Words {
    pub(super) fn new(renderings: usize) -> Self {
        Self {
            pairs: vec![Default::default(); renderings.saturating_sub(1)],
            seen: vec![HashSet::new(); renderings],
        }
    }

    /// Takes a word that differs from rendering to rendering, if it is a random one.
    pub(super) fn add(&mut self, place: &Place<'_>) -> Result<()> {
        shape(place)?;
        self.pair(place)
    }

    /// Takes what is random, of whatever shape.
    pub(super) fn pair(&mut self, place: &Place<'_>) -> Result<()> {
        let Some((theirs, ours)) = place.split_first() else { return Ok(()) };
        for ((to_ours, to_theirs), ours) in self.pairs.iter_mut().zip(ours) {
            if !same(to_ours.entry((*theirs).to_owned()), ours)
                || !same(to_theirs.entry((*ours).to_owned()), theirs)
            {
                return Err(unlike(place, "random, but not the same in the places in which helm's is"));
            }
        }
        for (seen, word) in self.seen.iter_mut().zip(place) {
            seen.insert((*word).to_owned());
        }
        Ok(())
    }

    /// What occurs in two renderings has not been generated, only moved.
    pub(super) fn check(&self) -> Result<()> {
        let mut known = HashSet::new();
        match self.seen.iter().flatten().find(|word| !known.insert(*word)) {
            Some(word) => Err(whole(format!("{word:?} occurs in several renderings, so it is not random"))),
            None => Ok(()),
        }
    }
}

fn same(entry: Entry<'_, String, String>, word: &str) -> bool {
    entry.or_insert_with(|| word.to_owned()) == word
}

/// Length, alphabet, and what is never different.
fn shape(place: &Place<'_>) -> Result<()> {
    let characters: Vec<Vec<char>> = place.iter().map(|word| word.chars().collect()).collect();
    let Some((theirs, ours)) = characters.split_first() else { return Ok(()) };
    if ours.iter().any(|word| word.len() != theirs.len()) {
        return Err(unlike(place, "not as long as helm's"));
    }
    let (mut helms, mut varying) = (String::new(), String::new());
    for (at, helm) in theirs.iter().enumerate() {
        let mut here = ours.iter().filter_map(|word| word.get(at));
        let first = here.next();
        if here.clone().any(|character| Some(character) != first) {
            helms.push(*helm);
            varying.extend(first.into_iter().chain(here));
        } else if first != Some(helm) {
            return Err(unlike(place, "a part that is not random with us"));
        }
    }
    if helms.chars().count() < SHORTEST {
        return Err(unlike(place, "too short to be called random"));
    }
    if !alphabet::alike(&helms, &varying) {
        let name = Alphabet::of(varying.chars()).map_or("unreadable characters", Alphabet::name);
        return Err(unlike(place, &format!("{name} where helm has others")));
    }
    Ok(())
}
