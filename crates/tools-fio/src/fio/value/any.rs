//! The value of any option.

use super::choice::{ErrorsIgnored, LogName, MemoryKind, SteadyCriterion, SyncRange};
use super::direction::JobDirection;
use super::distribution::RandomDistribution;
use super::lists::NumaPolicy;
use super::pattern::Piece;
use super::shapes::{Between, FileRegion, PerDirection, ReadWrite};
use super::split::{PriorityShare, SplitShare};
use plumb_workload::Nanos;
use plumb_workload::blocks::fio::FileChoice;

/// What the text of an option means; the variant follows from the option's [`Kind`].
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// [`Kind::Whole`] with one slot.
    Whole(i64),
    /// [`Kind::Whole`] with two slots.
    WholePair(ReadWrite<Option<i64>>),
    /// [`Kind::Whole`] with three slots.
    Wholes(PerDirection<Option<i64>>),
    /// [`Kind::Wide`] with one slot.
    Wide(u64),
    /// [`Kind::Wide`] with two slots.
    WideBetween(Between<u64>),
    /// [`Kind::Wide`] with three slots.
    Wides(PerDirection<Option<u64>>),
    /// [`Kind::Time`] with one slot.
    Time(Nanos),
    /// [`Kind::Time`] with two slots.
    TimeBetween(Between<Nanos>),
    /// [`Kind::Time`] with three slots.
    Times(PerDirection<Option<Nanos>>),
    /// [`Kind::Region`].
    Region(FileRegion),
    /// [`Kind::Switch`] and [`Kind::Flag`].
    Switch(bool),
    /// [`Kind::Text`].
    Text(String),
    /// [`Kind::Names`].
    Names(Vec<String>),
    /// [`Kind::Choice`].
    Choice(&'static str),
    /// [`Kind::Choices`].
    Choices(Vec<&'static str>),
    /// [`Kind::Floats`].
    Floats(Vec<f64>),
    /// [`Kind::Ranges`].
    Ranges(PerDirection<Option<Between<u64>>>),
    /// [`Special::Direction`].
    Direction(JobDirection),
    /// [`Special::Split`].
    Split(PerDirection<Vec<SplitShare>>),
    /// [`Special::Distribution`].
    Distribution(RandomDistribution),
    /// [`Special::Pattern`].
    Pattern(Vec<Piece>),
    /// [`Special::Cpus`].
    Cpus(Vec<u32>),
    /// [`Special::NumaPolicy`].
    NumaPolicy(NumaPolicy),
    /// [`Special::IgnoreError`].
    IgnoreError(ErrorsIgnored),
    /// [`Special::Steady`].
    Steady(SteadyCriterion),
    /// [`Special::SyncRange`].
    SyncRange(SyncRange),
    /// [`Special::FileService`].
    FileService(FileChoice),
    /// [`Special::Memory`].
    Memory(MemoryKind),
    /// [`Special::LogName`].
    LogName(LogName),
    /// [`Special::PrioritySplit`].
    PrioritySplit(ReadWrite<Vec<PriorityShare>>),
}
