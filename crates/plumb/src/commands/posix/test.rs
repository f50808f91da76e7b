//! Runs the conformance cases.

use super::arguments::PosixArguments;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::progress::{StatusLine, left_by_share};
use plumb_cli::session;
use plumb_engine::signals;
use plumb_engine::testdir::{TestDir, TestDirError};
use plumb_posix::{Case, Done, FALLOCATE, Facts, Kind, Outcome, Report, Request, RunError};
use plumb_result::{Conformance, POSIX_SCHEMA, PosixCase, PosixOutcome};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Largest default number of processes.
const JOBS_MAX: usize = 8;

pub(super) fn run(arguments: &PosixArguments) -> Result<Tested, Stopped> {
    let started_at = jiff::Timestamp::now().to_string();
    let CasesRun { report, is_removed } = report(&arguments.path, arguments)?;
    Ok(Tested { conformance: conformance(&report, &arguments.path, started_at, arguments), is_removed })
}

pub(super) struct Tested {
    pub(super) conformance: Conformance,
    /// `true` if the test directory could be removed afterwards.
    pub(super) is_removed: bool,
}

pub(super) struct CasesRun {
    pub(super) report: Report,
    pub(super) is_removed: bool,
}

fn report(path: &Path, arguments: &PosixArguments) -> Result<CasesRun, Stopped> {
    let jobs = match arguments.jobs {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from).min(JOBS_MAX),
    };
    let limit = Duration::from_nanos(arguments.limit.0);
    let selection = Selection { only: &arguments.only, without: &arguments.without };
    cases_at(path, &selection, jobs, limit, Calls::OfFailures, arguments.userns)
}

pub(super) struct Selection<'a> {
    pub(super) only: &'a [String],
    pub(super) without: &'a [String],
}

/// Cases whose system calls are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    OfFailures,
    OfAll,
}

pub(super) fn cases_at(
    path: &Path,
    selection: &Selection<'_>,
    jobs: usize,
    limit: Duration,
    calls: Calls,
    userns: bool,
) -> Result<CasesRun, Stopped> {
    if !path.is_dir() {
        return Err(Stopped::usage(format!("{} is not a directory", path.display())));
    }
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot set up signal handling: {error}")))?;
    let directory = session::test_dirs()?.create(path, "plumb posix").map_err(not_made)?;
    // Other users work in it, by absolute paths.
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).map_err(Stopped::io)?;
    let inside = directory.path().join("cases");
    std::fs::create_dir(&inside).map_err(Stopped::io)?;
    let line = StatusLine::on_standard_error();
    let began = Instant::now();
    let mut progress = |ended: usize, total: usize| {
        line.say(format!("{ended} of {total} cases{}", left_by_share(began, ended as f64, total as f64)));
    };
    let request = Request {
        directory: &inside,
        jobs,
        only: selection.only,
        without: selection.without,
        limit,
        with_calls: calls == Calls::OfAll,
        repeat: true,
        in_user_namespace: userns,
        progress: &mut progress,
        stop: &|| stop.requested(),
    };
    let report = plumb_posix::run(request);
    line.end();
    let is_removed = remove(directory);
    let report = report.map_err(|error| match error {
        RunError::Nothing(_) | RunError::Namespace(_) => Stopped::usage(error),
        _ => Stopped::io(error),
    })?;
    Ok(CasesRun { report, is_removed })
}

fn not_made(error: TestDirError) -> Stopped {
    match error.exit_code() {
        5 => Stopped { end: End::Refused, message: error.to_string() },
        _ => Stopped::usage(error),
    }
}

/// Removes the test directory. Returns `false` after a warning if that fails: the findings are printed in any case,
/// and `plumb clean` removes the rest.
fn remove(directory: TestDir) -> bool {
    match directory.remove() {
        Ok(_) => true,
        Err(error) => {
            plumb_cli::output::error_line!("warning: {error}");
            false
        }
    }
}

