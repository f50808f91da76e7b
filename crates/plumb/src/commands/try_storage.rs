//! `plumb try`: measures storage in about a minute.

use super::measure::{Measured, measure};
use crate::args::TryArguments;
use crate::command_context;
use plumb_bench::place::capacity_bytes;
use plumb_bench::{Bench, Place, Policies, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::location::Location;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::session;
use plumb_cli::space_budget::{DataSizes, FileSize, SpaceBudget, check_lengths};
use plumb_engine::sim::SimRun;
use plumb_report::format;
use plumb_report::run::side_by_side;
use plumb_result::{RunResult, path_text};
use plumb_trust::{CommandContext, Running};
use plumb_workload::{Bytes, Content, Nanos, Workload};
use plumb_workload_text::named::{self, RunPlace, Scale};
use std::path::Path;

/// Default size of the test file and length of a phase, given enough room and time.
const USUAL: (Bytes, Nanos) = (Bytes(1 << 30), Nanos(4_000_000_000));

/// Smallest file or device; anything smaller has no room for a block of a stream.
const LEAST_BYTES: u64 = 1 << 20;

/// Defaults for a file system that a program serves: each op passes through two more processes.
const SERVED: (Bytes, Nanos) = (Bytes(256 << 20), Nanos(4_000_000_000));

/// Divisor of the number of small files on such a file system.
const SERVED_FILES_PART: u64 = 4;

/// Defaults with `--quick`.
const QUICK: (Bytes, Nanos) = (Bytes(256 << 20), Nanos(1_000_000_000));

pub(crate) fn run(arguments: &TryArguments, common: &Common) -> Result<End, Stopped> {
    check_lengths(Nanos(1), arguments.time, arguments.size)?;
    if let (Some(path), [_, _, ..]) = (&arguments.report.output, arguments.paths.as_slice()) {
        return Err(Stopped::usage(format!(
            "--output {} holds the page of one path; run `plumb try` once for each",
            path.display()
        )));
    }
    if let (Some(path), [_, _, ..]) = (&arguments.report.report_file.path, arguments.paths.as_slice()) {
        return Err(Stopped::usage(format!(
            "--report {} is about one path; run `plumb try` once for each, or `plumb report` of several runs",
            path.display()
        )));
    }
    arguments.hosts.join()?;
    // Reports an unusable path before another one is measured.
    let planned: Vec<Planned> =
        arguments.paths.iter().map(|path| Planned::new(path, arguments)).collect::<Result<_, _>>()?;
    let mut live_output =
        LiveOutput::open(&arguments.report.live_output, LiveWarnings::from_arguments(common), common)?;
    let mut bench = session::bench(common)?;
    let mut ends = Vec::new();
    let mut results: Vec<RunResult> = Vec::new();
    for planned in &planned {
        if !common.json {
            session::announce(&planned.announcement);
        }
        bench.command_context = CommandContext {
            time_ns: command_context::time_ns(&planned.workload),
            runs: Some(arguments.report.runs),
            timed_phases: command_context::timed_phases(&planned.workload),
            ..command_context::for_command(Running::Try, arguments.load)
        };
        let measured = planned.measure(&mut bench, arguments, &mut live_output)?;
        results.extend(measured.medians().map(|medians| medians.result));
        let end = measured.present(&[], &arguments.report, bench.results.stored(), common)?;
        ends.push(end);
        if end == End::Interrupted {
            break;
        }
        if planned.is_followed && !common.json {
            output::print("\n");
        }
    }
    if results.len() > 1 && !common.json {
        output::print(&format!("\n{}", side_by_side(&results.iter().collect::<Vec<_>>(), &session::style())));
    }
    let worst = [End::Io, End::Interrupted, End::Rejected].into_iter().find(|end| ends.contains(end));
    Ok(worst.unwrap_or(End::Done))
}

struct Planned {
    location: Location,
    workload: Workload,
    announcement: String,
    is_followed: bool,
}

impl Planned {
    fn new(path: &Path, arguments: &TryArguments) -> Result<Planned, Stopped> {
        let location = Location::parse(path)?;
        let is_served = is_served_by_a_program(&location);
        let (usual_size, usual_time) = usual_lengths(arguments.quick, is_served);
        let wanted = arguments.size.unwrap_or(usual_size);
        let budget = match &location {
            Location::Place(Place::Directory(path)) => SpaceBudget::under(path, FileSize::from_option(arguments.size))?,
            _ => SpaceBudget::UNLIMITED,
        };
        let mut sizes = budget.together(wanted);
        if is_served {
            sizes.files /= SERVED_FILES_PART;
        }
        let Nanos(time_ns) = arguments.time.unwrap_or(usual_time);
        let place = match &location {
            Location::Place(place) => place.for_named(),
            Location::Device(_) | Location::File(_) => RunPlace::Directory,
        };
        let DataSizes { file_bytes, files } = sizes;
        let scale = Scale { file_bytes, files, time_ns, seed: arguments.seed, place };
        let workload = match location.target(Content::default()) {
            Some(target) => {
                let bytes = capacity_bytes(&target).unwrap_or(0);
                if bytes < LEAST_BYTES {
                    return Err(Stopped::usage(format!(
                        "`{}` is too small to measure ({bytes} bytes); name a directory, a device, or a file of 1 MiB or more",
                        path.display()
                    )));
                }
                named::try_read_only(&scale, target)
            }
            None => named::try_workload(&scale),
        };
        let written = most_written_bytes(sizes).saturating_mul(u64::from(arguments.report.runs));
        let announcement = announcement(&location, path, (sizes, budget), arguments.size, written);
        let is_followed = arguments.paths.last().is_some_and(|last| last != path);
        Ok(Planned { location, workload, announcement, is_followed })
    }

    fn measure(
        &self,
        bench: &mut Bench,
        arguments: &TryArguments,
        live_output: &mut LiveOutput,
    ) -> Result<Measured, Stopped> {
        let command = session::command_line();
        let request = RunRequest {
            workload: &self.workload,
            policies: Policies::Fitted,
            base: self.location.base(),
            command: &command,
            dialect: None,
            sim_run: SimRun { seed: arguments.seed, run_index: 0, plot_index: 0 },
        };
        measure(bench, &request, &arguments.report, live_output)
    }
}

/// Returns the default size of the test file and length of a phase.
fn usual_lengths(is_quick: bool, is_served: bool) -> (Bytes, Nanos) {
    match (is_quick, is_served) {
        (true, _) => QUICK,
        (false, true) => SERVED,
        (false, false) => USUAL,
    }
}

/// Returns `true` if a program serves the file system, as with FUSE.
fn is_served_by_a_program(location: &Location) -> bool {
    let Location::Place(Place::Directory(path)) = location else { return false };
    plumb_probe::stack::of_path(path).filesystem.value().is_some_and(|fs| fs.is_served_by_a_program())
}

/// Returns the most bytes that a survey writes: all test data once, and the large file twice more, because each of the
/// two phases of random writes ends after that many bytes.
fn most_written_bytes(sizes: DataSizes) -> u64 {
    sizes.together_bytes().saturating_add(sizes.file_bytes.saturating_mul(2))
}

fn announcement(
    location: &Location,
    path: &Path,
    (sizes, budget): (DataSizes, SpaceBudget),
    wanted: Option<Bytes>,
    written_bytes: u64,
) -> String {
    let space = format::bytes_iec(sizes.together_bytes() as f64);
    let written = format::bytes_iec(written_bytes as f64);
    let less = match wanted {
        Some(Bytes(wanted)) if wanted > sizes.file_bytes => {
            let file = format::bytes_iec(sizes.file_bytes as f64);
            format!(" The test file is {file}: all test data must fit into {} of the free space.", budget.share())
        }
        _ => String::new(),
    };
    match location {
        Location::Place(Place::Sim(device)) => format!("{device}: simulated, nothing is written"),
        Location::Device(_) | Location::File(_) => format!("{}: is only read, never written", path.display()),
        Location::Place(Place::Directory(path)) => format!(
            "{}: makes {space} of test data in a new directory, writes at most {written} in all, and removes it at the end. Nothing else is touched.{less}",
            path_text(path)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the announcement names what is written, which is more than the space that the test data takes.
    #[test]
    fn the_announcement_covers_all_writes() {
        let scale = Scale { file_bytes: 256 << 20, files: 4000, ..Scale::moderate(RunPlace::Directory) };
        let sizes = DataSizes { file_bytes: scale.file_bytes, files: scale.files };
        let phases = named::try_workload(&scale).phase;
        let random: u64 = phases.iter().filter_map(|phase| phase.stop.bytes).map(|bytes| bytes.0).sum();
        let written = most_written_bytes(sizes);
        assert!(random > 0 && written >= random + sizes.together_bytes(), "{written} {random}");
        let place = Location::Place(Place::Directory("/mnt/data".into()));
        let text = announcement(&place, Path::new("/mnt/data"), (sizes, SpaceBudget::UNLIMITED), None, written);
        assert!(
            text.contains("makes 350 MiB of test data") && text.contains("writes at most 862 MiB in all"),
            "{text}"
        );
    }

    // Protects: on a file system that a program serves, less data in phases of the usual length takes about a minute.
    #[test]
    fn less_data_goes_through_a_program() {
        let ((usual, time), (served, served_time)) = (usual_lengths(false, false), usual_lengths(false, true));
        assert!(served.0 * 4 == usual.0 && served_time == time, "{served} {usual}");
        assert_eq!(usual_lengths(true, true), QUICK);
    }
}
