//! Tests of programs: compilation, the yielded ops, and the assumptions about a file set.

mod compile;
mod file_set;
mod named;
mod source;
