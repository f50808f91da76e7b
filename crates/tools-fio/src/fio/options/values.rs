//! The values of one job, by option: given values override defaults.

use super::by_name::ByName;
use super::spec::OptionSpec;
use crate::fio::value::{self, Between, Compat, Doubt, FileRegion, OptionValue, PerDirection, ReadWrite, ValueReading};
use plumb_workload::Nanos;
use plumb_workload::blocks::fio::FileChoice;

/// The table's defaults; nothing for an option that has none.
#[derive(Debug)]
pub struct Defaults(ByName<Option<OptionValue>>);

impl Defaults {
    pub(super) fn of(options: impl Iterator<Item = &'static OptionSpec>) -> Defaults {
        let mut doubts: Vec<Doubt> = Vec::new();
        let mut reading = ValueReading { compat: Compat::Meant, kb_base: 1_024, doubts: &mut doubts };
        let mut read = |option: &'static OptionSpec| {
            let text = option.default.filter(|text| !text.is_empty())?;
            Some(value::read(option, Some(text), &mut reading).expect("a test reads every default of the table"))
        };
        Defaults(options.map(|option| (option.name, read(option))).collect())
    }
}

/// The values of one job, by option name.
#[derive(Debug, Clone)]
pub struct OptionValues {
    /// In the order in which they were said; few, so that looking through all of them is quick.
    said: Vec<(&'static str, OptionValue)>,
    defaults: &'static Defaults,
}

impl PartialEq for OptionValues {
    fn eq(&self, other: &OptionValues) -> bool {
        self.said == other.said
    }
}

/// Takes a value of the variant that the option's kind gives.
macro_rules! taker {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $type:ty) => {
        $(#[$doc])*
        pub(in crate::fio) fn $name(&self, option: &str) -> Option<$type> {
            match self.get(option)? {
                OptionValue::$variant(value) => Some(value.clone()),
                other => panic!("{option} has the value {other:?}, which does not fit its kind"),
            }
        }
    };
}

impl OptionValues {
    /// Nothing is said yet.
    pub(super) fn new(defaults: &'static Defaults) -> OptionValues {
        OptionValues { said: Vec::new(), defaults }
    }

    /// Sets a value. Slots that it leaves open keep what they have.
    pub fn set(&mut self, option: &'static str, value: OptionValue) {
        let before = self.place(option).map(|place| self.said.remove(place).1);
        let merged = match (before, value) {
            (Some(OptionValue::Wholes(before)), OptionValue::Wholes(value)) => OptionValue::Wholes(over(value, before)),
            (Some(OptionValue::Wides(before)), OptionValue::Wides(value)) => OptionValue::Wides(over(value, before)),
            (Some(OptionValue::Times(before)), OptionValue::Times(value)) => OptionValue::Times(over(value, before)),
            (Some(OptionValue::Ranges(before)), OptionValue::Ranges(value)) => OptionValue::Ranges(over(value, before)),
            (Some(OptionValue::WholePair(before)), OptionValue::WholePair(value)) => {
                OptionValue::WholePair(ReadWrite {
                    read: value.read.or(before.read),
                    write: value.write.or(before.write),
                })
            }
            (_, value) => value,
        };
        self.said.push((option, merged));
    }

    /// Takes a value back.
    pub fn forget(&mut self, option: &str) {
        self.said.retain(|(name, _)| *name != option);
    }

    /// Whether it was said.
    pub fn is_said(&self, option: &str) -> bool {
        self.place(option).is_some()
    }

    fn place(&self, option: &str) -> Option<usize> {
        self.said.iter().position(|(name, _)| *name == option)
    }

    fn get(&self, option: &str) -> Option<&OptionValue> {
        debug_assert!(self.defaults.0.contains_key(option), "{option} is not in the table");
        match self.place(option) {
            Some(place) => Some(&self.said[place].1),
            None => self.defaults.0.get(option)?.as_ref(),
        }
    }

