//! Whatever is read, reading it ends: no panic, no endless loop, no stack or memory used up.

#![expect(clippy::unwrap_used, reason = "this is nothing but tests")]

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use helm_fuzzing::entry::{ENTRIES, Entry};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Of each entry point.
const CASES: u32 = 150;
/// How long one input may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// A component has a stack of this size, natively compiled code uses more of it.
const STACK: usize = 4 << 20;
/// Address space for everything: what explodes ends the test.
const MEMORY: u64 = 6 << 30;

fn returns(entry: Entry, data: &[u8]) -> Result<(), TestCaseError> {
    let (done, ended) = channel();
    let owned = data.to_vec();
    let reader = thread::Builder::new().stack_size(STACK).spawn(move || {
        (entry.run)(&owned);
        let _ = done.send(());
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(()) => Ok(()),
        Err(error) if reader.unwrap().is_finished() => {
            Err(TestCaseError::fail(format!("{} panicked on {data:?}: {error}", entry.name)))
        }
        Err(_) => Err(TestCaseError::fail(format!("{} does not return from {data:?}", entry.name))),
    }
}

fn check(name: &str, inputs: impl Strategy<Value = Vec<u8>>) {
    // An error says that there is a limit already.
    let _ = setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) });
    let entry = *ENTRIES.iter().find(|entry| entry.name == name).unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() });
    runner.run(&inputs, |data| returns(entry, &data)).unwrap();
}

/// A change of one place in an input.
#[derive(Debug, Clone)]
enum Edit {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
    /// A stretch, once more or many times.
    Repeat(Index, Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        any::<Index>().prop_map(Edit::Remove),
        any::<Index>().prop_map(Edit::Cut),
        (any::<Index>(), any::<Index>(), prop_oneof![Just(1), Just(3), Just(200)])
            .prop_map(|(from, to, times)| Edit::Repeat(from, to, times)),
    ]
}

fn apply(edit: &Edit, data: &mut Vec<u8>) {
    let place = |index: &Index, data: &[u8]| index.index(data.len().max(1)).min(data.len().saturating_sub(1));
    if data.is_empty() {
        return;
    }
    match edit {
        Edit::Set(at, byte) => {
            let at = place(at, data);
            data[at] = *byte;
        }
        Edit::Insert(at, byte) => data.insert(place(at, data), *byte),
        Edit::Remove(at) => drop(data.remove(place(at, data))),
        Edit::Cut(at) => data.truncate(place(at, data)),
        Edit::Repeat(from, to, times) => {
            let (from, to) = (place(from, data), place(to, data));
            let stretch = data[from.min(to)..=from.max(to)].to_vec();
            let times = (*times).min(100_000 / stretch.len());
            let at = from.max(to);
            data.splice(at..at, stretch.repeat(times));
        }
    }
}

fn edited(name: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let entry = *ENTRIES.iter().find(|entry| entry.name == name).unwrap();
    let edits = prop::collection::vec(edit(), 1..6);
    (prop::sample::select((entry.samples)()), edits).prop_map(|(mut data, edits)| {
        edits.iter().for_each(|edit| apply(edit, &mut data));
        data
    })
}

macro_rules! tests {
    ($($name:ident)*) => {
        mod any_bytes {
            $(#[test]
            fn $name() {
                super::check(stringify!($name), proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400));
            })*
        }

        mod edited_inputs {
            $(#[test]
            fn $name() {
                super::check(stringify!($name), super::edited(stringify!($name)));
            })*
        }
    };
}

tests!(template yaml json toml archive semver strvals glob regex);

#[test]
fn every_entry_point_is_tried() {
    assert_eq!(
        ENTRIES.map(|entry| entry.name).join(" "),
        "template yaml json toml archive semver strvals glob regex"
    );
}

#[test]
fn deep_nesting_is_refused_or_read() {
    for entry in ENTRIES {
        for open in
            ["(", "[", "{", "{{(", "{{if 1}}", "- ", "a.", "a[0]", "[0]", "&a [", "{a: ", "((?:", "|", "? "]
        {
            for depth in [50, 5_000, 100_000] {
                println!("{} of {depth} × {open:?}", entry.name);
                returns(entry, open.repeat(depth).as_bytes()).unwrap();
            }
        }
    }
}
