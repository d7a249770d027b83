//! Renderings that take every branch of a chart's templates that decides about objects.
//!
//! The chart is rendered with its defaults while its conditions tell how they decided and which values they asked
//! ([`crate::template::instrument`]). Each way that was not taken is a goal; the values that were asked are changed until the
//! condition turns, which shows new conditions. Where no change turns one, its outcome is replaced. How much is rendered is
//! bounded, by work and not by a clock, so that the same chart gives the same answer everywhere.

mod candidates;
mod probe;
mod search;
mod setting;

pub(crate) use self::candidates::FILLING;
pub(crate) use self::search::{Explored, RELEASE, explore};
