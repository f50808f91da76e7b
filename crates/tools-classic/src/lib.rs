//! dd, IOzone, Bonnie++, PostMark and iostat: their options, workloads and printed results. Nothing here touches the
//! system; `run.rs` is the root of the half that does.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod bonnie;
pub mod dd;
pub mod iostat;
pub mod iozone;
pub mod postmark;
