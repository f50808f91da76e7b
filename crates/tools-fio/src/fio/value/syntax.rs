//! Parsers for the text of options, one type for each kind of value.

use super::kind::{ANY, Bare, Bounds, Kind, Slots, Special};
use super::slots::{self, Scalar};
use super::{Between, FileRegion, PerDirection, ReadWrite, ValueError, ValueReading};
use super::{choice, direction, distribution, lists, number, pattern, split};
use plumb_workload::Nanos;
use plumb_workload::blocks::fio::FileChoice;
use std::marker::PhantomData;

/// Parses the text of an option.
pub trait Syntax: Copy + Send + Sync + 'static {
    type Value: Clone + Send + Sync + 'static;

    /// Returns the kind of value, for the help.
    fn kind(&self) -> Kind;

    /// Parses a text; `None` if nothing followed the option's name.
    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Self::Value, ValueError>;
}

/// Trims the text and rejects an empty one.
pub(super) fn required(text: Option<&str>) -> Result<&str, ValueError> {
    text.map(str::trim).filter(|text| !text.is_empty()).ok_or(ValueError::Missing)
}

/// A signed 32-bit integer, with optional byte suffixes.
#[derive(Clone, Copy)]
pub struct Whole(pub Bounds);

impl Scalar for Whole {
    type Value = i64;

    fn kind(&self, slots: Slots) -> Kind {
        Kind::Whole(slots, self.0)
    }

    fn one(&self, text: &str, reading: &mut ValueReading<'_>) -> Result<i64, ValueError> {
        slots::whole(text, self.0, reading)
    }
}

/// An unsigned 32-bit integer.
#[derive(Clone, Copy)]
pub struct Count(pub Bounds);

impl Scalar for Count {
    type Value = u32;

    fn kind(&self, slots: Slots) -> Kind {
        Kind::Whole(slots, self.0)
    }

    fn one(&self, text: &str, reading: &mut ValueReading<'_>) -> Result<u32, ValueError> {
        Ok(u32::try_from(slots::whole(text, self.0, reading)?).unwrap_or(0))
    }
}

/// An unsigned 64-bit integer, usually bytes.
#[derive(Clone, Copy)]
pub struct Wide(pub Bounds);

impl Scalar for Wide {
    type Value = u64;

    fn kind(&self, slots: Slots) -> Kind {
        Kind::Wide(slots, self.0)
    }

    fn one(&self, text: &str, reading: &mut ValueReading<'_>) -> Result<u64, ValueError> {
        let value = number::check_bounds(i128::from(number::plain(text, reading)?), self.0)?;
        number::wide(value, reading.compat)
    }
}

/// A length of time. The parameter is the unit of a bare number.
#[derive(Clone, Copy)]
pub struct Time(pub Bare);

impl Scalar for Time {
    type Value = Nanos;

    fn kind(&self, slots: Slots) -> Kind {
        Kind::Time(slots, self.0)
    }

    fn one(&self, text: &str, reading: &mut ValueReading<'_>) -> Result<Nanos, ValueError> {
        number::time(text, self.0, reading)
    }
}

impl<S: Scalar> Syntax for S {
    type Value = S::Value;

