//! The half of the crate that touches the system: runs the command lines of dd, IOzone, Bonnie++, PostMark and iostat.
//! Each tool's running half is in its folder `run`.
// Only `plumb_cli::output` writes to standard output and standard error.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[path = "bonnie/run/mod.rs"]
pub mod bonnie;
#[path = "dd/run/mod.rs"]
pub mod dd;
#[path = "iostat/run/mod.rs"]
pub mod iostat;
#[path = "iozone/run/mod.rs"]
pub mod iozone;
#[path = "postmark/run/mod.rs"]
pub mod postmark;
