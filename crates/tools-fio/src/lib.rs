//! fio: options, workload and printed results. Its text is read in three steps, and nothing here touches the system;
//! `run.rs` is the root of the half that runs.
//!
//! 1. **Text**: job files and command lines become options *exactly as given*, each with its place.
//! 2. **Values**: one declarative table gives each option's text its meaning.
//! 3. **Jobs**: typed jobs, with defaults from the table.
//!
//! External facts (environment, memory, included files) are passed in as parameters.
//!
//! ```
//! use plumb_tools_fio::fio::{self, Files, Machine, MissingFile};
//!
//! struct NoFiles;
//! impl Files for NoFiles {
//!     fn read(&mut self, path: &str) -> Result<String, MissingFile> {
//!         Err(MissingFile { reason: format!("there is no {path}") })
//!     }
//! }
//!
//! let words = ["--name=a", "--rw=randread", "--bs=4k", "--iodepth=32"].map(str::to_owned);
//! let read = fio::read(&words, &Machine::default(), &mut NoFiles).unwrap();
//! assert_eq!(read.jobs[0].queue.iodepth, 32);
//! assert_eq!(read.jobs[0].direction.blocks.bs.read, 4096);
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

pub mod fio;
