//! The steps of a fio run, from the parsed jobs to the last line.

use super::act::ActWatch;
use super::disk::DiskFiles;
use super::output::Output;
use super::progress::{FioProgress, unix_ms};
use super::recorded;
use super::report::Reporter;
use super::schedulers::Schedulers;
use super::{complain, debug_lines, layout, or_complain, warn};
use plumb_bench::Bench;
use plumb_cli::exit::End;
use plumb_engine::Unopened;
use plumb_engine::guard::Permissions;
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::debug::line;
use plumb_tools_fio::fio::lower::{Entropy, Lowered, lower, merges, stream_seeds};
use plumb_tools_fio::fio::options::direction::RANDSEED;
use plumb_tools_fio::fio::print::{self, JobReport, opening_of};
use plumb_tools_run::error::DialectError;
use plumb_tools_run::runner::{RunEnded, Step};
use plumb_workload_text::validate::validate;
use std::hash::{BuildHasher, RandomState};

/// fio's exit code after SIGINT and similar signals.
pub(crate) const STOPPED_BY_SIGNAL: u8 = 128;

/// Lowers the jobs and merges their recordings.
pub(super) fn lowered(fio: &Fio, disk: &mut DiskFiles) -> Step<Lowered> {
    for merge in &or_complain(merges(fio).map_err(|errors| errors.0))? {
        or_complain(recorded::write(merge).map_err(|error| [format!("merge_blktrace_file={}: {error}", merge.path)]))?;
    }
    if fio.invocation.merge_blktrace_only {
        return Err(End::Done.into());
    }
    // `randrepeat=0` asks for unpredictable numbers.
    let entropy = Entropy(RandomState::new().hash_one(unix_ms()));
    let lowered = or_complain(lower(fio, disk, entropy, validate).map_err(|errors| errors.0))?;
    if !lowered.unrunnable.is_empty() {
        let why = lowered.unrunnable.iter();
        return or_complain(Err(why.map(|one| format!("job `{}`: {}: {}", fio.jobs[one.job].name, one.what, one.why))));
    }
    warn(fio, &fio.warnings, &lowered.warnings)?;
    Ok(lowered)
}

/// Opens the output and prints everything that precedes the results.
pub(super) fn watching<'a>(fio: &'a Fio, lowered: &'a Lowered, bench: &mut Bench) -> Step<FioProgress<'a>> {
    let output = or_complain(Output::open(&fio.invocation).map_err(|error| [error]))?;
    let mut reporter = Reporter::new(fio, lowered, output);
    reporter.output.debug(&debug_lines(fio));
    if reporter.output.is_normal() {
        let opening = opening_of(fio, layout::layouts(fio, lowered, &mut DiskFiles::default()));
        reporter.output.write(&print::opening(&opening))?;
    }
    if fio.invocation.debug.random {
        reporter.output.debug(&seeds(fio, lowered));
    }
    let schedulers = or_complain(Schedulers::set(fio, lowered).map_err(|error| [error]))?;
    if let Some(allow) = &fio.invocation.allow {
        bench.engine.permissions.extend(Permissions::parse(allow));
    }
    bench.engine.unopened = Unopened::FailsItsJobs;
    or_complain(
        FioProgress::new(fio, lowered, reporter, schedulers, bench.stop)
            .map_err(|error| [format!("--bandwidth-log: {error}")]),
    )
}

/// Returns the lines of `--debug=random`: the seeds of each copy of each job.
fn seeds(fio: &Fio, lowered: &Lowered) -> String {
    let pid = std::process::id();
    let mut lines = String::new();
    let mut say = |text: &str| lines.push_str(&line("random", pid, text));
    for copy in &lowered.jobs {
        let job = &fio.jobs[copy.job];
        if !job.direction.random.randrepeat && !job.is_given(&RANDSEED) {
            say("using system RNG for random seeds");
        }
        let seeds = stream_seeds(copy.seed, copy.thread_number);
        say(&format!("FIO_RAND_NR_OFFS={}", seeds.len()));
        for (index, seed) in seeds.iter().enumerate() {
            say(&format!("rand_seeds[{index}]={seed}"));
        }
    }
    lines
}

/// Prints the results and the failed jobs.
pub(super) fn end(mut watching: FioProgress<'_>, ended: &RunEnded) -> Step<End> {
    watching.clear();
    let Some(outcome) = ended.outcome() else { return or_complain(Err(ended.error())) };
    let failed = watching.reporter.end(&outcome.measurement, &outcome.observations)?;
    if let Some(error) = &watching.logs.error {
        complain(error);
    }
    tell_failures(&failed);
    let uncertified = usize::from(watching.act.as_ref().is_some_and(ActWatch::failed));
    // fio ignores a log that the system does not let it write. A log that Plumb refuses is a mistake in the job.
    let refused = usize::from(watching.logs.error.as_ref().is_some_and(DialectError::is_refusal));
    Ok(match u8::try_from(failed.len() + uncertified + refused) {
        _ if ended.signal.is_some() => End::DialectCode(STOPPED_BY_SIGNAL),
        Ok(0) => End::Done,
        Ok(count) => End::DialectCode(count),
        Err(_) => End::DialectCode(u8::MAX),
    })
}

/// Prints a line for each failed job, unless a program parses the results.
fn tell_failures(failed: &[JobReport]) {
    for job in failed {
        if let Some(error) = &job.failures.error {
            complain(format!("{}: pid={}, err={}/{}", job.name, job.pid, error.code, error.text));
        }
    }
}
