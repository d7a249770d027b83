//! Repository tasks, run as `cargo xtask`.

fn main() {}
