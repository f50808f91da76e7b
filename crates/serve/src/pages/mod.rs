//! The pages, one file each.

pub(crate) mod compare;
pub(crate) mod conformance;
pub(crate) mod frame;
pub(crate) mod gates;
pub(crate) mod history;
pub(crate) mod machines;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod studies;
pub(crate) mod words;
