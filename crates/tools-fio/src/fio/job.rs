//! A job with typed values: every option of the first two tiers, with defaults filled in.
//!
//! Nothing that depends on other jobs, files or the machine is resolved here: copies are not made, percentages stay
//! percentages, and what one option implies for another at run time (such as `verify` for `refill_buffers`) is left to
//! lowering. Only options that are two names for one choice are merged: `direct` and `buffered`, `rwmixread` and
//! `rwmixwrite`, `cpus_allowed` and `cpumask`, `gtod_reduce` and what it switches off.

use crate::fio::error::WordLocation;
use crate::fio::options::{
    OptionSpec, OptionValues, content, direction, durability, engine, files, job, logs, memory, pace, queue, replay,
    stats, stop, trim, verify, zones,
};
use std::sync::Arc;

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

/// One job of fio. What it means alike with the job before it, the two have together: a file can have thousands of jobs
/// that differ in a word.
#[derive(Debug, Clone)]
pub struct FioJob {
    /// Its name: `name` where it is said, else its section's.
    pub name: String,
    /// Its section's name.
    pub section: String,
    /// Where it begins.
    pub place: WordLocation,
    /// A new file begins with it, so that it waits for the jobs of earlier files; `identity.stonewall` says so too.
    pub opens_file: bool,
    /// What global sections said before it, in order.
    pub from_global: Arc<[SaidOption]>,
    /// What it says itself, in order.
    pub said: Vec<SaidOption>,
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

/// What is known of a job before its values get their meaning.
#[derive(Debug, Clone)]
pub(super) struct JobOutline {
    pub name: String,
    pub section: String,
    pub place: WordLocation,
    pub opens_file: bool,
    pub from_global: Arc<[SaidOption]>,
    pub said: Vec<SaidOption>,
}

/// The job before, and the values that it was made of.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub job: &'a FioJob,
    pub values: &'a OptionValues,
}

impl FioJob {
    /// Gives values their meaning.
    pub(super) fn new(outline: JobOutline, values: &OptionValues, before: Option<Before<'_>>) -> FioJob {
        let same = before.filter(|before| before.values == values && before.job.opens_file == outline.opens_file);
        macro_rules! part {
            ($field:ident, $of:expr) => {
                match same {
                    Some(before) => Arc::clone(&before.job.$field),
                    None => shared($of, before.map(|before| &before.job.$field)),
                }
            };
        }
        let identity = || {
            let mut identity = job::JobOptions::of(values);
            identity.stonewall |= outline.opens_file;
            identity
        };
        FioJob {
            identity: part!(identity, identity()),
            files: part!(files, files::FileOptions::of(values)),
            direction: part!(direction, direction::DirectionOptions::of(values)),
            queue: part!(queue, queue::QueueOptions::of(values)),
            pace: part!(pace, pace::PaceOptions::of(values)),
            stop: part!(stop, stop::StopOptions::of(values)),
            durability: part!(durability, durability::DurabilityOptions::of(values)),
            verify: part!(verify, verify::VerifyOptions::of(values)),
            trim: part!(trim, trim::TrimOptions::of(values)),
            replay: part!(replay, replay::ReplayOptions::of(values)),
            content: part!(content, content::ContentOptions::of(values)),
            memory: part!(memory, memory::MemoryOptions::of(values)),
            zones: part!(zones, zones::ZoneOptions::of(values)),
            engine: part!(engine, engine::EngineOptions::of(values)),
            logs: part!(logs, logs::LogOptions::of(values)),
            statistics: part!(statistics, stats::StatsOptions::of(values)),
            name: outline.name,
            section: outline.section,
            place: outline.place,
            opens_file: outline.opens_file,
            from_global: outline.from_global,
            said: outline.said,
        }
    }
}

fn shared<T: PartialEq>(part: T, before: Option<&Arc<T>>) -> Arc<T> {
    match before {
        Some(before) if **before == part => Arc::clone(before),
        _ => Arc::new(part),
    }
}
