//! What runs beside jobs: processor time, and other programs. Neither does ops, so nothing is recorded of them but the
//! processor time that the kernel charges.

mod busy;
mod exec;

pub(crate) use busy::BusyWorker;
pub(crate) use exec::ExecWorker;

use crate::clock::{Clock, Ticks};
use crate::control::WorkerControl;
use crate::gate::{Gate, Passed};
use crate::worker::Ended;
use std::time::Duration;

/// No sleep is longer than this, so that a stop is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// Passes the gate and does `work`; what it is beside does not wait for it as for a worker that does I/O.
fn run_beside(gate: &Gate, work: impl FnOnce(&mut Passed<'_>) -> Result<Ended, String>) -> Result<Ended, String> {
    let Some(mut passed) = gate.pass() else { return Ok(Ended::Stopped) };
    let ended = work(&mut passed);
    passed.stop_clock();
    passed.desk.control.beside_done();
    ended
}

/// Sleeps until `at`, or shorter where the phase stops. True when the time has come.
fn sleep_until(clock: &Clock, control: WorkerControl<'_>, at: Ticks) -> bool {
    loop {
        let now = clock.now();
        if control.stops_at(now) {
            return false;
        }
        if now >= at {
            return true;
        }
        std::thread::sleep(Duration::from_nanos(clock.ns_between(now, at)).min(LONGEST_SLEEP));
    }
}
