//! Code that several tool dialects share. Nothing in this crate touches the system; `run.rs` is the root of the crate
//! that runs tools.

mod file_error;
pub mod options;
pub mod permission;
pub mod support;

pub use file_error::FileError;
pub use support::Support;
