//! `helm_fuzzing::entry::template` on whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| helm_fuzzing::entry::template(data));