    taker!(/// [`OptionValue::Whole`].
        maybe_whole, Whole, i64);
    taker!(/// [`OptionValue::WholePair`].
        pair, WholePair, ReadWrite<Option<i64>>);
    taker!(/// [`OptionValue::Wholes`].
        wholes, Wholes, PerDirection<Option<i64>>);
    taker!(/// [`OptionValue::Wide`].
        wide, Wide, u64);
    taker!(/// [`OptionValue::WideBetween`].
        wide_between, WideBetween, Between<u64>);
    taker!(/// [`OptionValue::Wides`].
        wides, Wides, PerDirection<Option<u64>>);
    taker!(/// [`OptionValue::Time`].
        time, Time, Nanos);
    taker!(/// [`OptionValue::TimeBetween`].
        time_between, TimeBetween, Between<Nanos>);
    taker!(/// [`OptionValue::Times`].
        times, Times, PerDirection<Option<Nanos>>);
    taker!(/// [`OptionValue::Region`].
        region, Region, FileRegion);
    taker!(/// [`OptionValue::Text`].
        text, Text, String);
    taker!(/// [`OptionValue::Choice`].
        choice, Choice, &'static str);
    taker!(/// [`OptionValue::Ranges`].
        ranges, Ranges, PerDirection<Option<Between<u64>>>);
    taker!(/// [`OptionValue::Direction`].
        direction, Direction, value::direction::JobDirection);
    taker!(/// [`OptionValue::Split`].
        split, Split, PerDirection<Vec<value::split::SplitShare>>);
    taker!(/// [`OptionValue::Distribution`].
        distribution, Distribution, value::distribution::RandomDistribution);
    taker!(/// [`OptionValue::Pattern`].
        pattern, Pattern, Vec<value::pattern::Piece>);
    taker!(/// [`OptionValue::Cpus`].
        cpus, Cpus, Vec<u32>);
    taker!(/// [`OptionValue::NumaPolicy`].
        numa_policy, NumaPolicy, value::lists::NumaPolicy);
    taker!(/// [`OptionValue::IgnoreError`].
        ignore_error, IgnoreError, value::choice::ErrorsIgnored);
    taker!(/// [`OptionValue::Steady`].
        steady, Steady, value::choice::SteadyCriterion);
    taker!(/// [`OptionValue::SyncRange`].
        sync_range, SyncRange, value::choice::SyncRange);
    taker!(/// [`OptionValue::FileService`].
        file_service, FileService, FileChoice);
    taker!(/// [`OptionValue::Memory`].
        memory, Memory, value::choice::MemoryKind);
    taker!(/// [`OptionValue::LogName`].
        log_name, LogName, value::choice::LogName);
    taker!(/// [`OptionValue::PrioritySplit`].
        priority_split, PrioritySplit, ReadWrite<Vec<value::split::PriorityShare>>);
    taker!(/// [`OptionValue::Switch`].
        maybe_switch, Switch, bool);
    taker!(/// [`OptionValue::Names`].
        maybe_names, Names, Vec<String>);
    taker!(/// [`OptionValue::Choices`].
        maybe_choices, Choices, Vec<&'static str>);
    taker!(/// [`OptionValue::Floats`].
        maybe_floats, Floats, Vec<f64>);

    /// [`OptionValue::Switch`]; off where it has no default.
    pub(in crate::fio) fn switch(&self, option: &str) -> bool {
        self.maybe_switch(option).unwrap_or(false)
    }

    /// A count that is never negative; 0 where it has no default.
    pub(in crate::fio) fn count(&self, option: &str) -> u32 {
        self.maybe_count(option).unwrap_or(0)
    }

    /// The same, where it matters whether there is one.
    pub(in crate::fio) fn maybe_count(&self, option: &str) -> Option<u32> {
        self.maybe_whole(option).map(|value| u32::try_from(value).unwrap_or(0))
    }

    /// A count that means nothing at 0.
    pub(in crate::fio) fn count_unless_zero(&self, option: &str) -> Option<u32> {
        self.maybe_count(option).filter(|count| *count > 0)
    }

    /// A number of 64 bits that means nothing at 0.
    pub(in crate::fio) fn wide_unless_zero(&self, option: &str) -> Option<u64> {
        self.wide(option).filter(|value| *value > 0)
    }

    /// A time that means nothing at 0.
    pub(in crate::fio) fn time_unless_zero(&self, option: &str) -> Option<Nanos> {
        self.time(option).filter(|time| time.0 > 0)
    }

    /// [`OptionValue::Names`]; none if not given.
    pub(in crate::fio) fn names(&self, option: &str) -> Vec<String> {
        self.maybe_names(option).unwrap_or_default()
    }

    /// [`OptionValue::Floats`]; none if not given.
    pub(in crate::fio) fn floats(&self, option: &str) -> Vec<f64> {
        self.maybe_floats(option).unwrap_or_default()
    }

    /// Counts for reads, writes and trims that are never negative.
    pub(in crate::fio) fn counts(&self, option: &str) -> PerDirection<Option<u32>> {
        let counts = self.wholes(option).unwrap_or_default();
        counts.map(|count| count.map(|count| u32::try_from(count).unwrap_or(0)))
    }
}

fn over<T>(value: PerDirection<Option<T>>, before: PerDirection<Option<T>>) -> PerDirection<Option<T>> {
    PerDirection {
        read: value.read.or(before.read),
        write: value.write.or(before.write),
        trim: value.trim.or(before.trim),
    }
}
