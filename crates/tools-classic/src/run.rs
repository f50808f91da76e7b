//! The classic tools: dd, IOzone, Bonnie++, PostMark and iostat: runs each tool's command line.
// They end the program where nobody reads: `plumb_cli::output` does not.
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
