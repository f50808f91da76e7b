//! Buffers, CPUs, NUMA nodes and priorities.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::choice::MemoryKind as MemorySource;
use crate::fio::value::lists::NumaPolicy;

/// Buffers, CPUs, NUMA nodes and priorities.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Memory,
    options: &[
        row("mem", UsageTier::Two, Kind::Special(Special::Memory))
            .or("iomem")
            .default("malloc")
            .doc("How I/O buffers are allocated."),
        row("iomem_align", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .or("mem_align")
            .default("0")
            .doc("Alignment of I/O buffers."),
        row("hugepage-size", UsageTier::Two, Kind::Whole(Slots::One, ANY)).default("2097152").doc("Huge page size."),
        row("lockmem", UsageTier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Amount of memory to lock during the run."),
        row("cpumask", UsageTier::Two, Kind::Whole(Slots::One, ANY)).doc("CPUs the workers may use, as a bit mask."),
        row("cpus_allowed", UsageTier::One, Kind::Special(Special::Cpus)).doc("CPUs the workers may use, as a list."),
        row("cpus_allowed_policy", UsageTier::Two, Kind::Choice(CpuPolicy::WORDS))
            .first()
            .doc("Share those CPUs between all workers, or give each worker its own."),
        row("numa_cpu_nodes", UsageTier::Two, Kind::Special(Special::Cpus)).doc("Run on the CPUs of these NUMA nodes."),
        row("numa_mem_policy", UsageTier::Two, Kind::Special(Special::NumaPolicy))
            .doc("NUMA memory policy for buffers."),
        row("prio", UsageTier::Two, Kind::Whole(Slots::One, at_most(7)))
            .doc("I/O priority within its class; 0 is the highest."),
        row("prioclass", UsageTier::Two, Kind::Whole(Slots::One, at_most(3)))
            .doc("I/O priority class: 1 realtime, 2 best effort, 3 idle."),
        row("priohint", UsageTier::Three, Kind::Whole(Slots::One, at_most(1023)))
            .not_yet("I/O priority hints are not implemented."),
    ],
};

/// Buffers, CPUs, NUMA nodes and priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryOptions {
    /// How I/O buffers are allocated.
    pub source: MemorySource,
    /// Alignment of I/O buffers.
    pub align_bytes: Option<u32>,
    /// Bytes of a huge page.
    pub hugepage_bytes: u32,
    /// Bytes of memory to lock.
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
    /// Each has its own.
    Split = "split",
}
