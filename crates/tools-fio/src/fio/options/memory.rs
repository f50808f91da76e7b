//! Buffers, CPUs, NUMA nodes and priorities.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::choice::MemoryKind;
use crate::fio::value::kind::{ANY, at_most};
use crate::fio::value::lists::NumaPolicy;
use crate::fio::value::syntax::{CPU_MASK, CPUS, Count, MEMORY, NUMA_POLICY, Plain, Wide, Word, choice};
use crate::fio::value::{Maybe, UnlessZero};

// Rows that other modules use.
pub(in crate::fio) const MEM: Row<Plain<MemoryKind>> = row("mem", Two, MEMORY).or("iomem").default("malloc");

options! {
    /// Buffers, CPUs, NUMA nodes and priorities.
    pub struct MemoryOptions {
        /// How I/O buffers are allocated.
        source: MemoryKind = MEM;
        /// Alignment of I/O buffers.
        align_bytes: Option<u32> = row("iomem_align", Two, UnlessZero(Count(ANY))).or("mem_align").default("0");
        /// Huge page size.
        hugepage_bytes: u32 = row("hugepage-size", Two, Count(ANY)).default("2097152");
        /// Amount of memory to lock during the run.
        lock_bytes: Option<u64> = row("lockmem", Two, UnlessZero(Wide(ANY))).default("0");
        /// CPUs the workers may use, as a bit mask.
        cpus: Option<Vec<u32>> = row("cpumask", Two, Maybe(CPU_MASK)),
            or
            /// CPUs the workers may use, as a list.
            row("cpus_allowed", One, Maybe(CPUS));
        /// Share those CPUs between all workers, or give each worker its own.
        cpu_policy: CpuPolicy = row("cpus_allowed_policy", Two, choice::<CpuPolicy>()).first();
        /// Run on the CPUs of these NUMA nodes.
        numa_cpu_nodes: Option<Vec<u32>> = row("numa_cpu_nodes", Two, Maybe(CPUS));
        /// NUMA memory policy for buffers.
        numa_policy: NumaPolicy = row("numa_mem_policy", Two, NUMA_POLICY);
        /// I/O priority within its class; 0 is the highest.
        prio: Option<u32> = row("prio", Two, Maybe(Count(at_most(7))));
        /// I/O priority class: 1 realtime, 2 best effort, 3 idle.
        prio_class: Option<u32> = row("prioclass", Two, Maybe(Count(at_most(3))));
        _ = row("priohint", Three, Count(at_most(1023))).not_yet("I/O priority hints are not implemented.");
    }
}

words! {
    /// Distribution of the allowed CPUs among workers.
    CpuPolicy:
    /// All workers share all CPUs.
    Shared = "shared",
    /// Each worker has its own CPU.
    Split = "split",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Memory,
            &[
                ("mem=mmap:/f", |job| job.memory.source == MemoryKind::Mmap(Some("/f".to_owned()))),
                ("iomem_align=7", |job| job.memory.align_bytes == Some(7)),
                ("hugepage-size=7", |job| job.memory.hugepage_bytes == 7),
                ("lockmem=7k", |job| job.memory.lock_bytes == Some(7 << 10)),
                ("cpumask=5", |job| job.memory.cpus == Some(vec![0, 2])),
                ("cpus_allowed=0,3-4", |job| job.memory.cpus == Some(vec![0, 3, 4])),
                ("cpus_allowed_policy=split", |job| job.memory.cpu_policy == CpuPolicy::Split),
                ("numa_cpu_nodes=1", |job| job.memory.numa_cpu_nodes == Some(vec![1])),
                ("numa_mem_policy=bind:0-1", |job| job.memory.numa_policy == NumaPolicy::Bind(vec![0, 1])),
                ("prio=7", |job| job.memory.prio == Some(7)),
                ("prioclass=3", |job| job.memory.prio_class == Some(3)),
            ],
        );
    }
}
