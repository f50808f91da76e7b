//! A job with its meaning: what every option of the first two tiers says, with defaults filled in.
//!
//! Nothing is resolved that depends on other jobs, files or the machine: copies are not made, sizes in per cent stay so,
//! and what one option implies for another at run time (`verify` for `refill_buffers`, say) is left to lowering. Only
//! options that are two names of one choice are joined: `direct` and `buffered`, `rwmixread` and `rwmixwrite`,
//! `cpus_allowed` and `cpumask`, `gtod_reduce` and what it switches off.

pub mod data;
pub mod keywords;
pub mod machine;
pub mod place;
pub mod report;
mod values;
pub mod work;
mod work_parts;

use crate::fio::error::Place;
use crate::fio::options::OptionSpec;
use std::sync::Arc;
pub use values::Values;
pub use work_parts::{Sizes, SteadyStop};

/// An option exactly as it was said.
#[derive(Debug, Clone)]
pub struct Said {
    /// The option.
    pub option: &'static OptionSpec,
    /// The name that was used: its own or its alias.
    pub name: &'static str,
    /// What stood after `=`, if there was one, with variables put in.
    pub text: Option<String>,
    /// Where.
    pub place: Place,
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
    pub place: Place,
    /// A new file begins with it, so that it waits for the jobs of earlier files; `identity.stonewall` says so too.
    pub opens_file: bool,
    /// What global sections said before it, in order.
    pub from_global: Arc<[Said]>,
    /// What it says itself, in order.
    pub said: Vec<Said>,
    /// Its copies, order and group.
    pub identity: Arc<place::Identity>,
    /// Its files.
    pub files: Arc<place::FileSet>,
    /// What it does.
    pub direction: Arc<work::Work>,
    /// How ops are handed over.
    pub queue: Arc<work::Queue>,
    /// How fast.
    pub pace: Arc<work::Pace>,
    /// When it ends.
    pub stop: Arc<work::Stop>,
    /// When data is made to last.
    pub durability: Arc<data::Durability>,
    /// Whether what comes back is checked.
    pub verify: Arc<data::Verify>,
    /// Trims amid other work.
    pub trim: Arc<data::Trim>,
    /// Ops from a recording.
    pub replay: Arc<data::Replay>,
    /// What is written.
    pub content: Arc<data::Content>,
    /// Buffers, CPUs, memory nodes and priorities.
    pub memory: Arc<machine::Memory>,
    /// Zones.
    pub zones: Arc<machine::Zones>,
    /// What only some engines know.
    pub engine: Arc<machine::EngineOptions>,
    /// Logs.
    pub logs: Arc<report::Logs>,
    /// Statistics.
    pub statistics: Arc<report::Statistics>,
}

/// What is known of a job before its values get their meaning.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    pub name: String,
    pub section: String,
    pub place: Place,
    pub opens_file: bool,
    pub from_global: Arc<[Said]>,
    pub said: Vec<Said>,
}

/// The job before, and the values that it was made of.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub job: &'a FioJob,
    pub values: &'a Values,
}

impl FioJob {
    /// Gives values their meaning.
    pub(super) fn new(outline: Outline, values: &Values, before: Option<Before<'_>>) -> FioJob {
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
            let mut identity = place::Identity::of(values);
            identity.stonewall |= outline.opens_file;
            identity
        };
        FioJob {
            identity: part!(identity, identity()),
            files: part!(files, place::FileSet::of(values)),
            direction: part!(direction, work::Work::of(values)),
            queue: part!(queue, work::Queue::of(values)),
            pace: part!(pace, work::Pace::of(values)),
            stop: part!(stop, work::Stop::of(values)),
            durability: part!(durability, data::Durability::of(values)),
            verify: part!(verify, data::Verify::of(values)),
            trim: part!(trim, data::Trim::of(values)),
            replay: part!(replay, data::Replay::of(values)),
            content: part!(content, data::Content::of(values)),
            memory: part!(memory, machine::Memory::of(values)),
            zones: part!(zones, machine::Zones::of(values)),
            engine: part!(engine, machine::EngineOptions::of(values)),
            logs: part!(logs, report::Logs::of(values)),
            statistics: part!(statistics, report::Statistics::of(values)),
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