fn conformance(report: &Report, path: &Path, started_at: String, arguments: &PosixArguments) -> Conformance {
    let cases = plumb_posix::cases();
    let user = match (arguments.userns, report.facts.uid) {
        (true, _) => "root of a user namespace",
        (false, 0) => "root",
        (false, _) => "a plain user",
    };
    Conformance {
        schema: POSIX_SCHEMA.to_owned(),
        id: plumb_bench::run::new_id(),
        started_at,
        tool: plumb_bench::run::tool(),
        path: plumb_result::path_text(path),
        filesystem: report.facts.kind().to_owned(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        user: user.to_owned(),
        level: String::new(),
        seconds: report.wall.as_secs_f64(),
        facts: facts(&report.facts),
        cases: report
            .done
            .iter()
            .map(|done| case(&cases[done.case], done, Duration::from_nanos(arguments.limit.0)))
            .collect(),
        stopped: report.stopped,
    }
}

/// Explains that a case hit its time limit, and suggests a limit ten times as long.
pub(super) fn not_judged(limit: Duration) -> String {
    let limit = plumb_workload::Nanos(limit.as_nanos() as u64);
    let longer = plumb_workload::Nanos(limit.0.saturating_mul(10));
    let longer = longer.to_string().replace("min", "m");
    let within = plumb_report::format::time_brief(limit.0 as f64);
    format!("did not end within {within}: not judged; repeat with `--limit {longer}`")
}

fn case(case: &Case, done: &Done, limit: Duration) -> PosixCase {
    let mut data = PosixCase {
        id: case.id.clone(),
        level: case.level.name().to_owned(),
        outcome: PosixOutcome::Pass,
        checks: done.checks,
        failed: 0,
        what: String::new(),
        expected: String::new(),
        got: String::new(),
        reason: String::new(),
        url: String::new(),
        by: String::new(),
        calls: Vec::new(),
    };
    match &done.outcome {
        Outcome::Pass => {}
        Outcome::Fail(failures, count) => {
            data.outcome = PosixOutcome::Fail;
            data.failed = *count;
            if let Some(first) = failures.first() {
                (data.what, data.expected, data.got) = (first.what.clone(), first.expected.clone(), first.got.clone());
            }
        }
        Outcome::Skip(kind, why) => {
            data.outcome = PosixOutcome::Skip;
            data.reason = format!("{}: {why}", kind.name());
        }
        Outcome::Blocked { by, why } => {
            data.outcome = PosixOutcome::Blocked;
            (data.by, data.reason) = (by.clone(), why.clone());
        }
        Outcome::Timeout => {
            data.outcome = PosixOutcome::Timeout;
            data.reason = not_judged(limit);
        }
        Outcome::Broken(why) => {
            data.outcome = PosixOutcome::Broken;
            data.reason = why.clone();
        }
    }
    if done.flaky {
        data.outcome = PosixOutcome::Flaky;
    }
    if data.outcome.is_failure() {
        data.calls = beginning(&done.calls);
    }
    data
}

/// Most bytes of calls that a report keeps for one case.
const CALLS_MAX: usize = 16 << 10;

/// Keeps the first calls, as far as they fit; `plumb posix explain` prints all.
fn beginning(calls: &[String]) -> Vec<String> {
    let mut room = CALLS_MAX;
    let fits = |call: &&String| {
        room = room.saturating_sub(call.len());
        room > 0
    };
    let mut kept: Vec<String> = calls.iter().take_while(fits).cloned().collect();
    if kept.len() < calls.len() {
        kept.push(format!("/* and {} more */", calls.len() - kept.len()));
    }
    kept
}

fn facts(facts: &Facts) -> BTreeMap<String, String> {
    let yes = |has: bool| if has { "yes" } else { "no" }.to_owned();
    let kinds = Kind::ALL.iter().copied().filter(|kind| facts.can_make(*kind)).map(Kind::name).collect::<Vec<_>>();
    let modes = FALLOCATE.iter().enumerate().filter(|(bit, _)| facts.features.fallocate >> bit & 1 == 1);
    let modes: Vec<&str> = modes.map(|(_, (name, _))| if *name == "0" { "allocate" } else { *name }).collect();
    let align = match facts.dio_align {
        (0, _) => "unknown".to_owned(),
        (offset, memory) => format!("{offset} bytes, memory {memory} bytes"),
    };
    let rows = [
        ("other users", yes(facts.can_switch)),
        ("private mounts", yes(facts.mounts)),
        ("types of files", kinds.join(", ")),
        ("longest name", format!("{} bytes", facts.name_max)),
        ("longest target of a link", format!("{} bytes", facts.symlink_max)),
        ("step of times of change", format!("{} µs or less", facts.step_ns / 1000)),
        ("flag immutable", yes(facts.features.immutable)),
        ("flag append-only", yes(facts.features.append_only)),
        ("attributes of users", yes(facts.features.xattr)),
        ("access control lists", yes(facts.features.acl)),
        ("hard links", yes(facts.features.links)),
        ("O_TMPFILE", yes(facts.features.tmpfile)),
        ("RENAME_EXCHANGE", yes(facts.features.exchange)),
        ("RENAME_NOREPLACE", yes(facts.features.noreplace)),
        ("RENAME_WHITEOUT", yes(facts.features.whiteout)),
        ("FICLONE", yes(facts.features.clone)),
        ("fallocate", if modes.is_empty() { "no".to_owned() } else { modes.join(", ") }),
        ("O_DIRECT", yes(facts.features.direct)),
        ("alignment of O_DIRECT", align),
        ("directories count subdirectories", yes(facts.counts_subdirectories)),
        ("time of birth", yes(facts.features.btime)),
    ];
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the advice is an option that the command accepts, with ten times the current limit.
    #[test]
    fn the_remedy_is_a_valid_option() {
        let message = not_judged(Duration::from_secs(30));
        assert_eq!(message, "did not end within 30 s: not judged; repeat with `--limit 5m`");
        let option = message.split('`').nth(1).unwrap();
        crate::help::parse(["plumb", "posix", "."].into_iter().chain(option.split(' '))).unwrap();
        assert!(not_judged(Duration::from_millis(1500)).contains("`--limit 15s`"));
    }
}
