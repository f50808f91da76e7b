//! Generates load: sources, backends, pacers, recorders, barriers, the write guard, the simulated device.

pub mod backend;
pub mod content;
pub mod guard;
pub mod math;
pub mod op;
pub mod prepare;
pub mod rng;
pub mod signals;
pub mod sim;
pub mod source;
pub mod testdir;
pub mod tree;
