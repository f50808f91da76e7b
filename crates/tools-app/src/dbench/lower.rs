//! Lowers settings to a workload.

use super::settings::DbenchSettings;
use plumb_workload::files::Names;
use plumb_workload::phase::{ClockScope, End, Flush, OnError, Phase, Stop};
use plumb_workload::program::{LoadFileStep, Program, ProgramContent, ScratchTarget, Step};
use plumb_workload::{Nanos, RunAs, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TARGET: &str = "clients";

/// Returns the workload of a command line.
pub fn lower(settings: &DbenchSettings) -> Workload {
    let step = LoadFileStep {
        path: PathBuf::from(&settings.load),
        sync_open: settings.sync_open,
        sync_directories: settings.sync_directories,
        flush_writes: settings.flush_writes,
        no_resolve: settings.no_resolve,
    };
    let program = Program { content: ProgramContent::Zeros, ..Program::new(vec![Step::LoadFile(Box::new(step))]) };
    let group = WorkerGroup {
        name: Some("client".to_owned()),
        count: settings.clients,
        run_as: RunAs::Process,
        on_error: OnError::Continue,
        ..WorkerGroup::new(TARGET, Work::Program(Box::new(program)))
    };
    let seconds = |seconds: u64| Nanos(seconds.saturating_mul(1_000_000_000));
    let phase = Phase {
        ramp: seconds(settings.warmup_s()),
        stop: Stop { time: Some(seconds(settings.time_s)), ..Stop::default() },
        end: End { flush: Flush::None, clock: ClockScope::Inside },
        ..Phase::new("execute", vec![group])
    };
    let target = Target::Scratch(ScratchTarget {
        path: PathBuf::from(&settings.directory),
        names: Names::Made(vec![PathBuf::from("clients")]),
        typed: Vec::new(),
    });
    Workload {
        name: "dbench".to_owned(),
        description: "Clients of dbench.".to_owned(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: vec![phase],
        repeat: None,
    }
}
