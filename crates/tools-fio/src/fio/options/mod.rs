//! The options of fio: one table for the parser, the help, the documentation and the tests.
//!
//! Names, types, defaults and bounds are facts about fio 3.42; the descriptions are Plumb's own.

mod by_name;
pub mod content;
pub mod direction;
pub mod durability;
pub mod engine;
pub mod files;
pub mod job;
mod keywords;
pub mod logs;
pub mod memory;
pub mod pace;
mod passthrough;
pub(in crate::fio) mod profiles;
pub mod queue;
pub mod replay;
mod row;
mod spec;
pub mod stats;
pub mod stop;
#[cfg(test)]
mod tests;
pub mod trim;
pub mod verify;
pub mod zones;

use super::job::FioJob;
use by_name::ByName;
pub use plumb_tools::support::Support;
pub use row::{HasGroup, OptionName, Row};
pub use spec::{Category, Precedence, UsageTier};
use std::sync::OnceLock;

/// An option, bound to a field of a job.
pub type OptionSpec = spec::OptionSpec<FioJob>;

/// The parsed value of an option, to be applied to any number of jobs.
pub type Setting = row::Setting<FioJob>;

/// The options of one category.
pub type Shelf = spec::Shelf<FioJob>;

/// Every option, by category.
pub static SHELVES: [Shelf; 18] = [
    Shelf { category: Category::Job, groups: &[job::JobOptions::rows()] },
    Shelf {
        category: Category::Files,
        groups: &[
            files::NameOptions::rows(),
            files::FileOptions::rows(),
            files::LayoutOptions::rows(),
            files::RemovalOptions::rows(),
            files::HintOptions::rows(),
        ],
    },
    Shelf {
        category: Category::Direction,
        groups: &[
            direction::DirectionOptions::rows(),
            direction::RegionOptions::rows(),
            direction::BlockOptions::rows(),
            direction::OpOptions::rows(),
            direction::RandomOptions::rows(),
            direction::SteadyStateOptions::rows(),
        ],
    },
    Shelf { category: Category::Queue, groups: &[queue::QueueOptions::rows()] },
    Shelf {
        category: Category::Pace,
        groups: &[
            pace::RateOptions::rows(),
            pace::ThinkOptions::rows(),
            pace::LatencyOptions::rows(),
            pace::FlowOptions::rows(),
        ],
    },
    Shelf { category: Category::Stop, groups: &[stop::StopOptions::rows(), stop::SteadyOptions::rows()] },
    Shelf { category: Category::Durability, groups: &[durability::DurabilityOptions::rows()] },
    Shelf { category: Category::Verify, groups: &[verify::VerifyOptions::rows()] },
    Shelf { category: Category::Trim, groups: &[trim::TrimOptions::rows()] },
    Shelf { category: Category::Replay, groups: &[replay::ReplayOptions::rows()] },
    Shelf { category: Category::Content, groups: &[content::ContentOptions::rows()] },
    Shelf { category: Category::Memory, groups: &[memory::MemoryOptions::rows()] },
    Shelf { category: Category::Logs, groups: &[logs::LogOptions::rows()] },
    Shelf { category: Category::Statistics, groups: &[stats::StatsOptions::rows()] },
    Shelf { category: Category::Zones, groups: &[zones::ZoneOptions::rows()] },
    Shelf {
        category: Category::Engine,
        groups: &[
            engine::EngineOptions::rows(),
            engine::PriorityOptions::rows(),
            engine::CpuOptions::rows(),
            engine::NetOptions::rows(),
            engine::StatOptions::rows(),
            engine::ExecOptions::rows(),
            engine::DefragOptions::rows(),
        ],
    },
    Shelf { category: Category::Passthrough, groups: &[passthrough::rows()] },
    Shelf { category: Category::Profiles, groups: &[profiles::rows()] },
];

/// Returns every option.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
    SHELVES.iter().flat_map(|shelf| shelf.options())
}

/// Returns the option with this name or alias.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    static INDEX: OnceLock<ByName<&'static OptionSpec>> = OnceLock::new();
    let by_name =
        |option: &'static OptionSpec| std::iter::once(option.name).chain(option.alias).map(move |name| (name, option));
    INDEX.get_or_init(|| all().flat_map(by_name).collect()).get(name).copied()
}

pub fn nearest(name: &str) -> Option<&'static str> {
    let names = all().flat_map(|option| std::iter::once(option.name).chain(option.alias));
    plumb_workload::suggest::nearest(name, names)
}
