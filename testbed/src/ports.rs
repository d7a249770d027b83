//! Free ports.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Below the range that systems give to outgoing connections (32768 on Linux) and that Services take as node ports
/// (30000), so that nobody gets one between our look and the program's start.
const RANGE: std::ops::Range<u16> = 20_000..29_900;

/// A port of this machine that nobody listens at, and that this process was not given before.
///
/// # Errors
/// When none is found in a thousand tries.
pub fn free() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for attempt in 0..1000 {
        let port = candidate(std::process::id(), attempt + u32::try_from(given.len()).unwrap_or(0));
        if !given.contains(&port) && TcpListener::bind(("0.0.0.0", port)).is_ok() {
            given.insert(port);
            return Ok(port);
        }
    }
    Err(Error::Other(format!("no free port between {} and {} in a thousand tries", RANGE.start, RANGE.end)))
}

/// Processes start their search at different places, so that clusters which start together do not meet.
fn candidate(process: u32, attempt: u32) -> u16 {
    let width = u32::from(RANGE.end - RANGE.start);
    // A prime spreads process ids, which follow each other closely, over the range.
    let offset = (process.wrapping_mul(7919) % width + attempt) % width;
    RANGE.start + u16::try_from(offset).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_port_is_not_given_twice() {
        let ports: BTreeSet<u16> = (0..20).map(|_| free().unwrap()).collect();
        assert_eq!(ports.len(), 20);
    }

    #[test]
    fn a_port_somebody_listens_at_is_not_given() {
        let taken = TcpListener::bind(("127.0.0.1", candidate(std::process::id(), 300))).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!((0..400).all(|_| free().unwrap() != port));
    }

    #[test]
    fn candidates_stay_below_the_range_of_outgoing_connections() {
        assert!((0..50_000).step_by(7).all(|process| RANGE.contains(&candidate(process, 999))));
    }

    #[test]
    fn processes_that_follow_each_other_search_far_apart() {
        assert!(candidate(1000, 0).abs_diff(candidate(1001, 0)) > 100);
    }
}
