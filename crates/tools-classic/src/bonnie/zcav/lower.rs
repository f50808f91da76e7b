//! Lowers the settings to one phase, with one worker per device that does all its loops.

use super::{MIB, ZcavBlocks, ZcavSettings};
use plumb_workload::files::Names;
use plumb_workload::program::{Moves, OpenStep, Pick, Program, ScratchTarget, Step, Transfer};
use plumb_workload::{Bytes, ClockScope, End, Flush, Phase, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub const PHASE: &str = "zcav";

/// Returns the workload, with a plan for each device. Workers are named after the positions of their devices.
pub fn lower(settings: &ZcavSettings, plans: &[ZcavBlocks]) -> Workload {
    let mut target = BTreeMap::new();
    let mut workers = Vec::new();
    for (number, (device, plan)) in settings.devices.iter().zip(plans).enumerate() {
        let name = worker(number);
        let names = Names::Given(vec![PathBuf::from(device.file())]);
        target.insert(name.clone(), Target::Scratch(ScratchTarget { path: PathBuf::new(), names, typed: Vec::new() }));
        let work = Work::Program(Box::new(script(settings, plan)));
        workers.push(WorkerGroup { name: Some(name.clone()), ..WorkerGroup::new(&name, work) });
    }
    let phase = Phase { end: End { flush: Flush::None, clock: ClockScope::Inside }, ..Phase::new(PHASE, workers) };
    Workload {
        name: PHASE.to_owned(),
        description: "zcav of Bonnie++ 2.00a".to_owned(),
        seed: Workload::DEFAULT_SEED,
        target,
        phase: vec![phase],
        repeat: None,
    }
}

/// Returns the name of the worker for the device at this position.
pub fn worker(number: usize) -> String {
    format!("device-{number}")
}

fn script(settings: &ZcavSettings, plan: &ZcavBlocks) -> Program {
    let open = OpenStep { file: Pick::Nth(0), read: !settings.writes, write: settings.writes, ..OpenStep::default() };
    let mut steps = Vec::new();
    for _ in 0..settings.loops {
        once(settings, plan, &mut steps);
    }
    Program {
        before: vec![Step::Open(open)],
        after: vec![Step::Close { handle: 0 }],
        log_ops: true,
        ..Program::new(steps)
    }
}

fn once(settings: &ZcavSettings, plan: &ZcavBlocks, steps: &mut Vec<Step>) {
    let block = settings.block_bytes();
    let chunk = settings.chunk_mib as u64 * MIB;
    let mut pieces: Vec<(u64, u64)> = plan.blocks.iter().map(|&offset| (offset, block)).chain(plan.tail).collect();
    // Adjacent blocks form one piece unless chunks would cross their boundaries.
    if settings.every == 1 && block.is_multiple_of(chunk) {
        pieces.truncate(1);
        if let Some((_, bytes)) = pieces.first_mut() {
            *bytes = plan.bytes(settings);
        }
    }
    let mut at = None;
    for (offset, bytes) in pieces {
        if at != Some(offset) {
            steps.push(Step::Seek { handle: 0, to: Bytes(offset) });
        }
        let parts = [(chunk, bytes / chunk), (bytes % chunk, 1)];
        let parts = parts.into_iter().filter(|&(bytes, count)| bytes > 0 && count > 0);
        steps.extend(parts.map(|(bytes, count)| transfer(settings, bytes, count)));
        at = Some(offset + bytes);
    }
}

fn transfer(settings: &ZcavSettings, record: u64, count: u64) -> Step {
    let does = if settings.writes { Moves::Write } else { Moves::Read };
    Step::Transfer(Transfer { flushes: settings.writes, ..Transfer::forward(does, Bytes(record), count) })
}
