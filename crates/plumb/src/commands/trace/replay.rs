//! `plumb trace replay`.

use super::{ReplayArguments, stopped};
use crate::commands::measure::measure;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::meanwhile::Meanwhile;
use crate::output;
use crate::progress::LiveWarnings;
use crate::recordings::{OnDisk, waits};
use crate::session::{self, command_line};
use plumb_engine::sim::SimRun;
use plumb_engine::trace::Recordings;
use plumb_study::{Place, Policies, RunRequest};
use plumb_workload::blocks::trace::Waits;
use plumb_workload::native;
use plumb_workload::{
    Bytes, CachePolicy, Content, End as PhaseEnd, Flush, OnError, Phase, Prepare, RecordedTree, Replay, ReplayOrder,
    SimTarget, Target, Timing, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Threads of a replay at most; the engine has a bit for each.
const THREADS_MAX: u32 = 64;

/// Least bytes of a simulated device.
const DEVICE_MIN: u64 = 1 << 30;

/// The target of a replay.
const TARGET: &str = "files";

/// Replays a recording.
pub fn run(arguments: &ReplayArguments, common: &Common) -> Result<End, Stopped> {
    let place = Place::parse(&arguments.at)?.absolute();
    let workload = of_calls(arguments, &place)?;
    if arguments.translate {
        output::print(&native::to_toml(&workload).map_err(Stopped::usage)?);
        return Ok(End::Done);
    }
    let mut meanwhile = Meanwhile::open(&arguments.report.meanwhile, LiveWarnings::of(common), common)?;
    let mut bench = session::bench(common)?;
    if !common.json {
        session::announce(&format!("replays {} at {place}", arguments.file.display()));
    }
    let sim_run = SimRun { seed: workload.seed, run_index: 0, plot_index: 0 };
    let command = command_line();
    let request = RunRequest {
        workload: &workload,
        policies: Policies::AsWritten,
        base: place.base(),
        command: &command,
        dialect: None,
        sim_run,
    };
    let measured = measure(&mut bench, &request, &arguments.report, &mut meanwhile)?;
    measured.present(&[], &arguments.report, bench.store.as_ref(), common)
}

/// The workload that replays calls on files.
fn of_calls(arguments: &ReplayArguments, place: &Place) -> Result<Workload, Stopped> {
    let mut replay = Replay::new(absolute(&arguments.file));
    replay.timing = timing(arguments)?;
    replay.order = order(&arguments.order)?;
    replay.below.clone_from(&arguments.below);
    replay.waits = if arguments.waits_as_fio { Waits::Fio } else { Waits::Manual };
    // Opened here so that what is wrong with it is told in its own words.
    drop(plumb_trace::open(&arguments.file, waits(replay.waits)).map_err(stopped)?);
    let survey = OnDisk.survey(&replay).map_err(Stopped::usage)?;
    let threads = arguments.threads.unwrap_or(survey.lane_count).clamp(1, THREADS_MAX);
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
        // An op that fails is told by the sheet, and others go on as it was recorded.
        on_error: OnError::Continue,
        ..WorkerGroup::new(TARGET, replay)
    };
    let phase = Phase {
        cache: CachePolicy::AsIs,
        end: PhaseEnd { flush: Flush::None, ..PhaseEnd::default() },
        ..Phase::new("replay", vec![group])
    };
    Ok(Workload {
        name: name(&arguments.file),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: vec![phase],
    })
}

/// Results may be read in another directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// `replay-` and what is left of the recording's name in a name of a workload.
fn name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = stem
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .take(40)
        .collect();
    match plain.trim_matches('-') {
        "" => "replay".to_owned(),
        plain => format!("replay-{plain}"),
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
