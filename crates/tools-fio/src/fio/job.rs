//! A job with typed values: every option of the first two tiers, with defaults filled in.
//!
//! Nothing that depends on other jobs, files or the machine is resolved here: copies are not made, percentages stay
//! percentages, and what one option implies for another at run time (such as `verify` for `refill_buffers`) is left to
//! lowering. Only options that are two names for one choice are merged: `direct` and `buffered`, `rwmixread` and
//! `rwmixwrite`, `cpus_allowed` and `cpumask`, `gtod_reduce` and what it switches off.

use crate::fio::error::WordLocation;
use crate::fio::options::{
    HasGroup, OptionSpec, Row, content, direction, durability, engine, files, job, logs, memory, pace, queue, replay,
    stats, stop, trim, verify, zones,
};
use crate::fio::value::Setter;
use std::sync::{Arc, OnceLock};

/// An option exactly as given.
#[derive(Debug, Clone)]
pub struct InputOption {
    pub option: &'static OptionSpec,
    /// The name in the input: the option's own name or its alias.
    pub name: &'static str,
    /// Text after `=`, with variables expanded; `None` without `=`.
    pub text: Option<String>,
    pub place: WordLocation,
}

/// The section of a job file, or the words of a command line, that make a job.
#[derive(Debug, Clone)]
pub struct JobSection {
    pub name: String,
    /// Whether a new file begins here, so that this job waits for the jobs of earlier
    /// files. `identity.stonewall` is then set as well.
    pub opens_file: bool,
    /// Options of the global sections before it, in order.
    pub from_global: Arc<[InputOption]>,
    /// Its own options, in order.
    pub options: Vec<InputOption>,
}

/// A fio job. Equal option groups are shared between jobs: a file can have thousands of jobs that differ in a word.
#[derive(Debug, Clone)]
pub struct FioJob {
    /// The job's name: the option `name` if given, else the name of the section.
    pub name: String,
    pub place: WordLocation,
    /// The section that the job was read from.
    pub section: JobSection,
    /// Copies, order and group of the job.
    pub identity: Arc<job::JobOptions>,
    pub files: Arc<files::FileOptions>,
    pub direction: Arc<direction::DirectionOptions>,
    pub queue: Arc<queue::QueueOptions>,
    pub pace: Arc<pace::PaceOptions>,
    pub stop: Arc<stop::StopOptions>,
    pub durability: Arc<durability::DurabilityOptions>,
    /// Whether data read back is verified.
    pub verify: Arc<verify::VerifyOptions>,
    pub trim: Arc<trim::TrimOptions>,
    pub replay: Arc<replay::ReplayOptions>,
    pub content: Arc<content::ContentOptions>,
    /// Buffers, CPUs, NUMA nodes and priorities.
    pub memory: Arc<memory::MemoryOptions>,
    pub zones: Arc<zones::ZoneOptions>,
    /// Options that only some engines have.
    pub engine: Arc<engine::EngineOptions>,
    pub logs: Arc<logs::LogOptions>,
    pub statistics: Arc<stats::StatsOptions>,
}

impl FioJob {
    /// Returns a job with the table's defaults, before the options of its section are applied.
    pub(super) fn with_defaults(name: String, place: WordLocation, section: JobSection) -> FioJob {
        static DEFAULTS: OnceLock<FioJob> = OnceLock::new();
        let defaults = DEFAULTS.get_or_init(|| FioJob {
            name: String::new(),
            place: WordLocation::CommandLine { word: 0 },
            section: JobSection {
                name: String::new(),
                opens_file: false,
                from_global: Arc::default(),
                options: Vec::new(),
            },
            identity: Arc::default(),
            files: Arc::default(),
            direction: Arc::default(),
            queue: Arc::default(),
            pace: Arc::default(),
            stop: Arc::default(),
            durability: Arc::default(),
            verify: Arc::default(),
            trim: Arc::default(),
            replay: Arc::default(),
            content: Arc::default(),
            memory: Arc::default(),
            zones: Arc::default(),
            engine: Arc::default(),
            logs: Arc::default(),
            statistics: Arc::default(),
        });
        FioJob { name, place, section, ..defaults.clone() }
    }

    /// Shares the option groups that are equal in another job.
    pub(super) fn share_with(&mut self, other: &FioJob) {
        share(&mut self.identity, &other.identity);
        share(&mut self.files, &other.files);
        share(&mut self.direction, &other.direction);
        share(&mut self.queue, &other.queue);
        share(&mut self.pace, &other.pace);
        share(&mut self.stop, &other.stop);
        share(&mut self.durability, &other.durability);
        share(&mut self.verify, &other.verify);
        share(&mut self.trim, &other.trim);
        share(&mut self.replay, &other.replay);
        share(&mut self.content, &other.content);
        share(&mut self.memory, &other.memory);
        share(&mut self.zones, &other.zones);
        share(&mut self.engine, &other.engine);
        share(&mut self.logs, &other.logs);
        share(&mut self.statistics, &other.statistics);
    }

    /// Returns all options of the job in order: those of global sections, then its own.
    pub fn given_options(&self) -> impl DoubleEndedIterator<Item = &InputOption> {
        self.section.from_global.iter().chain(&self.section.options)
    }

    /// Returns `true` if a global section or the job itself gives the option.
    pub fn is_given<S: Setter>(&self, row: &Row<S>) -> bool {
        self.given_options().any(|given| row.is(given.option))
    }
}

fn share<T: PartialEq>(part: &mut Arc<T>, other: &Arc<T>) {
    if !Arc::ptr_eq(part, other) && part == other {
        *part = Arc::clone(other);
    }
}

/// Maps each group of options to its field in a job.
macro_rules! groups {
    ($($group:path = $part:ident $(. $inside:ident)*;)+) => {
        $(impl HasGroup<$group> for FioJob {
            fn group_mut(&mut self) -> &mut $group {
                let part = Arc::make_mut(&mut self.$part);
                &mut (*part)$(.$inside)*
            }
        })+
    };
}

groups! {
    job::JobOptions = identity;
    files::FileOptions = files;
    files::NameOptions = files.names;
    files::LayoutOptions = files.layout;
    files::RemovalOptions = files.removal;
    files::HintOptions = files.hints;
    direction::DirectionOptions = direction;
    direction::RegionOptions = direction.region;
    direction::BlockOptions = direction.blocks;
    direction::OpOptions = direction.ops;
    direction::RandomOptions = direction.random;
    direction::SteadyStateOptions = direction.steady_state;
    queue::QueueOptions = queue;
    pace::RateOptions = pace.rate;
    pace::ThinkOptions = pace.think;
    pace::LatencyOptions = pace.latency;
    pace::FlowOptions = pace.flow;
    stop::StopOptions = stop;
    stop::SteadyOptions = stop.steady;
    durability::DurabilityOptions = durability;
    verify::VerifyOptions = verify;
    trim::TrimOptions = trim;
    replay::ReplayOptions = replay;
    content::ContentOptions = content;
    memory::MemoryOptions = memory;
    logs::LogOptions = logs;
    stats::StatsOptions = statistics;
    zones::ZoneOptions = zones;
    engine::EngineOptions = engine;
    engine::PriorityOptions = engine.priority;
    engine::CpuOptions = engine.cpuio;
    engine::NetOptions = engine.net;
    engine::StatOptions = engine.filestat;
    engine::ExecOptions = engine.exec;
    engine::DefragOptions = engine.defrag;
}
