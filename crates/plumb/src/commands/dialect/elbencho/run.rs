//! Running elbencho's phases: lowered, measured and judged as every run of Plumb, and told as elbencho tells it.

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
use plumb_engine::signals::StopSignal;
use plumb_engine::sim::SimRun;
use plumb_result::Level;
use plumb_study::{Policies, RunError, RunOutcome, RunRequest};
use std::io::IsTerminal;
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
    wait_for_start(settings, stop);
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
    tell_findings(&outcome);
    if watching.time_is_over() {
        session::print("Terminating due to phase time limit.\n")?;
    }
    if stop.signal().is_some_and(|signal| signal != StopSignal::Program) {
        session::print("Terminating due to interrupt signal.\n")?;
        return Ok(End::DialectFailed);
    }
    Ok(if watching.has_failed() { End::DialectFailed } else { End::Done })
}

/// Waits for the time of `--start`.
fn wait_for_start(settings: &Settings, stop: plumb_engine::signals::StopFlag) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = Duration::from_secs(settings.start_s).saturating_sub(now);
    if !wait.is_zero() {
        stop.sleep(wait);
    }
}

/// What people should know before they believe the numbers.
fn tell_findings(outcome: &RunOutcome) {
    if let Some(reason) = &outcome.not_stored {
        eprintln!("plumb: the result is not stored: {reason}");
    }
    if !std::io::stderr().is_terminal() {
        return;
    }
    let told: Vec<String> = outcome
        .result
        .checks
        .iter()
        .filter(|finding| finding.level > Level::Note)
        .map(|finding| format!("{} {}", finding.code, finding.message))
        .collect();
    if !told.is_empty() {
        let id = outcome.result.id.get(..8).unwrap_or(&outcome.result.id);
        eprintln!("plumb: {}: {}; `plumb show {id}`", outcome.result.verdict.name(), told.join(" "));
    }
}
