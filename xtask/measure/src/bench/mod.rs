//! Benchmarks of Plumb itself: against fio and the classic tools, against bare system calls, and against its own memory use at small sizes.
//! docs/benchmarks.md says what each compares and how fair it is.

mod bare;
mod callgrind;
mod child;
mod classic;
mod classics;
mod dialect;
mod engine;
mod fidelity;
mod filebench;
mod fio;
mod flows;
mod memory;
mod neighbours;
mod options;
mod plumb;
mod readers;
mod report;
mod ring;
mod rounds;
mod scaling;
mod start;
mod trees;

pub use classic::classic;
pub use dialect::dialect;
pub use engine::engine;
pub use fidelity::fidelity;
pub use filebench::filebench;
pub use flows::flows;
pub use options::Options;
pub use scaling::scaling;
pub use start::start;
pub use trees::trees;
