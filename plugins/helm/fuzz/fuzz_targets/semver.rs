//! `helm_fuzzing::entry::semver` on whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| helm_fuzzing::entry::semver(data));
