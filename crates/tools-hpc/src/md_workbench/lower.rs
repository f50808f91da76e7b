//! Lowers a run to a workload: phases for creating objects, for each iteration of the benchmark, and for the cleanup.

use super::part::{Part, PartKind};
use super::settings::MdWorkbenchSettings;
use plumb_workload::files::Names;
use plumb_workload::program::{
    ItemOrder, MakeItem, Packets, Program, ProgramContent, Renewal, ScratchTarget, Step, TreeStep, TreeWork, Wall,
};
use plumb_workload::{
    Bytes, ClockScope, End, Flush, Nanos, NullFiles, NullTarget, OnError, Phase, Target, Work, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TARGET: &str = "data-sets";

/// Facts that the settings do not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    pub seed: i32,
    /// Number of the oldest object in each data set.
    pub start: u64,
}

/// Lowers a run. Its phases are [`Part::all`].
pub fn lower(settings: &MdWorkbenchSettings, facts: &Facts) -> Workload {
    let named = Names::Trees(Box::new(settings.names(facts.start)));
    let target = match settings.dummy {
        None => Target::Scratch(ScratchTarget { path: PathBuf::new(), names: named, typed: Vec::new() }),
        Some(delays) => Target::Null(NullTarget {
            size: Bytes(settings.data.object_bytes.max(1)),
            files: Some(Box::new(NullFiles { names: named, delays })),
        }),
    };
    Workload {
        name: "md-workbench".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: Part::all(settings).iter().map(|part| phase(settings, facts, part)).collect(),
        repeat: None,
    }
}

fn step(step: TreeStep) -> Step {
    Step::Trees(Box::new(step))
}

fn phase(settings: &MdWorkbenchSettings, facts: &Facts, part: &Part) -> Phase {
    let of_objects = |does, count| TreeStep {
        first: facts.start,
        count: Some(count),
        order: ItemOrder::Numbered,
        direct: settings.data.direct,
        ..TreeStep::new(does)
    };
    let bytes = Bytes(settings.data.object_bytes);
    let (mut before, mut checks) = (Vec::new(), false);
    let steps = match part.kind {
        PartKind::Precreate => {
            let made = MakeItem { bytes, flush: false, exists: false, reads_back: false };
            before.push(step(TreeStep::new(TreeWork::MakePlaces)));
            let count = settings.dataset.objects.saturating_sub(facts.start);
            let objects = of_objects(TreeWork::Make(made), count);
            vec![TreeStep::new(TreeWork::MakeDirectories), TreeStep { order: ItemOrder::AcrossRoots, ..objects }]
        }
        PartKind::Benchmark => {
            let stride = settings.dataset.offset.rem_euclid(i64::from(settings.ranks.max(1))) as u32;
            let renewal =
                Renewal { bytes, items: settings.dataset.objects, stride, reads_only: settings.phases.reads_only };
            let wall = Nanos(u64::from(settings.stonewall.wall_s) * 1_000_000_000);
            let wall = if settings.stonewall.wears_out { Wall::After(wall) } else { Wall::Ends(wall) };
            checks = settings.data.verifies;
            vec![TreeStep {
                wall: (settings.stonewall.wall_s > 0).then_some(wall),
                waits_ppm: part.waits_ppm,
                ..of_objects(TreeWork::Renew(renewal), settings.dataset.renewals)
            }]
        }
        PartKind::Cleanup => {
            vec![of_objects(TreeWork::Unlink, settings.dataset.objects), TreeStep::new(TreeWork::RemoveDirectories)]
        }
    };
    let program = Program {
        before,
        content: ProgramContent::Packets(Packets { kind: settings.data.packets, seed: facts.seed, worker: 0 }),
        checks,
        log_ops: settings.output.latency_files.is_some(),
        ..Program::new(steps.into_iter().map(step).collect())
    };
    let stops = part.kind == PartKind::Precreate && !settings.phases.ignores_precreate_errors;
    let group = WorkerGroup {
        count: settings.ranks,
        on_error: if stops { OnError::Stop } else { OnError::Continue },
        ..WorkerGroup::new(TARGET, Work::Program(Box::new(program)))
    };
    let name = part.phase(settings);
    Phase { end: End { flush: Flush::None, clock: ClockScope::Outside }, ..Phase::new(&name, vec![group]) }
}