    fn kind(&self) -> Kind {
        Scalar::kind(self, Slots::One)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<S::Value, ValueError> {
        self.one(required(text)?, reading)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct PowerOfTwo;

impl Syntax for PowerOfTwo {
    type Value = u32;

    fn kind(&self) -> Kind {
        Kind::Whole(Slots::One, ANY)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<u32, ValueError> {
        let value = slots::whole(required(text)?, ANY, reading)?;
        let power = u32::try_from(value).ok().filter(|value| value.is_power_of_two());
        power.ok_or_else(|| ValueError::grammar(format!("{value} is not a power of two")))
    }
}

/// One value, or two separated by a dash.
#[derive(Clone, Copy)]
pub struct Range<S>(pub S);

impl<S: Scalar> Syntax for Range<S> {
    type Value = Between<S::Value>;

    fn kind(&self) -> Kind {
        Scalar::kind(&self.0, Slots::Two)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Between<S::Value>, ValueError> {
        slots::two(required(text)?, reading, |part, reading| self.0.one(part, reading))
    }
}

/// A value for reads and one for writes; slots that the text leaves open are `None`.
#[derive(Clone, Copy)]
pub struct TwoSlots<S>(pub S);

impl<S: Scalar> Syntax for TwoSlots<S> {
    type Value = ReadWrite<Option<S::Value>>;

    fn kind(&self) -> Kind {
        Scalar::kind(&self.0, Slots::Two)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Self::Value, ValueError> {
        let three = slots::three(required(text)?, true, reading, |part, reading| self.0.one(part, reading))?;
        Ok(ReadWrite { read: three.read, write: three.write })
    }
}

/// Values for reads, writes and trims; slots that the text leaves open are `None`.
#[derive(Clone, Copy)]
pub struct ThreeSlots<S>(pub S);

impl<S: Scalar> Syntax for ThreeSlots<S> {
    type Value = PerDirection<Option<S::Value>>;

    fn kind(&self) -> Kind {
        Scalar::kind(&self.0, Slots::Three)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Self::Value, ValueError> {
        slots::three(required(text)?, true, reading, |part, reading| self.0.one(part, reading))
    }
}

/// Byte ranges for reads, writes and trims; slots that the text leaves open are `None`.
#[derive(Clone, Copy)]
pub struct ThreeRanges;

impl Syntax for ThreeRanges {
    type Value = PerDirection<Option<Between<u64>>>;

    fn kind(&self) -> Kind {
        Kind::Ranges
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Self::Value, ValueError> {
        slots::ranges(required(text)?, reading)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Floats {
    pub most: usize,
    /// Minimum and maximum.
    pub bounds: Option<(f64, f64)>,
}

impl Syntax for Floats {
    type Value = Vec<f64>;

    fn kind(&self) -> Kind {
        Kind::Floats { most: self.most, bounds: self.bounds }
    }

    fn read(&self, text: Option<&str>, _: &mut ValueReading<'_>) -> Result<Vec<f64>, ValueError> {
        lists::floats(required(text)?, self.most, self.bounds)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct OneOf(pub &'static [&'static str]);

impl Syntax for OneOf {
    type Value = &'static str;

    fn kind(&self) -> Kind {
        Kind::Choice(self.0)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<&'static str, ValueError> {
        choice::one(required(text)?, self.0, reading)
    }
}

/// A comma-separated list of these keywords.
#[derive(Clone, Copy)]
pub(crate) struct SomeOf(pub &'static [&'static str]);

impl Syntax for SomeOf {
    type Value = Vec<&'static str>;

    fn kind(&self) -> Kind {
        Kind::Choices(self.0)
    }

    fn read(&self, text: Option<&str>, _: &mut ValueReading<'_>) -> Result<Vec<&'static str>, ValueError> {
        choice::some(required(text)?, self.0)
    }
}

/// An enum whose variants are the keywords of an option. Without a default in the
/// table, the first keyword is the default.
pub trait Word: Clone + Send + Sync + 'static {
    /// Keywords for the help.
    const WORDS: &[&str];

    /// The variant of the first keyword.
    const FIRST: Self;

    /// Returns the variant of a keyword.
    fn from_keyword(word: &str) -> Option<Self>;
}

/// A keyword of an enum.
pub struct Choice<W>(PhantomData<fn() -> W>);

/// Returns the syntax for the keywords of an enum.
pub const fn choice<W: Word>() -> Choice<W> {
    Choice(PhantomData)
}

impl<W> Clone for Choice<W> {
    fn clone(&self) -> Choice<W> {
        *self
    }
}

impl<W> Copy for Choice<W> {}

impl<W: Word> Syntax for Choice<W> {
    type Value = W;

    fn kind(&self) -> Kind {
        Kind::Choice(W::WORDS)
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<W, ValueError> {
        let word = choice::one(required(text)?, W::WORDS, reading)?;
        W::from_keyword(word).ok_or_else(|| ValueError::not_a_choice(word, W::WORDS))
    }
}

pub struct Plain<T> {
    kind: Kind,
    read: fn(Option<&str>, &mut ValueReading<'_>) -> Result<T, ValueError>,
}

impl<T> Clone for Plain<T> {
    fn clone(&self) -> Plain<T> {
        *self
    }
}

impl<T> Copy for Plain<T> {}

impl<T: Clone + Send + Sync + 'static> Syntax for Plain<T> {
    type Value = T;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<T, ValueError> {
        (self.read)(text, reading)
    }
}

/// `0` for off or `1` for on.
pub(crate) const SWITCH: Plain<bool> =
    Plain { kind: Kind::Switch, read: |text, _| super::switch(Some(required(text)?), 1) };

/// Present or absent; `0` turns it off again.
pub const FLAG: Plain<bool> =
    Plain { kind: Kind::Flag, read: |text, _| super::switch(text.filter(|text| !text.is_empty()), u32::MAX) };

pub const TEXT: Plain<String> = Plain { kind: Kind::Text, read: |text, _| required(text).map(str::to_owned) };

/// Text of an engine's option. It may be empty, such as a key from a variable that is not
/// set; the engine knows what that means.
pub(crate) const ENGINE_TEXT: Plain<String> =
    Plain { kind: Kind::Text, read: |text, _| text.map(|text| text.trim().to_owned()).ok_or(ValueError::Missing) };

/// Colon-separated names; `\:` is a colon inside a name.
pub const NAMES: Plain<Vec<String>> = Plain { kind: Kind::Names, read: |text, _| required(text).map(lists::names) };

/// Bytes, percentage of a file, or number of zones.
pub(crate) const REGION: Plain<FileRegion> =
    Plain { kind: Kind::Region, read: |text, reading| super::region(required(text)?, reading) };

/// `randread:8`.
pub const DIRECTION: Plain<direction::JobDirection> =
    Plain { kind: Kind::Special(Special::Direction), read: |text, reading| direction::read(required(text)?, reading) };

/// `4k/60:64k/40,8k`.
pub(crate) const SPLIT: Plain<PerDirection<Vec<split::SplitShare>>> =
    Plain { kind: Kind::Special(Special::Split), read: |text, reading| split::shares(required(text)?, reading) };

/// `zipf:1.2`, `zoned:60/10:40/90`, ….
pub(crate) const DISTRIBUTION: Plain<distribution::RandomDistribution> = Plain {
    kind: Kind::Special(Special::Distribution),
    read: |text, reading| distribution::read(required(text)?, reading),
};

/// `"text"0xff-12`.
pub(crate) const PATTERN: Plain<Vec<pattern::Piece>> =
    Plain { kind: Kind::Special(Special::Pattern), read: |text, _| pattern::read(required(text)?) };

/// `0,5,8-15`.
pub const CPUS: Plain<Vec<u32>> =
    Plain { kind: Kind::Special(Special::Cpus), read: |text, _| lists::cpus(required(text)?) };

/// CPUs as a 32-bit mask.
pub(crate) const CPU_MASK: Plain<Vec<u32>> = Plain {
    kind: Kind::Whole(Slots::One, ANY),
    read: |text, reading| {
        let mask = slots::whole(required(text)?, ANY, reading)?;
        Ok((0..32).filter(|cpu| mask & (1 << cpu) != 0).collect())
    },
};

/// `bind:0-1`.
pub(crate) const NUMA_POLICY: Plain<lists::NumaPolicy> =
    Plain { kind: Kind::Special(Special::NumaPolicy), read: |text, _| lists::numa_policy(required(text)?) };

/// `EIO:ENOSPC,5`.
pub(crate) const IGNORE_ERROR: Plain<choice::ErrorsIgnored> =
    Plain { kind: Kind::Special(Special::IgnoreError), read: |text, _| choice::errors_ignored(required(text)?) };

/// `iops_slope:0.3%`.
pub(crate) const STEADY: Plain<choice::SteadyCriterion> =
    Plain { kind: Kind::Special(Special::Steady), read: |text, reading| choice::steady(required(text)?, reading) };

/// `wait_before,write:8`.
pub(crate) const SYNC_RANGE: Plain<choice::SyncRange> =
    Plain { kind: Kind::Special(Special::SyncRange), read: |text, _| choice::sync_range(required(text)?) };

/// `random:8`, `zipf:1.2`.
pub(crate) const FILE_SERVICE: Plain<FileChoice> =
    Plain { kind: Kind::Special(Special::FileService), read: |text, _| distribution::file_service(required(text)?) };

/// `mmap:/path`.
pub const MEMORY: Plain<choice::MemoryKind> =
    Plain { kind: Kind::Special(Special::Memory), read: |text, _| choice::memory(required(text)?) };

/// A prefix; without one, the job's name.
pub(crate) const LOG_NAME: Plain<choice::LogName> =
    Plain { kind: Kind::Special(Special::LogName), read: |text, _| Ok(choice::log_name(text)) };

/// `4k/10/1/0:64k/90`.
pub(crate) const PRIORITY_SPLIT: Plain<ReadWrite<Vec<split::PriorityShare>>> = Plain {
    kind: Kind::Special(Special::PrioritySplit),
    read: |text, reading| split::priorities(required(text)?, reading),
};
