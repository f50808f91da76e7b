//! Running elbencho's phases: lowered, measured and judged as every run of Plumb, and told as elbencho tells it.

use super::super::findings;
use super::complain;
use super::outputs::Outputs;
use super::places::Disk;
use super::watching::Watching;
use crate::args::Common;
use crate::commands::run::command_line;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::elbencho::Settings;
use plumb_dialects::elbencho::lower::lower;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_engine::sim::SimRun;
use plumb_study::{Policies, RunError, RunRequest};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs the phases.
pub fn run(settings: &Settings, command: &[String], common: &Common) -> Result<End, Stopped> {
    let lowered = match lower(settings, &mut Disk) {
        Ok(lowered) => lowered,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    for note in &lowered.notes {
        eprintln!("NOTE: {note}.");
    }
    let outputs = match Outputs::open(settings, &lowered.geometry) {
        Ok(outputs) => outputs,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    let mut bench = session::bench(common)?;
    let stop = bench.stop;
    if let Err(error) = wait_for_start(settings, stop) {
        complain(error);
        return Ok(End::DialectFailed);
    }
    let mut watching = match Watching::new(settings, &lowered, command, outputs, stop) {
        Ok(watching) => watching,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    if let Err(error) = watching.begin() {
        complain(error);
        return Ok(End::DialectFailed);
    }
    if lowered.workload.phase.is_empty() {
        return Ok(End::Done);
    }
    let typed = command_line();
    let request = RunRequest {
        workload: &lowered.workload,
        policies: Policies::AsWritten,
        base: Path::new("."),
        command: &typed,
        dialect: Some("elbencho"),
        sim_run: SimRun { seed: lowered.workload.seed, run_index: 0, plot_index: 0 },
    };
    let ended = bench.run(&request, &mut watching);
    watching.clear();
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(RunError::EndedEarly { error, outcome }) => {
            complain(error);
            watching.fail();
            *outcome
        }
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    findings::tell(&outcome);
    let interrupted = stop.signal().is_some_and(|signal| signal != StopSignal::Program);
    let reasons = [(watching.time_is_over(), "phase time limit"), (interrupted, "interrupt signal")];
    for (_, reason) in reasons.into_iter().filter(|(is, _)| *is) {
        if let Err(error) = watching.say(&format!("Terminating due to {reason}.\n")) {
            complain(error);
            watching.fail();
        }
    }
    if interrupted {
        return Ok(End::DialectFailed);
    }
    Ok(if watching.has_failed() { End::DialectFailed } else { End::Done })
}

/// Waits for the time of `--start`.
fn wait_for_start(settings: &Settings, stop: StopFlag) -> Result<(), &'static str> {
    if settings.start_s == 0 {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = Duration::from_secs(settings.start_s).checked_sub(now);
    stop.sleep(wait.ok_or("--start: that time has passed; give one to come, in seconds since 1970")?);
    Ok(())
}
