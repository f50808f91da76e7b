//! fio: its jobs and its outputs.

pub mod print;
