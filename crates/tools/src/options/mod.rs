//! Tables of command-line options, and the reader of the words that a tool is given.
//!
//! [`Opt`] is the row of every tool but fio, whose options have a table of their own. `Words` reads words by such a table, over
//! [`lexopt`]: elbencho, netperf, iperf2, iperf3, dbench and fs_mark differ in what `Grammar` says, and in nothing else.
//!
//! Where a tool's rules are others, its table is of these rows and its reader is its own:
//!
//! - IOR, mdtest and md-workbench split a word at its first `=` before they look for letters, so that `-vF=0` sets both flags
//!   (`aiori/said.rs`);
//! - IOzone's `-+` takes a word whose first letter completes the name (`iozone/getopt.rs`, over lexopt);
//! - sysbench takes values after `=` only, and words with one dash are not options (`sysbench/settings.rs`);
//! - iostat compares whole words, and only flags form clusters (`iostat/options.rs`).
//!
//! Bonnie++ has no table but getopt's own string of letters, which differs from version to version (`bonnie/keywords.rs`, over
//! lexopt). The few options of dd, filebench, IO500 and vdbench have no tables: most of what these tools do is in
//! `key=value` words and in files.

mod table;
mod words;

pub use table::{Opt, Role, Table, Takes, both, letter, long};
pub use words::{DoubleDash, Grammar, UnknownOption, Word, Words, text};
