//! What is written, made at memory speed, and how what is read is verified.
//!
//! A [`Filler`] makes the bytes of a write; a [`Stamper`] then puts a header into every block of it, and a [`Verifier`]
//! checks those headers, and what follows them, in what is read.

mod fill;
mod verify;

pub use fill::Filler;
pub use verify::{BlockIdentity, Difference, Expected, HEADER_BYTES, IntervalError, Mismatch, Stamper, Verifier};
pub use verify::{check, stamp};
