//! The plan of each job (`--plan`), as text.

use super::LoweredJob;
use super::clone::JobClone;
use super::facts::{Layout, PlanLine, largest, smallest, span};
use crate::fio::value::direction::{AccessOrder, Ops};
use plumb_workload::blocks::ByKind;
use plumb_workload::{Activity, Backend, Bytes, Companion, WorkerGroup, Workload};
use std::fmt::Write;

/// The plan of one copy of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJob {
    /// Name of its worker group.
    pub name: String,
    /// Its phase, from 0.
    pub phase: usize,
    /// The copy's activity, files and timing.
    pub lines: Vec<PlanLine>,
}

/// Returns the plan of one copy.
pub(super) fn plan_copy(copy: &JobClone<'_>, lowered: &LoweredJob, layout: &Layout, workload: &Workload) -> PlannedJob {
    let mut lines = Vec::new();
    if let Some(companion) = lowered.companion(workload) {
        lines.push(PlanLine::new("work", activity(&companion.does)));
    }
    if let Some(group) = lowered.group(workload) {
        lines.push(PlanLine::new("work", work(copy)));
        lines.push(PlanLine::new("files", files(copy, layout)));
        lines.extend(range(layout));
        lines.push(PlanLine::new("amount", amount(copy, layout)));
        lines.push(PlanLine::new("engine", engine(group)));
    }
    lines.push(PlanLine::new("starts", String::new()));
    lines.push(PlanLine::new("ends", ends(copy, layout, lowered.companion(workload))));
    if copy.job.verify.method.is_some() && copy.job.verify.do_verify && copy.writes() {
        lines.push(PlanLine::new("verify", "data is read back and verified after writing"));
    }
    lines.extend(copy.fixes.iter().cloned());
    PlannedJob { name: lowered.group_name.clone(), phase: lowered.phase, lines }
}

fn activity(does: &Activity) -> String {
    match does {
        Activity::Busy(busy) => format!("keeps one CPU {} % busy, in periods of {}", busy.percent, busy.piece),
        Activity::Exec(exec) => format!("runs {} {}", exec.program, exec.arguments).trim_end().to_owned(),
    }
}

fn work(copy: &JobClone<'_>) -> String {
    if let Some(path) = &copy.job.replay.read_iolog {
        return format!("replays the recording {path}");
    }
    let work = &copy.job.direction;
    let ops = match work.rw.ops {
        Ops::Read => "reads".to_owned(),
        Ops::Write => "writes".to_owned(),
        Ops::Trim => "trims".to_owned(),
        Ops::ReadWrite => format!("{} % reads, {} % writes", work.read_percent, 100 - work.read_percent.min(100)),
        Ops::TrimWrite => "trims, each followed by a write".to_owned(),
    };
    let order = match work.rw.order {
        AccessOrder::Sequential { skip_bytes: 0 } => "sequential".to_owned(),
        AccessOrder::Sequential { skip_bytes } if skip_bytes < 0 => {
            format!("sequential, stepping back {} after each op", Bytes(skip_bytes.unsigned_abs()))
        }
        AccessOrder::Sequential { skip_bytes } => {
            format!("sequential, skipping {} after each op", Bytes(skip_bytes.unsigned_abs()))
        }
        AccessOrder::Random { ops_per_draw: 1 } => "random".to_owned(),
        AccessOrder::Random { ops_per_draw } => format!("random, a new offset every {ops_per_draw} ops"),
    };
    let kinds = ByKind {
        read: matches!(work.rw.ops, Ops::Read | Ops::ReadWrite),
        write: matches!(work.rw.ops, Ops::Write | Ops::ReadWrite | Ops::TrimWrite),
        trim: matches!(work.rw.ops, Ops::Trim | Ops::TrimWrite),
    };
    format!("{ops} of {}, {order}", span(&work.sizes(), kinds))
}

fn files(copy: &JobClone<'_>, layout: &Layout) -> String {
    let count = copy.names.count();
    let first = copy.names.path(0).map(|path| path.display().to_string()).unwrap_or_default();
    let names = match count {
        0 => return "those named in the recording".to_owned(),
        1 => first,
        _ => {
            let last = copy.names.path(count - 1).map(|path| path.display().to_string()).unwrap_or_default();
            format!("{count} files, {first} to {last}")
        }
    };
    let fresh = match layout.fresh {
        0 => String::new(),
        1 => ", 1 of them to lay out".to_owned(),
        fresh => format!(", {fresh} of them to lay out"),
    };
    if copy.engine.has_no_files && !copy.engine.calls_files && !copy.is_foreign() {
        return match count {
            0 | 1 => "none".to_owned(),
            _ => format!("none; {count} offset ranges"),
        };
    }
    let fresh = if count == 1 && layout.fresh == 1 { ", to lay out".to_owned() } else { fresh };
    format!("{names}{fresh}")
}

