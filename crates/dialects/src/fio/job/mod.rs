//! A job with its meaning: what every option of the first two tiers says, with defaults filled in.
//!
//! Nothing is resolved that depends on other jobs, files or the machine: copies are not made, sizes in per cent stay so,
//! and what one option implies for another at run time (`verify` for `refill_buffers`, say) is left to lowering. Only
//! options that are two names of one choice are joined: `direct` and `buffered`, `rwmixread` and `rwmixwrite`,
//! `cpus_allowed` and `cpumask`, `gtod_reduce` and what it switches off.

pub mod data;
pub mod machine;
pub mod place;
pub mod report;
mod values;
pub mod words;
pub mod work;
mod work_parts;

use crate::fio::error::Place;
use crate::fio::options::OptionSpec;
pub use values::Values;
pub use work_parts::{Sizes, SteadyStop};

/// An option exactly as it was said.
#[derive(Debug, Clone)]
pub struct Said {
    /// The option.
    pub option: &'static OptionSpec,
    /// The name that was used: its own or its alias.
    pub name: String,
    /// What stood after `=`, if there was one, with variables put in.
    pub text: Option<String>,
    /// Where.
    pub place: Place,
}

/// One job of fio.
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
    pub from_global: Vec<Said>,
    /// What it says itself, in order.
    pub said: Vec<Said>,
    /// Its copies, order and group.
    pub identity: place::Identity,
    /// Its files.
    pub files: place::FileSet,
    /// What it does.
    pub direction: work::Work,
    /// How ops are handed over.
    pub queue: work::Queue,
    /// How fast.
    pub pace: work::Pace,
    /// When it ends.
    pub stop: work::Stop,
    /// When data is made to last.
    pub durability: data::Durability,
    /// Whether what comes back is checked.
    pub verify: data::Verify,
    /// Trims amid other work.
    pub trim: data::Trim,
    /// Ops from a recording.
    pub replay: data::Replay,
    /// What is written.
    pub content: data::Content,
    /// Buffers, CPUs, memory nodes and priorities.
    pub memory: machine::Memory,
    /// Zones.
    pub zones: machine::Zones,
    /// What only some engines know.
    pub engine: machine::EngineOptions,
    /// Logs.
    pub logs: report::Logs,
    /// Statistics.
    pub statistics: report::Statistics,
}

/// What is known of a job before its values get their meaning.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    pub name: String,
    pub section: String,
    pub place: Place,
    pub opens_file: bool,
    pub from_global: Vec<Said>,
    pub said: Vec<Said>,
}

impl FioJob {
    /// Gives values their meaning.
    pub(super) fn new(outline: Outline, values: &Values) -> FioJob {
        let mut identity = place::Identity::of(values);
        identity.stonewall |= outline.opens_file;
        FioJob {
            name: outline.name,
            section: outline.section,
            place: outline.place,
            opens_file: outline.opens_file,
            from_global: outline.from_global,
            said: outline.said,
            identity,
            files: place::FileSet::of(values),
            direction: work::Work::of(values),
            queue: work::Queue::of(values),
            pace: work::Pace::of(values),
            stop: work::Stop::of(values),
            durability: data::Durability::of(values),
            verify: data::Verify::of(values),
            trim: data::Trim::of(values),
            replay: data::Replay::of(values),
            content: data::Content::of(values),
            memory: machine::Memory::of(values),
            zones: machine::Zones::of(values),
            engine: machine::EngineOptions::of(values),
            logs: report::Logs::of(values),
            statistics: report::Statistics::of(values),
        }
    }
}
