//! Other tools' languages. Each dialect is read in three steps, and nothing here touches the system:
//!
//! 1. **Text**: job files and command lines become options *exactly as said*, each with the place where it was said.
//! 2. **Values**: each option's text gets its meaning by one declarative table.
//! 3. **Jobs**: typed jobs, with what was not said filled in from the table's defaults.
//!
//! What comes from outside (environment, memory, files that are included) comes in through parameters.
//!
//! ```
//! use plumb_dialects::fio::{self, Files, Machine, MissingFile};
//!
//! struct NoFiles;
//! impl Files for NoFiles {
//!     fn read(&mut self, path: &str) -> Result<String, MissingFile> {
//!         Err(MissingFile { reason: format!("there is no {path}") })
//!     }
//! }
//!
//! let words = ["--name=a", "--rw=randread", "--bs=4k", "--iodepth=32"].map(str::to_owned);
//! let said = fio::read(&words, &Machine::default(), &mut NoFiles).unwrap();
//! assert_eq!(said.jobs[0].queue.iodepth, 32);
//! assert_eq!(said.jobs[0].direction.bs.read, 4096);
//! ```

pub mod bonnie;
pub mod dd;
pub mod elbencho;
mod file_error;
pub mod fio;
pub mod iostat;
pub mod iozone;
pub mod postmark;

pub use file_error::FileError;
