//! What the languages of several tools share. Nothing here touches the system; `run.rs` is the root of the half that runs.

mod file_error;
pub mod options;
pub mod permission;
pub mod support;

pub use file_error::FileError;
pub use support::Support;
