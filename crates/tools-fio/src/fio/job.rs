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
pub struct SaidOption {
    /// The option.
    pub option: &'static OptionSpec,
    /// The name that was used: its own or its alias.
    pub name: &'static str,
    /// What stood after `=`, if there was one, with variables put in.
    pub text: Option<String>,
    /// Where.
    pub place: WordLocation,
}

/// The section of a job file, or the words of a command line, that make a job.
#[derive(Debug, Clone)]
pub struct JobSection {
    /// The name of the section.
    pub name: String,
    /// A new file begins with it, so that its job waits for the jobs of earlier files; `identity.stonewall` says so too.
    pub opens_file: bool,
    /// Options of the global sections before it, in order.
    pub from_global: Arc<[SaidOption]>,
    /// Its own options, in order.
    pub said: Vec<SaidOption>,
}

/// One job of fio. Jobs share the parts that mean the same: a file can have thousands of jobs that differ in a word.
#[derive(Debug, Clone)]
pub struct FioJob {
    /// Its name: `name` where it is said, else its section's.
    pub name: String,
    /// Where it begins.
    pub place: WordLocation,
    /// The text that it was made of.
    pub section: JobSection,
    /// Its copies, order and group.
    pub identity: Arc<job::JobOptions>,
    /// Its files.
    pub files: Arc<files::FileOptions>,
    /// What it does.
    pub direction: Arc<direction::DirectionOptions>,
    /// How ops are submitted.
    pub queue: Arc<queue::QueueOptions>,
    /// How fast.
    pub pace: Arc<pace::PaceOptions>,
    /// When it ends.
    pub stop: Arc<stop::StopOptions>,
    /// When data is made to last.
    pub durability: Arc<durability::DurabilityOptions>,
    /// Whether what comes back is checked.
    pub verify: Arc<verify::VerifyOptions>,
    /// Trims amid other work.
    pub trim: Arc<trim::TrimOptions>,
    /// Ops from a recording.
    pub replay: Arc<replay::ReplayOptions>,
    /// What is written.
    pub content: Arc<content::ContentOptions>,
    /// Buffers, CPUs, NUMA nodes and priorities.
    pub memory: Arc<memory::MemoryOptions>,
    /// Zones.
    pub zones: Arc<zones::ZoneOptions>,
    /// What only some engines know.
    pub engine: Arc<engine::EngineOptions>,
    /// Logs.
    pub logs: Arc<logs::LogOptions>,
    /// Statistics.
    pub statistics: Arc<stats::StatsOptions>,
}

impl FioJob {
    /// Returns a job at the defaults of the table; its section is not applied yet.
    pub(super) fn unsaid(name: String, place: WordLocation, section: JobSection) -> FioJob {
        static DEFAULTS: OnceLock<FioJob> = OnceLock::new();
        let defaults = DEFAULTS.get_or_init(|| FioJob {
            name: String::new(),
            place: WordLocation::CommandLine { word: 0 },
            section: JobSection {
                name: String::new(),
                opens_file: false,
                from_global: Arc::default(),
                said: Vec::new(),
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

    /// Shares the parts that are equal in another job.
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
    pub fn all_said(&self) -> impl DoubleEndedIterator<Item = &SaidOption> {
        self.section.from_global.iter().chain(&self.section.said)
    }

    /// Returns `true` if a global section or the job itself gives the option.
    pub fn is_said<S: Setter>(&self, row: &Row<S>) -> bool {
        self.all_said().any(|said| row.is(said.option))
    }
}

fn share<T: PartialEq>(part: &mut Arc<T>, other: &Arc<T>) {
    if !Arc::ptr_eq(part, other) && part == other {
        *part = Arc::clone(other);
    }
}

/// Says where each group of options is in a job.
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
