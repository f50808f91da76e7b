//! Benchmarks of Plumb itself: against fio and the classic tools, against bare system calls, and against its own memory
//! use at small sizes. docs/benchmarks.md explains what each compares and how fair it is.

mod agents;
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
mod team;
mod trees;

pub(crate) use agents::agents;
pub(crate) use classic::classic;
pub(crate) use dialect::dialect;
pub(crate) use engine::engine;
pub(crate) use fidelity::fidelity;
pub(crate) use filebench::filebench;
pub(crate) use flows::flows;
pub(crate) use options::Options;
pub(crate) use scaling::scaling;
pub(crate) use start::start;
pub(crate) use team::team;
pub(crate) use trees::trees;
