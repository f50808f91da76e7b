//! Programs: how they compile, which ops they yield, and that what they believe of a file set is so.

mod compile;
mod file_set;
mod named;
mod source;
