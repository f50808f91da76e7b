//! Running fio's jobs: lowered, measured and judged as every run of Plumb, and told as fio tells it.

use super::disk::Disk;
use super::output::Output;
use super::progress::{Watching, unix_ms};
use super::{complain, layout, warning};
use crate::args::Common;
use crate::commands::run::command_line;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::fio::lower::{Entropy, Lowered, lower};
use plumb_dialects::fio::print::{
    self, DiskStats, Grouping, Heading, Job, JobCopy, Member, Moment, Report, Stage, opening_of, sources,
};
use plumb_dialects::fio::{self, Fio};
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopSignal;
use plumb_engine::sim::SimRun;
use plumb_result::{Level, Measurement, Observations};
use plumb_study::{Policies, RunError, RunOutcome, RunRequest};
use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

/// What fio ends with when SIGINT or its kin stopped it.
const STOPPED_BY_SIGNAL: u8 = 128;

/// Runs the jobs.
pub fn run(fio: &Fio, disk: &mut Disk, common: &Common) -> Result<End, Stopped> {
    let began = Instant::now();
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
    let mut output = match Output::open(&fio.invocation) {
        Ok(output) => output,
        Err(error) => {
            complain(error);
            return Ok(End::DialectFailed);
        }
    };
    let copies = copies(&lowered);
    if output.is_normal() {
        let opening = opening_of(fio, layout::layouts(fio, &lowered, disk));
        output.write(&print::opening(&opening))?;
    }
    let mut bench = session::bench(common)?;
    if let Some(allow) = &fio.invocation.allow {
        bench.permissions.extend(Permissions::parse(allow));
    }
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
    let mut watching = Watching::new(fio, &lowered, &output, stop);
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
    let heading = Heading {
        version: fio::VERSION.to_owned(),
        at: now(),
        global_options: print::given(&fio.globals),
        compat: fio.invocation.compat,
        disks: disks(fio),
        stage: Stage::Final,
        phase_starts_unix_ms: watching.phase_starts_unix_ms.clone(),
        elapsed_s: began.elapsed().as_secs() + 1,
    };
    let report = |grouping| report(fio, &copies, grouping, &heading, &outcome.measurement, &outcome.observations);
    output.report(&report(Grouping::AsAsked)?)?;
    let failed: Vec<Job> = report(Grouping::Apart)?.jobs.into_iter().filter(|job| job.error.is_some()).collect();
    tell_failures(&failed);
    tell_findings(&outcome);
    let by_signal = stop.signal().is_some_and(|signal| signal != StopSignal::Program);
    Ok(match u8::try_from(failed.len()) {
        _ if by_signal => End::DialectCode(STOPPED_BY_SIGNAL),
        Ok(0) => End::Done,
        Ok(count) => End::DialectCode(count),
        Err(_) => End::DialectCode(u8::MAX),
    })
}

fn copies(lowered: &Lowered) -> Vec<JobCopy> {
    let copy = |one: &plumb_dialects::fio::lower::LoweredJob| JobCopy {
        job: one.job,
        member: Member { phase: one.phase, group: one.group_name.clone() },
    };
    lowered.jobs.iter().map(copy).collect()
}

/// `disk_util=0` in any job hides the disks, as with fio.
fn disks(fio: &Fio) -> DiskStats {
    if fio.jobs.iter().all(|job| job.statistics.disk_util) { DiskStats::Shown } else { DiskStats::Off }
}

/// The local time, as ctime(3) tells it.
fn now() -> Moment {
    let now = jiff::Zoned::now();
    Moment::at_offset(unix_ms(), now.offset().seconds())
}

fn report(
    fio: &Fio,
    copies: &[JobCopy],
    grouping: Grouping,
    heading: &Heading,
    measurement: &Measurement,
    observations: &Observations,
) -> Result<Report, Stopped> {
    let sources = sources(fio, copies, grouping);
    print::report_of(heading.clone(), sources, measurement, Some(observations)).map_err(Stopped::io)
}

/// A line for each job that failed, where no machine reads results.
fn tell_failures(failed: &[Job]) {
    for job in failed {
        if let Some(error) = &job.error {
            complain(format!("{}: pid={}, err={}/{}", job.name, job.pid, error.code, error.text));
        }
    }
}

/// What people should know before they believe the numbers. Scripts take anything here for a failure.
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
