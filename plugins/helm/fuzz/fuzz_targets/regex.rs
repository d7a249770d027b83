//! `helm_fuzzing::entry::regex` on whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| helm_fuzzing::entry::regex(data));
