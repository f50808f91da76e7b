//! The worker of a script.

use super::calls::Calls;
use super::content::Memory;
use super::files::ScratchFiles;
use super::postmark::Whole;
use super::program::{Program, ScriptSource};
use super::stream::Streams;
use crate::backend::SyncBackend;
use crate::bind::run_to_end;
use crate::gate::{Body, Gate};
use crate::op::Operation;
use crate::own_files;
use crate::pacer::Closed;
use crate::plan::{WorkerPlanError, WorkerSeat};
use crate::rng::StreamId;
use crate::source::Source;
use crate::worker::Ended;
use plumb_workload::script::{Postmark, Rest, ScriptStep, Transfer, Via, walk};
use plumb_workload::{OpKind, Pace, Script};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A script's worker, planned.
pub(crate) struct ScriptWorker {
    script: Arc<Script>,
    parts: [Arc<Program>; 3],
    files: Arc<super::files::FileTable>,
    /// Number of the worker in its group.
    number: u32,
    content_stream: StreamId,
    pub(crate) working_set_bytes: u64,
    pub(crate) target_bytes: u64,
}

/// Plans a script on its files: everything that can be wrong is found here, before anything starts.
///
/// # Errors
/// In words, with the seat.
pub(crate) fn plan(
    seat: &WorkerSeat<'_>,
    script: &Script,
    files: &ScratchFiles,
    content_stream: StreamId,
) -> Result<ScriptWorker, WorkerPlanError> {
    if seat.group.pace != Pace::Closed {
        return Err(seat.error("a script keeps its own pace; leave its group's `pace` out and use `pause` steps"));
    }
    let compile = |steps| Program::compile(steps).map(Arc::new).map_err(|reason| seat.error(reason));
    let [before, steps, after] = script.parts();
    // Transfers of one clock go over the same bytes more often than not; what their files hold bounds them together.
    let reach = script.reach_bytes();
    let touched = script.transfers().map(Transfer::touched_bytes).max().unwrap_or(0);
    let named = files.postmark.as_ref();
    if script.all_steps().find_map(postmark).is_some_and(|run| named.is_none_or(|named| named.run != *run)) {
        return Err(seat.error(
            "its target's names are not those of its run; give the target `names.postmark` of the same values",
        ));
    }
    let (peak_bytes, threads) = named.map_or((0, 1), |named| (named.peak_bytes, u64::from(named.run.threads)));
    Ok(ScriptWorker {
        parts: [compile(before)?, compile(steps)?, compile(after)?],
        script: Arc::new(script.clone()),
        files: Arc::clone(&files.table),
        number: seat.number,
        content_stream,
        working_set_bytes: touched.max(peak_bytes / threads.max(1)),
        target_bytes: reach.saturating_mul(files.count() as u64).max(peak_bytes),
    })
}

impl ScriptWorker {
    /// The worker's body: what is before the clock happens ahead of the gate.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    fn calls(&self, gate: &Gate) -> Result<Calls, String> {
        let transfers = walk(&self.script.before).chain(walk(&self.script.steps)).chain(walk(&self.script.after));
        let largest = transfers.filter_map(|step| match step {
            ScriptStep::Transfer(transfer) => Some(transfer.largest_bytes()),
            ScriptStep::OfFile(file) => Some(file.record.0),
            _ => None,
        });
        let largest = largest.max().unwrap_or(0) as usize;
        let memory = Memory::new(self.script.memory, &self.script.content, largest, self.content_stream)?;
        let handles = self.parts.iter().map(|program| program.handles()).max().unwrap_or(1);
        let whole = self.script.all_steps().find_map(postmark).map(|run| Whole::new(run, self.number));
        let checks = self.script.checks && self.script.transfers().any(Transfer::reads);
        let calls =
            Calls::new(Arc::clone(&self.files), handles, Streams::of(&self.script), memory, checks, *gate.clock());
        Ok(calls.with_whole(whole))
    }

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        gate.report().backend.write(b"script");
        // The helpers of asynchronous I/O outlive a worker, with the table of whoever started them.
        let has_helpers = self
            .script
            .all_steps()
            .any(|step| matches!(step, ScriptStep::Transfer(transfer) if matches!(transfer.via, Via::PosixAio { .. })));
        if gate.is_alone() && !has_helpers {
            own_files::take(&[]);
        }
        let mut calls = self.calls(gate)?;
        let [before, steps, after] = &self.parts;
        let source = |program: &Arc<Program>| ScriptSource::new(program, self.number);
        perform(&mut source(before), &mut calls, before)?;
        let mut timed = source(steps);
        gate.expect(&self.script.kinds());
        calls.use_rules(&steps.rules);
        let ended = run_to_end(gate, &mut timed, &mut calls, &mut Closed)?;
        if let Some(longest_ns) = calls.longest_record_ns() {
            gate.report().longest_record_ns.store(longest_ns, Relaxed);
        }
        gate.report().steps_ns.store(calls.steps_ns, Relaxed);
        if ended == Ended::Stopped {
            if self.script.rest == Rest::Calls {
                timed.leave_out_transfers();
            }
            perform(&mut timed, &mut calls, steps)?;
        }
        if ended != Ended::Failed {
            perform(&mut source(after), &mut calls, after)?;
        }
        Ok(ended)
    }
}

/// The run of PostMark that a step is a part of.
fn postmark(step: &ScriptStep) -> Option<&Postmark> {
    match step {
        ScriptStep::Postmark(step) => Some(&step.run),
        _ => None,
    }
}

/// Makes the calls of steps that no clock sees.
fn perform(source: &mut ScriptSource, calls: &mut Calls, program: &Program) -> Result<(), String> {
    calls.use_rules(&program.rules);
    while let Some(op) = source.next() {
        if op.kind == OpKind::Delay {
            std::thread::sleep(std::time::Duration::from_nanos(op.length));
            continue;
        }
        calls.before(&op);
        let path = |calls: &Calls| calls.path_of(&op).display().to_string();
        let moved = calls.execute(&op).map_err(|errno| match op.kind.moves_bytes() {
            true => format!("{} of {} at byte {}: {}", op.kind.name(), path(calls), op.offset(), errno.text()),
            false => format!("{} of {}: {}", op.kind.name(), path(calls), errno.text()),
        })?;
        calls.after(&op, moved).map_err(|mismatch| format!("{}: {mismatch}", path(calls)))?;
    }
    Ok(())
}
