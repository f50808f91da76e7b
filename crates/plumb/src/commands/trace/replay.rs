//! `plumb trace replay`.

use super::{ReplayArguments, stopped};
use crate::commands::measure::measure;
use plumb_bench::{Place, Policies, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::output::{self, error_line};
use plumb_cli::progress::LiveWarnings;
use plumb_cli::ranks::joined;
use plumb_cli::recordings::{OnDisk, most_lanes, waits};
use plumb_cli::session::{self, command_line};
use plumb_engine::replay::CallSurvey;
use plumb_engine::sim::SimRun;
use plumb_engine::trace::Recordings;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::trace::{Recording, Waits};
use plumb_workload::files::FileRules;
use plumb_workload::{
    Backend, BlockStream, Bytes, CachePolicy, Content, DeviceTarget, End as PhaseEnd, FileTarget, FilesTarget, Flush,
    OnError, OpKind, Phase, Prepare, RecordedTree, Replay, ReplayOrder, SimTarget, Size, Target, Timing, WorkerGroup,
    Workload,
};
use plumb_workload_text::native;
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Most threads of a replay; the engine has a bit for each.
const THREADS_MAX: u32 = 64;

/// Smallest size of a simulated device, bytes.
const DEVICE_MIN: u64 = 1 << 30;

/// Default number of ops in flight.
const DEPTH: u32 = 256;

const TARGET: &str = "files";

pub(super) fn run(arguments: &ReplayArguments, common: &Common) -> Result<End, Stopped> {
    let at = At::parse(&arguments.at)?;
    // Opens the recordings first, so that errors are reported in the reader's own words.
    for file in [&arguments.file].into_iter().chain(&arguments.with) {
        check(file, arguments)?;
    }
    let workload = workload("replay", arguments, &at, None)?;
    if arguments.translate {
        output::print(&native::to_toml(&workload).map_err(Stopped::usage)?);
        return Ok(End::Done);
    }
    let mut live_output =
        LiveOutput::open(&arguments.report.live_output, LiveWarnings::from_arguments(common), common)?;
    let mut bench = session::bench(common)?;
    if !common.json {
        session::announce(&format!("replays {} at {}", arguments.file.display(), arguments.at.display()));
    }
    let sim_run = SimRun { seed: workload.seed, run_index: 0, plot_index: 0 };
    let command = command_line();
    let request = RunRequest {
        workload: &workload,
        policies: Policies::AsWritten,
        base: at.base(),
        command: &command,
        dialect: None,
        sim_run,
    };
    let measured = measure(&mut bench, &request, &arguments.report, &mut live_output)?;
    let different = if arguments.strict { measured.replayed_differently() } else { 0 };
    let end = measured.present(&[], &arguments.report, bench.results.stored(), common)?;
    if different > 0 && !matches!(end, End::Interrupted) {
        error_line!("error: {different} ops had another outcome than when they were recorded (--strict)");
        return Ok(End::AssertedFalse);
    }
    Ok(end)
}

/// Checks that a recording can be read and, with `--strict`, that it is complete.
fn check(path: &Path, arguments: &ReplayArguments) -> Result<(), Stopped> {
    let waits_of = if arguments.waits_as_fio { Waits::Fio } else { Waits::Manual };
    let mut reader = plumb_trace::open(path, waits(waits_of)).map_err(stopped)?;
    if !arguments.strict {
        return Ok(());
    }
    reader.by_ref().try_for_each(|record| record.map(drop)).map_err(stopped)?;
    let drops = reader.facts().and_then(|facts| facts.get("drops")).filter(|drops| *drops != "0");
    match (drops, reader.losses().len()) {
        (None, 0) => Ok(()),
        (Some(drops), _) => Err(Stopped::usage(format!(
            "{}: {drops} events were lost while it was recorded; leave --strict out, or record it again",
            path.display()
        ))),
        (_, lost) => Err(Stopped::usage(format!("{}: {lost} chunks are damaged; leave --strict out", path.display()))),
    }
}

pub(super) enum At {
    Place(Place),
    /// A file that exists already.
    File(PathBuf),
    Device(PathBuf),
}

impl At {
    pub(super) fn parse(typed: &Path) -> Result<At, Stopped> {
        let kind = std::fs::metadata(typed).map(|metadata| metadata.file_type());
        let path = || absolute(typed);
        Ok(match kind {
            Ok(kind) if kind.is_block_device() => At::Device(path()),
            Ok(kind) if kind.is_file() => At::File(path()),
            _ => At::Place(Place::parse(typed)?.absolute()),
        })
    }

    fn base(&self) -> &Path {
        match self {
            At::Place(place) => place.base(),
            At::File(_) | At::Device(_) => Path::new("/tmp"),
        }
    }
}

/// Returns `true` if a recording has reads, writes and flushes only. Its ops may then be in flight together.
fn has_only_data_ops(survey: &CallSurvey) -> bool {
    use OpKind::{Close, Fdatasync, Fsync, Open, Read, Trim, Write};
    !survey.has_handles
        && survey.ops.keys().all(|kind| matches!(kind, Read | Write | Trim | Fsync | Fdatasync | Open | Close))
        && survey.ops.keys().any(|kind| kind.moves_bytes())
}

/// Returns the workload that replays a recording, or a model instead of it.
pub(super) fn workload(
    does: &str,
    arguments: &ReplayArguments,
    at: &At,
    model: Option<String>,
) -> Result<Workload, Stopped> {
    let mut replay = Replay::new(absolute(&arguments.file));
    replay.timing = timing(arguments)?;
    replay.order = order(arguments.order.as_deref().unwrap_or("resource"))?;
    replay.below.clone_from(&arguments.below);
    replay.waits = if arguments.waits_as_fio { Waits::Fio } else { Waits::Manual };
    replay.model = model;
    replay.with = arguments.with.iter().map(|path| absolute(path)).collect();
    let cache = cache(arguments)?;
    let survey = OnDisk.survey(&replay).map_err(Stopped::usage)?;
    let asks_for_calls = arguments.order.is_some() || arguments.threads.is_some() || arguments.below.is_some();
    let (target, group) = match (has_only_data_ops(&survey) && !asks_for_calls, at) {
        (true, _) => of_ops(arguments, replay, &survey, at)?,
        (false, At::Place(place)) => {
            replay.loops = arguments.loops.unwrap_or(1);
            replay.clones = arguments.clones.unwrap_or(1);
            let survey = if replay.loops > 1 || replay.clones > 1 {
                OnDisk.survey(&replay).map_err(Stopped::usage)?
            } else {
                survey
            };
            of_calls(arguments, replay, &survey, place)?
        }
        (false, At::File(path) | At::Device(path)) => {
            return Err(Stopped::usage(format!(
                "{} names files, and {} has room for one only; name a directory, or a simulated device such as `sim:ssd`",
                arguments.file.display(),
                path.display()
            )));
        }
    };
    let phase =
        Phase { cache, end: PhaseEnd { flush: Flush::None, ..PhaseEnd::default() }, ..Phase::new(does, vec![group]) };
    Ok(Workload {
        name: name(does, &arguments.file),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: vec![phase],
        repeat: None,
    })
}

fn of_ops(
    arguments: &ReplayArguments,
    replay: Replay,
    survey: &CallSurvey,
    at: &At,
) -> Result<(Target, WorkerGroup), Stopped> {
    let speed_percent = match replay.timing {
        Timing::Recorded { speed_percent } if speed_percent >= 1.0 && speed_percent <= f64::from(u32::MAX) => {
            Some(speed_percent.round() as u32)
        }
        Timing::Recorded { speed_percent } => {
            return Err(Stopped::usage(format!(
                "{speed_percent} % is not a speed for reads and writes; use 1 or more"
            )));
        }
        Timing::AsFastAsPossible | Timing::InFlight => None,
        Timing::ThinkTimes => {
            return Err(Stopped::usage(
                "reads and writes of one queue have no think times; use --timing in-flight, or --order inferred with --threads",
            ));
        }
    };
    let has = |kind| survey.ops.contains_key(&kind);
    let clones = arguments.clones.unwrap_or(1).max(1);
    let (scale, shift) = (arguments.data.scale.unwrap_or(1).max(1), arguments.data.shift.unwrap_or_default());
    let largest = survey.largest_read.max(survey.largest_write);
    let reach = survey.reaches.iter().copied().max().unwrap_or(0);
    let one = (reach / u64::from(scale)).saturating_add(largest).saturating_add(shift.0);
    let one = arguments.data.fold.map_or(one, |fold| fold.0).next_multiple_of(4096).max(4096);
    // In a directory or on a simulated device, each rank has its own files with its own copies.
    let ranks = if matches!(at, At::Place(_)) { ranks() } else { 1 };
    let size = one.saturating_mul(u64::from(clones / ranks).max(1));
    let files = survey.reaches.len().max(1) as u32;
    let is_device = matches!(at, At::Device(_));
    // The kernel's queue has no discards of whole devices.
    let has_queue = !(is_device && has(OpKind::Trim));
    let mut recording = Recording {
        speed_percent,
        in_flight: replay.timing == Timing::InFlight,
        sheet: true,
        scale,
        shift,
        fold: arguments.data.fold,
        align: arguments.data.align,
        clones,
        clone_every: Bytes(if clones > 1 { one } else { 0 }),
        loops: arguments.loops.unwrap_or(1).into(),
        model: replay.model,
        with: replay.with,
        waits: replay.waits,
        moves: ByKind { read: has(OpKind::Read), write: has(OpKind::Write), trim: has(OpKind::Trim) },
        ..Recording::new(replay.path, Bytes(largest.max(1)))
    };
    let target = match at {
        At::Place(Place::Sim(device)) => {
            recording.one_file = files > 1;
            Target::Sim(SimTarget {
                device: device.clone(),
                size: Bytes(size.max(DEVICE_MIN)),
                files: None,
                preallocated_percent: 0,
                shares: None,
            })
        }
        At::Place(Place::Directory(_)) if files > 1 => Target::Files(FilesTarget {
            path: PathBuf::from("replay"),
            count: files,
            size: Size::Bytes(Bytes(size)),
            prepare: prepare(&arguments.prepare)?,
            content: Content::Random,
        }),
        At::Place(Place::Directory(_)) => Target::File(FileTarget {
            path: PathBuf::from("replay"),
            size: Some(Size::Bytes(Bytes(size))),
            prepare: prepare(&arguments.prepare)?,
            content: Content::Random,
        }),
        At::File(path) => {
            recording.one_file = files > 1;
            let (path, prepare) = (path.clone(), Prepare::Nothing);
            Target::File(FileTarget { path, size: None, prepare, content: Content::Random })
        }
        At::Device(path) => {
            recording.one_file = files > 1;
            let path = path.clone();
            Target::Device(DeviceTarget { path, size: None, destroy_serial: None, content: Content::Random })
        }
    };
    let group = WorkerGroup {
        depth: if has_queue { arguments.data.depth.unwrap_or(DEPTH) } else { 1 },
        backend: if has_queue { Backend::Auto } else { Backend::Psync },
        on_error: OnError::Continue,
        files: FileRules { direct: arguments.data.direct, ..FileRules::default() },
        ..WorkerGroup::new(TARGET, BlockStream::from(recording))
    };
    Ok((target, group))
}

fn of_calls(
    arguments: &ReplayArguments,
    replay: Replay,
    survey: &CallSurvey,
    place: &Place,
) -> Result<(Target, WorkerGroup), Stopped> {
    let only_ops = [
        ("--depth", arguments.data.depth.is_some()),
        ("--direct", arguments.data.direct),
        ("--scale", arguments.data.scale.is_some()),
        ("--shift", arguments.data.shift.is_some()),
        ("--fold", arguments.data.fold.is_some()),
        ("--align", arguments.data.align.is_some()),
    ];
    if let Some((option, _)) = only_ops.iter().find(|(_, is_given)| *is_given) {
        return Err(Stopped::usage(format!(
            "{option} is for recordings of reads and writes alone, and {} is replayed call by call; leave it out",
            arguments.file.display()
        )));
    }
    let wanted = match (ranks(), replay.clones) {
        (1, _) => survey.lane_count,
        (ranks, 1) => most_lanes(&replay, ranks).map_err(Stopped::usage)?,
        (ranks, _) => survey.lane_count.div_ceil(ranks),
    };
    let threads = arguments.threads.unwrap_or(wanted).clamp(1, THREADS_MAX);
    let target = match place {
        Place::Directory(_) => Target::Recorded(RecordedTree {
            path: PathBuf::from("replay"),
            prepare: prepare(&arguments.prepare)?,
            content: Content::Random,
        }),
        Place::Sim(device) => Target::Sim(SimTarget {
            device: device.clone(),
            size: Bytes(survey.reaches.iter().map(|reach| reach.next_multiple_of(4096)).sum::<u64>().max(DEVICE_MIN)),
            files: None,
            preallocated_percent: 0,
            shares: None,
        }),
    };
    let group = WorkerGroup {
        count: threads,
        // The sheet reports failed ops, and the others continue as recorded.
        on_error: OnError::Continue,
        ..WorkerGroup::new(TARGET, replay)
    };
    Ok((target, group))
}

fn ranks() -> u32 {
    joined().map_or(1, |ranks| ranks.size().max(1))
}

/// Makes a path absolute, since results may be read in another directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns a workload name made of a verb and the usable letters of the recording's name.
pub(super) fn name(does: &str, path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = stem
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .take(40)
        .collect();
    match plain.trim_matches('-') {
        "" => does.to_owned(),
        plain => format!("{does}-{plain}"),
    }
}

fn timing(arguments: &ReplayArguments) -> Result<Timing, Stopped> {
    let timing = match arguments.timing.as_str() {
        "recorded" => Timing::Recorded { speed_percent: arguments.speed.unwrap_or(100.0) },
        "as-fast-as-possible" => Timing::AsFastAsPossible,
        "think-times" => Timing::ThinkTimes,
        "in-flight" => Timing::InFlight,
        other => {
            return Err(Stopped::usage(format!(
                "there is no timing `{other}`; use recorded, as-fast-as-possible, think-times or in-flight"
            )));
        }
    };
    match (timing, arguments.speed) {
        (Timing::Recorded { .. }, _) | (_, None) => Ok(timing),
        _ => Err(Stopped::usage("--speed scales recorded times; leave it out, or use --timing recorded")),
    }
}

fn cache(arguments: &ReplayArguments) -> Result<CachePolicy, Stopped> {
    Ok(match (arguments.cache.as_str(), arguments.data.direct) {
        ("as-is", false) => CachePolicy::AsIs,
        ("as-is", true) => CachePolicy::Direct,
        ("cold", false) => CachePolicy::Cold,
        ("warm", false) => CachePolicy::Warm,
        (_, true) => return Err(Stopped::usage("--direct goes around the page cache; leave --cache out")),
        (other, _) => {
            return Err(Stopped::usage(format!("the page cache cannot be `{other}`; use as-is, cold or warm")));
        }
    })
}

fn order(name: &str) -> Result<ReplayOrder, Stopped> {
    Ok(match name {
        "none" => ReplayOrder::None,
        "thread" => ReplayOrder::Thread,
        "resource" => ReplayOrder::Resource,
        "inferred" => ReplayOrder::Inferred,
        "total" => ReplayOrder::Total,
        other => {
            return Err(Stopped::usage(format!(
                "there is no order `{other}`; use none, thread, resource, inferred or total"
            )));
        }
    })
}

fn prepare(name: &str) -> Result<Prepare, Stopped> {
    Ok(match name {
        "write" => Prepare::Write,
        "allocate" => Prepare::Allocate,
        "sparse" => Prepare::Sparse,
        other => {
            return Err(Stopped::usage(format!(
                "files cannot be prepared by `{other}`; use write, allocate or sparse"
            )));
        }
    })
}
