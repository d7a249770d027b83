//! What helm renders, kept beside what somebody else renders: cases, and a comparison that is exact to the byte.
//!
//! [`compare`] is for cases that helm renders the same way each time. Charts that generate passwords, keys and
//! certificates are for [`random`]: what is random in them is *measured* by rendering them several times, everything
//! else has to be equal to the byte, and what was generated has to be of the kind that helm generates.

pub mod cases;
pub mod compare;
pub mod random;
pub mod rules;
pub mod unordered;
