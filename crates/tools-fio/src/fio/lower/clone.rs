//! A copy of a job, with everything that lowering knows about it.

use super::backend::{self, Traits};
use super::error::JobFault;
use super::facts::{self, PlanLine, Recorded};
use super::random::Width;
use crate::fio::job::FioJob;
use crate::fio::options::Row;
use crate::fio::options::direction::{Generator, KindSizes};
use crate::fio::options::zones::ZoneMode;
use crate::fio::value::direction::{AccessOrder, Ops};
use crate::fio::value::distribution::RandomDistribution;
use crate::fio::value::{Compat, FileRegion, Setter};
use plumb_workload::Arrival;
use plumb_workload::files::Names;

/// One copy of a job.
#[derive(Debug)]
pub(super) struct JobClone<'a> {
    pub job: &'a FioJob,
    /// Index of the copy, from 0.
    pub number: u32,
    /// Index among all copies of all jobs, from 1.
    pub thread_number: u32,
    pub seed: u64,
    /// The reading of ambiguous values.
    pub compat: Compat,
    /// Whether to record single ops, even if the job itself does not ask for it.
    pub logs_ops: bool,
    pub engine: Traits,
    /// Reason why its engine is refused.
    pub refusal: Option<String>,
    pub names: Names,
    /// Recording that the copy replays, if any.
    pub recorded: Option<Recorded>,
    /// Directory for verify states.
    pub aux_path: Option<&'a str>,
    /// Values that lowering added or changed, for the plan.
    pub fixes: Vec<PlanLine>,
    pub warnings: Vec<String>,
    pub faults: Vec<JobFault>,
}

impl JobClone<'_> {
    /// Records a value that one option implies for another.
    pub(super) fn fix(&mut self, text: impl Into<String>) {
        let line = PlanLine::new("note", text);
        if !self.fixes.contains(&line) {
            self.fixes.push(line);
        }
    }

    pub(super) fn refuse(&mut self, fault: JobFault) {
        self.faults.push(fault);
    }

    pub(super) fn unsupported(&mut self, option: impl Into<String>, why: impl Into<String>) {
        self.refuse(JobFault::Unsupported { option: option.into(), why: why.into() });
    }

    /// Whether a global section or the job gives the option.
    pub(super) fn is_given<S: Setter>(&self, row: &Row<S>) -> bool {
        self.job.is_given(row)
    }

    pub(super) fn reads(&self) -> bool {
        match &self.recorded {
            Some(recorded) => facts::moves(self.job, recorded).read,
            None => matches!(self.job.direction.rw.ops, Ops::Read | Ops::ReadWrite),
        }
    }

    pub(super) fn writes(&self) -> bool {
        match &self.recorded {
            Some(recorded) => facts::moves(self.job, recorded).write,
            None => matches!(self.job.direction.rw.ops, Ops::Write | Ops::ReadWrite | Ops::TrimWrite),
        }
    }

    pub(super) fn trims(&self) -> bool {
        match &self.recorded {
            Some(recorded) => facts::moves(self.job, recorded).trim,
            None => matches!(self.job.direction.rw.ops, Ops::Trim | Ops::TrimWrite),
        }
    }

    pub(super) fn is_random(&self) -> bool {
        matches!(self.job.direction.rw.order, AccessOrder::Random { .. })
    }

    /// Whether the ops come from a recording.
    pub(super) fn replays(&self) -> bool {
        self.job.replay.read_iolog.is_some() || self.job.replay.merge_file.is_some()
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.refusal.is_some()
    }

    pub(crate) fn is_zoned(&self) -> bool {
        self.job.zones.mode == ZoneMode::Zoned
    }

    /// Returns the smallest size of any op, to which fio rounds.
    pub(crate) fn min_block(&self) -> u64 {
        let sizes = self.job.direction.sizes();
        [&sizes.read, &sizes.write, &sizes.trim].map(facts::smallest).into_iter().min().unwrap_or(1).max(1)
    }

    pub(super) fn width(&self) -> Width {
        match self.job.direction.random.generator {
            Generator::Tausworthe64 => Width::Taus258,
            Generator::Tausworthe | Generator::Lfsr => Width::Taus88,
        }
    }

    /// Whether random blocks may repeat: by option, or because the distribution cannot be tracked.
    pub(crate) fn forgets_blocks(&self) -> bool {
        let work = &self.job.direction;
        let as_said = work.random.norandommap || work.steady_state.is_on;
        as_said || work.random.distribution != RandomDistribution::Uniform || self.has_own_alignment()
    }

    /// Whether random offsets have an alignment other than the smallest block.
    pub(crate) fn has_own_alignment(&self) -> bool {
        let work = &self.job.direction;
        let sizes = work.sizes();
        let differs =
            |align: Option<u64>, sizes: &KindSizes| align.is_some_and(|align| align != facts::smallest(sizes));
        self.is_random()
            && (differs(work.blocks.ba.read, &sizes.read)
                || differs(work.blocks.ba.write, &sizes.write)
                || differs(work.blocks.ba.trim, &sizes.trim))
    }

    /// Returns the maximum number of ops in flight.
    pub(super) fn depth(&self) -> u32 {
        // The engine merges adjacent ops up to the depth, but makes one call at a time.
        let gathers = backend::name(self.job) == "vsync";
        if gathers || !self.engine.one_at_a_time { self.job.queue.iodepth.max(1) } else { 1 }
    }

    /// Whether the rate follows a Poisson process.
    pub(super) fn is_poisson(&self) -> bool {
        self.job.pace.rate.process == Arrival::Poisson
    }

    pub(crate) fn is_zones(region: FileRegion) -> bool {
        matches!(region, FileRegion::Zones(_))
    }
}
