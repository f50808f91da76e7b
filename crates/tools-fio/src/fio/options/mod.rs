//! The options of fio: one table, which the parser, the help, the documentation and the tests read.
//!
//! Names, types, defaults and bounds are facts about fio 3.42; the sentences are Plumb's own.

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

use by_name::ByName;
pub use plumb_tools::support::Support;
pub use row::{OptionName, Row, Setting};
pub use spec::{Category, OptionSpec, Precedence, Shelf, UsageTier};
use std::sync::OnceLock;

/// Every option, by category.
pub static SHELVES: [&Shelf; 18] = [
    &job::SHELF,
    &files::SHELF,
    &direction::SHELF,
    &queue::SHELF,
    &pace::SHELF,
    &stop::SHELF,
    &durability::SHELF,
    &verify::SHELF,
    &trim::SHELF,
    &replay::SHELF,
    &content::SHELF,
    &memory::SHELF,
    &logs::SHELF,
    &stats::SHELF,
    &zones::SHELF,
    &engine::SHELF,
    &passthrough::SHELF,
    &profiles::SHELF,
];

/// Every option.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
    SHELVES.iter().flat_map(|shelf| shelf.options())
}

/// The option of this name or alias.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    static INDEX: OnceLock<ByName<&'static OptionSpec>> = OnceLock::new();
    let by_name =
        |option: &'static OptionSpec| std::iter::once(option.name).chain(option.alias).map(move |name| (name, option));
    INDEX.get_or_init(|| all().flat_map(by_name).collect()).get(name).copied()
}

/// The closest name.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = all().flat_map(|option| std::iter::once(option.name).chain(option.alias));
    plumb_workload::suggest::nearest(name, names)
}
