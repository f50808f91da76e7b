//! Tables of command-line options, and a parser that reads a tool's arguments by such a table.
//!
//! [`Opt`] is one row. fio's options have their own table; Bonnie++ and a few others have none (see below). `Words`
//! parses arguments by a table, on top of [`lexopt`]. elbencho, netperf, iperf2, iperf3, dbench and fs_mark differ
//! only in their `Grammar`.
//!
//! These tools parse differently, so they have their own parsers over tables of the same rows:
//!
//! - IOR, mdtest and md-workbench split an argument at its first `=` before they look for letters, so that `-vF=0`
//!   sets both flags (`aiori/given.rs`);
//! - IOzone's `-+` takes an argument whose first letter completes the name (`iozone/getopt.rs`, over lexopt);
//! - sysbench accepts values only after `=`, and an argument with one dash is not an option (`sysbench/settings.rs`);
//! - iostat compares whole arguments, and only flags form clusters (`iostat/options.rs`).
//!
//! Bonnie++ has no table, only getopt's string of letters, which differs between versions (`bonnie/keywords.rs`, over
//! lexopt). dd, filebench, IO500 and vdbench have few options and no tables: they take `key=value` arguments and
//! files.

mod table;
mod words;

pub use table::{Opt, Role, Table, Takes, both, letter, long};
pub use words::{DoubleDash, Grammar, UnknownOption, Word, Words, text};
