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
pub mod kind;
pub mod logs;
pub mod memory;
pub mod pace;
mod passthrough;
mod profiles;
pub mod queue;
pub mod replay;
pub mod shape;
pub(in crate::fio) mod spec;
pub mod stats;
pub mod stop;
pub mod trim;
mod values;
pub mod verify;
pub mod zones;

use by_name::ByName;
pub use plumb_tools::support::Support;
pub use spec::{Category, OptionSpec, Precedence, Shelf, UsageTier};
use std::sync::OnceLock;
use values::Defaults;
pub use values::OptionValues;

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
    SHELVES.iter().flat_map(|shelf| shelf.options)
}

/// The option of this name or alias.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    static INDEX: OnceLock<ByName<&'static OptionSpec>> = OnceLock::new();
    let by_name =
        |option: &'static OptionSpec| std::iter::once(option.name).chain(option.alias).map(move |name| (name, option));
    INDEX.get_or_init(|| all().flat_map(by_name).collect()).get(name).copied()
}

/// The values of a job that says nothing yet.
pub(super) fn values() -> OptionValues {
    static DEFAULTS: OnceLock<Defaults> = OnceLock::new();
    OptionValues::new(DEFAULTS.get_or_init(|| Defaults::of(all())))
}

/// The closest name.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = all().flat_map(|option| std::iter::once(option.name).chain(option.alias));
    plumb_workload::suggest::nearest(name, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_means_two_options() {
        let mut seen = BTreeSet::new();
        for name in all().flat_map(|option| std::iter::once(option.name).chain(option.alias)) {
            assert!(seen.insert(name), "{name} is there twice");
        }
    }

    #[test]
    fn what_is_used_is_explained_and_not_refused() {
        for option in all().filter(|option| option.tier <= UsageTier::Two) {
            let told = matches!(option.support, Support::Works | Support::Ignored(_));
            assert!(told, "{} must work", option.name);
            let sentence = match option.support {
                Support::Works => option.doc,
                Support::Ignored(why) | Support::NotYet(why) | Support::Never(why) => why,
            };
            assert!(sentence.ends_with('.'), "{} has no sentence", option.name);
        }
    }

    #[test]
    fn the_table_holds_what_was_counted() {
        // The specification counts 67 names of Tier 1, `include` and three engine flags among them, and 191 of Tier 2.
        let of = |tier| all().filter(|option| option.tier == tier).count();
        assert!(of(UsageTier::One) >= 60, "{}", of(UsageTier::One));
        assert!(of(UsageTier::Two) >= 185, "{}", of(UsageTier::Two));
    }
}
