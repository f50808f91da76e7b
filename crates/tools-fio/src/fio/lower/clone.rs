//! One copy of a job, with everything known about it during lowering.

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
    /// Which copy, from 0.
    pub number: u32,
    /// Among all copies of all jobs, from 1.
    pub thread_number: u32,
    pub seed: u64,
    /// How ambiguous words are read.
    pub compat: Compat,
    /// Single ops are wanted, whatever the job itself says.
    pub logs_ops: bool,
    pub engine: Traits,
    /// Why its engine cannot be asked.
    pub refusal: Option<String>,
    pub names: Names,
    /// What it repeats, where its ops come from a recording.
    pub recorded: Option<Recorded>,
    /// Where verify states are kept.
    pub aux_path: Option<&'a str>,
    /// What was put in or changed, for the plan.
    pub fixes: Vec<PlanLine>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The problem.
    pub wrongs: Vec<JobFault>,
}

impl JobClone<'_> {
    /// A change that one option implies for another.
    pub(super) fn fix(&mut self, text: impl Into<String>) {
        let line = PlanLine::new("note", text);
        if !self.fixes.contains(&line) {
            self.fixes.push(line);
        }
    }

    pub(super) fn wrong(&mut self, wrong: JobFault) {
        self.wrongs.push(wrong);
    }

    pub(super) fn unsupported(&mut self, option: impl Into<String>, why: impl Into<String>) {
        self.wrong(JobFault::Unsupported { option: option.into(), why: why.into() });
    }

    /// Whether an option was said, of the job or for all.
    pub(super) fn is_said<S: Setter>(&self, row: &Row<S>) -> bool {
        self.job.is_said(row)
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

    /// Its ops come from a recording.
    pub(super) fn replays(&self) -> bool {
        self.job.replay.read_iolog.is_some() || self.job.replay.merge_file.is_some()
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.refusal.is_some()
    }

    pub(crate) fn is_zoned(&self) -> bool {
        self.job.zones.mode == ZoneMode::Zoned
    }

    /// The smallest op of any kind; what fio rounds by.
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

    /// Random blocks may come again: as said, or because nothing can be remembered of such draws.
    pub(crate) fn forgets_blocks(&self) -> bool {
        let work = &self.job.direction;
        let as_said = work.random.norandommap || work.steady_state.is_on;
        as_said || work.random.distribution != RandomDistribution::Uniform || self.has_own_alignment()
    }

    /// Random offsets are aligned otherwise than to the smallest block.
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

    /// Ops in flight at most.
    pub(super) fn depth(&self) -> u32 {
        // The engine gathers neighbours up to the depth and does one call at a time.
        let gathers = backend::name(self.job) == "vsync";
        if gathers || !self.engine.one_at_a_time { self.job.queue.iodepth.max(1) } else { 1 }
    }

    /// Its rate is kept at random.
    pub(super) fn is_poisson(&self) -> bool {
        self.job.pace.rate.process == Arrival::Poisson
    }

    pub(crate) fn is_zones(region: FileRegion) -> bool {
        matches!(region, FileRegion::Zones(_))
    }
}