fn range(layout: &Layout) -> Option<PlanLine> {
    let one = |range: &plumb_workload::blocks::fio::FileRange| match range.start.0 {
        0 => format!("{} from the start", range.length),
        _ => format!("{} from {}", range.length, range.start),
    };
    let text = match layout.ranges.as_slice() {
        [] => return None,
        [only] => one(only),
        [first, rest @ ..] if rest.iter().all(|range| range == first) => format!("{} of each", one(first)),
        [first, .., last] => format!("{}, … {}", one(first), one(last)),
    };
    Some(PlanLine::new("range", text))
}

/// Formats how much one loop transfers, and in how many ops.
fn amount(copy: &JobClone<'_>, layout: &Layout) -> String {
    if copy.replays() {
        return "as recorded".to_owned();
    }
    if layout.ranges.is_empty() {
        return "whatever exists".to_owned();
    }
    let bytes = layout.io_bytes.map_or(layout.bytes, |bytes| bytes.0);
    let sizes = copy.job.direction.sizes();
    let of_kind = match copy.job.direction.rw.ops {
        Ops::Read | Ops::ReadWrite => &sizes.read,
        Ops::Write | Ops::TrimWrite => &sizes.write,
        Ops::Trim => &sizes.trim,
    };
    let (low, high) = (smallest(of_kind).max(1), largest(of_kind).max(1));
    let mut text = if low == high {
        format!("{} in {} ops", Bytes(bytes), bytes / low)
    } else {
        format!("{} in {} to {} ops", Bytes(bytes), bytes / high, bytes / low)
    };
    if bytes > layout.bytes && layout.bytes > 0 {
        let _ = write!(text, ", {:.1} passes over the range", bytes as f64 / layout.bytes as f64);
    }
    let loops = copy.job.identity.loops;
    if loops > 1 {
        let _ = write!(text, ", {loops} times");
    }
    text
}

fn engine(group: &WorkerGroup) -> String {
    let mut text = match &group.backend {
        Backend::Foreign { engine, .. } => format!("fio's {engine}, which Plumb cannot run"),
        backend => backend.name().to_owned(),
    };
    let _ = write!(text, ", depth {}", group.depth);
    if group.batch.submit > 1 {
        let _ = write!(text, ", {} at a time", group.batch.submit);
    }
    if group.files.direct {
        text.push_str(", direct");
    }
    text
}

fn ends(copy: &JobClone<'_>, layout: &Layout, companion: Option<&Companion>) -> String {
    let stop = &copy.job.stop;
    let mut ways: Vec<String> = Vec::new();
    let is_job = companion.is_none();
    let repeats = stop.time_based && stop.runtime.is_some();
    if is_job && !repeats {
        ways.push(
            if copy.job.files.fill_device { "when the device is full" } else { "when all ops are done" }.to_owned(),
        );
    }
    if let Some(runtime) = stop.runtime {
        ways.push(format!("after {runtime}"));
    }
    if let Some(count) = copy.job.direction.region.number_ios {
        ways.push(format!("after {count} ops"));
    }
    if stop.steady.judged().is_some() {
        ways.push("when steady".to_owned());
    }
    if let Some(Activity::Busy(busy)) = companion.map(|companion| &companion.does)
        && busy.ends_with_others
    {
        ways.push("with the last job that does I/O".to_owned());
    }
    if ways.is_empty() {
        ways.push("by itself".to_owned());
    }
    let mut text = ways.join(", or ");
    if repeats && is_job && !layout.ranges.is_empty() {
        text.push_str(", repeating until then");
    }
    if copy.job.durability.end_fsync && is_job {
        text.push_str(", then flushes");
    }
    if let Some(ramp) = stop.ramp_time {
        let _ = write!(text, "; the first {ramp} is not measured");
    }
    if let Some(bytes) = copy.job.direction.region.ramp_size {
        let _ = write!(text, "; the first {} is not measured", Bytes(bytes));
    }
    text
}

/// Adds start conditions, which are known only once all jobs are lowered.
pub(super) fn add_order(plan: &mut [PlannedJob], jobs: &[LoweredJob], workload: &Workload) {
    for (planned, lowered) in plan.iter_mut().zip(jobs) {
        let Some(start) = lowered.start(workload) else { continue };
        let mut text = match lowered.phase {
            0 => "immediately".to_owned(),
            phase => format!("when phase {phase} has ended"),
        };
        if !start.after.is_empty() {
            text = match start.after.as_slice() {
                [only] => format!("when {only} has ended"),
                [first, .., last] => format!("when {first} to {last} have ended"),
                [] => text,
            };
        }
        if !start.delay.is_zero() {
            let _ = write!(text, ", {} later", start.delay);
        }
        if let Some(line) = planned.lines.iter_mut().find(|line| line.about == "starts") {
            line.text = text;
        }
    }
}

/// Formats the plan: phases, and the jobs of each. Copies that differ only in their files are listed once.
pub fn plan(jobs: &[PlannedJob]) -> String {
    let mut text = String::new();
    let mut phase = None;
    for job in jobs {
        if phase != Some(job.phase) {
            let gap = if phase.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}Phase {}", job.phase + 1);
            phase = Some(job.phase);
        }
        let _ = writeln!(text, "  {}", job.name);
        for line in &job.lines {
            let _ = writeln!(text, "    {:<8} {}", line.about, line.text);
        }
    }
    text
}
