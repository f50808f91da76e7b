//! Running fio's jobs: lowered, measured and judged as every run of Plumb, and told as fio tells it.

use super::super::findings;
use super::disk::Disk;
use super::output::Output;
use super::progress::{Watching, unix_ms};
use super::recorded;
use super::report::Reporter;
use super::{complain, layout, warning};
use crate::args::Common;
use crate::commands::run::command_line;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::fio::Fio;
use plumb_dialects::fio::lower::{Entropy, lower, merges};
use plumb_dialects::fio::print::{self, Job, opening_of};
use plumb_engine::Unopened;
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopSignal;
use plumb_engine::sim::SimRun;
use plumb_study::{Policies, RunError, RunRequest};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// What fio ends with when SIGINT or its kin stopped it.
const STOPPED_BY_SIGNAL: u8 = 128;

/// Runs the jobs.
pub fn run(fio: &Fio, disk: &mut Disk, common: &Common) -> Result<End, Stopped> {
    let merges = match merges(fio) {
        Ok(merges) => merges,
        Err(errors) => {
            errors.0.iter().for_each(complain);
            return Ok(End::DialectFailed);
        }
    };
    for merge in &merges {
        if let Err(error) = recorded::write(merge) {
            complain(format!("merge_blktrace_file={}: {error}", merge.path));
            return Ok(End::DialectFailed);
        }
    }
    if fio.invocation.merge_blktrace_only {
        return Ok(End::Done);
    }
    // `randrepeat=0` wants numbers that nobody can tell.
    let entropy = Entropy(RandomState::new().hash_one(unix_ms()));
    let lowered = match lower(fio, disk, entropy) {
        Ok(lowered) => lowered,
        Err(errors) => {
            errors.0.iter().for_each(complain);
            return Ok(End::DialectFailed);
        }
    };
    if !lowered.unrunnable.is_empty() {
        for one in &lowered.unrunnable {
            complain(format!("job `{}`: {}: {}", fio.jobs[one.job].name, one.what, one.why));
        }
        return Ok(End::DialectFailed);
    }
    if let Some(warning) = warning(&fio.warnings, &lowered.warnings) {
        eprintln!("{warning}");
        if fio.invocation.warnings_fatal {
            return Ok(End::DialectFailed);
        }
    }
    let output = match Output::open(&fio.invocation) {
        Ok(output) => output,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    let mut reporter = Reporter::new(fio, &lowered, output);
    if reporter.output.is_normal() {
        let opening = opening_of(fio, layout::layouts(fio, &lowered, disk));
        reporter.output.write(&print::opening(&opening))?;
    }
    let mut bench = session::bench(common)?;
    if let Some(allow) = &fio.invocation.allow {
        bench.permissions.extend(Permissions::parse(allow));
    }
    bench.unopened = Unopened::FailsItsJobs;
    let stop = bench.stop;
    let command = command_line();
    let request = RunRequest {
        workload: &lowered.workload,
        policies: Policies::AsWritten,
        base: Path::new("."),
        command: &command,
        dialect: Some("fio"),
        sim_run: SimRun { seed: lowered.workload.seed, run_index: 0, plot_index: 0 },
    };
    let mut watching = match Watching::new(fio, &lowered, reporter, stop) {
        Ok(watching) => watching,
        Err(error) => {
            complain(format!("--bandwidth-log: {error}"));
            return Ok(End::DialectFailed);
        }
    };
    let ended = bench.run(&request, &mut watching);
    watching.clear();
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(RunError::EndedEarly { outcome, .. }) => *outcome,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    let failed = watching.reporter.end(&outcome.measurement, &outcome.observations)?;
    if let Some(error) = &watching.logs.error {
        complain(error);
    }
    tell_failures(&failed);
    findings::tell(&outcome);
    let by_signal = stop.signal().is_some_and(|signal| signal != StopSignal::Program);
    Ok(match u8::try_from(failed.len()) {
        _ if by_signal => End::DialectCode(STOPPED_BY_SIGNAL),
        Ok(0) => End::Done,
        Ok(count) => End::DialectCode(count),
        Err(_) => End::DialectCode(u8::MAX),
    })
}

/// A line for each job that failed, where no machine reads results.
fn tell_failures(failed: &[Job]) {
    for job in failed {
        if let Some(error) = &job.error {
            complain(format!("{}: pid={}, err={}/{}", job.name, job.pid, error.code, error.text));
        }
    }
}
