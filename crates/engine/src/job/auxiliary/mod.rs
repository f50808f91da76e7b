//! What runs beside jobs: processor time, and other programs. Neither does ops, so nothing is recorded of them but the
//! processor time that the kernel charges.

mod beside;
mod busy;
mod exec;
#[cfg(test)]
mod tests;

use beside::{Beside, LONGEST_SLEEP, run_beside};
pub(crate) use busy::BusyWorker;
pub(crate) use exec::ExecWorker;
