//! Buffers, CPUs, memory nodes and priorities.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::choice::MemoryKind as MemorySource;
use crate::fio::value::lists::NumaPolicy;

/// Buffers, CPUs, memory nodes and priorities.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Memory,
    options: &[
        row("mem", UsageTier::Two, Kind::Special(Special::Memory))
            .or("iomem")
            .default("malloc")
            .doc("Where buffers come from."),
        row("iomem_align", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("mem_align")
            .default("0")
            .doc("Buffers begin at multiples of this."),
        row("hugepage-size", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("2097152")
            .doc("Size of a huge page."),
        row("lockmem", UsageTier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Pin so much memory for the length of the run."),
        row("cpumask", UsageTier::Two, Kind::Whole(Slots::One, ANY)).doc("The CPUs workers may use, as bits."),
        row("cpus_allowed", UsageTier::One, Kind::Special(Special::Cpus)).doc("The CPUs workers may use."),
        row("cpus_allowed_policy", UsageTier::Two, Kind::Choice(CpuPolicy::WORDS))
            .first()
            .doc("Let all workers use all of those CPUs, or give each one of its own."),
        row("numa_cpu_nodes", UsageTier::Two, Kind::Special(Special::Cpus))
            .doc("Run on the CPUs of these memory nodes."),
        row("numa_mem_policy", UsageTier::Two, Kind::Special(Special::NumaPolicy))
            .doc("Which memory node buffers come from."),
        row("prio", UsageTier::Two, Kind::Whole(Slots::One, at_most(7)))
            .doc("Priority of ops within its class, 0 the highest."),
        row("prioclass", UsageTier::Two, Kind::Whole(Slots::One, at_most(3)))
            .doc("Priority class: 1 realtime, 2 best effort, 3 idle."),
        row("priohint", UsageTier::Three, Kind::Whole(Slots::One, at_most(1023)))
            .not_yet("Priority hints are not connected yet."),
    ],
};

/// Buffers, CPUs, memory nodes and priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryOptions {
    /// Where buffers come from.
    pub source: MemorySource,
    /// Buffers begin at multiples of this.
    pub align_bytes: Option<u32>,
    /// Bytes of a huge page.
    pub hugepage_bytes: u32,
    /// Pin so much memory.
    pub lock_bytes: Option<u64>,
    /// The CPUs workers may use; from `cpus_allowed` or `cpumask`.
    pub cpus: Option<Vec<u32>>,
    /// How workers share them.
    pub cpu_policy: CpuPolicy,
    /// Run on the CPUs of these nodes.
    pub numa_cpu_nodes: Option<Vec<u32>>,
    /// Which node buffers come from.
    pub numa_policy: NumaPolicy,
    /// Priority of ops within the class.
    pub prio: Option<u32>,
    /// Priority class.
    pub prio_class: Option<u32>,
}

impl MemoryOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> MemoryOptions {
        MemoryOptions {
            source: values.memory("mem").unwrap_or(MemorySource::Malloc),
            align_bytes: values.count_unless_zero("iomem_align"),
            hugepage_bytes: values.count("hugepage-size"),
            lock_bytes: values.wide_unless_zero("lockmem"),
            cpus: values.cpus("cpus_allowed"),
            cpu_policy: CpuPolicy::maybe(values).unwrap_or(CpuPolicy::Shared),
            numa_cpu_nodes: values.cpus("numa_cpu_nodes"),
            numa_policy: values.numa_policy("numa_mem_policy").unwrap_or(NumaPolicy::Default),
            prio: values.maybe_count("prio"),
            prio_class: values.maybe_count("prioclass"),
        }
    }
}

words! {
    /// How workers share the CPUs they may use.
    CpuPolicy, "cpus_allowed_policy":
    /// All use all.
    Shared = "shared",
    /// Each has one of its own.
    Split = "split",
}
