//! Plays every scene with everything that can go wrong. `cargo xtask faults --plugin etcd` runs it, with its orders as JSON.

use std::process::ExitCode;

use etcd_simulation::faults::{Orders, run};

fn main() -> ExitCode {
    let text = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let orders: Orders = match serde_json::from_str(&text) {
        Ok(orders) => orders,
        Err(error) => {
            eprintln!("{text} are no orders: {error}; call `cargo xtask faults --plugin etcd`");
            return ExitCode::from(2);
        }
    };
    if run(&orders) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
