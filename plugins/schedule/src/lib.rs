//! Points in time by cron expressions and time zones, and which of many points in time are kept. Nothing here reads a clock.

mod cron;
mod retention;

pub use cron::{Schedule, ScheduleError};
pub use retention::Periods;
