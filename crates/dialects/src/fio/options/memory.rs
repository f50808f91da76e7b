//! Buffers, CPUs, memory nodes and priorities.

use super::kind::{ANY, Kind, Slots, Special, at_most};
use super::{Category, Shelf, Tier, row};

/// Buffers, CPUs, memory nodes and priorities.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Memory,
    options: &[
        row("mem", Tier::Two, Kind::Special(Special::Memory))
            .or("iomem")
            .default("malloc")
            .doc("Where buffers come from."),
        row("iomem_align", Tier::Two, Kind::Whole(Slots::One, ANY))
            .or("mem_align")
            .default("0")
            .doc("Buffers begin at multiples of this."),
        row("hugepage-size", Tier::Two, Kind::Whole(Slots::One, ANY)).default("2097152").doc("Size of a huge page."),
        row("lockmem", Tier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Pin so much memory for the length of the run."),
        row("cpumask", Tier::Two, Kind::Whole(Slots::One, ANY)).doc("The CPUs workers may use, as bits."),
        row("cpus_allowed", Tier::One, Kind::Special(Special::Cpus)).doc("The CPUs workers may use."),
        row("cpus_allowed_policy", Tier::Two, Kind::Choice(&["shared", "split"]))
            .first()
            .doc("Let all workers use all of those CPUs, or give each one of its own."),
        row("numa_cpu_nodes", Tier::Two, Kind::Special(Special::Cpus)).doc("Run on the CPUs of these memory nodes."),
        row("numa_mem_policy", Tier::Two, Kind::Special(Special::NumaPolicy))
            .doc("Which memory node buffers come from."),
        row("prio", Tier::Two, Kind::Whole(Slots::One, at_most(7)))
            .doc("Priority of ops within its class, 0 the highest."),
        row("prioclass", Tier::Two, Kind::Whole(Slots::One, at_most(3)))
            .doc("Priority class: 1 realtime, 2 best effort, 3 idle."),
        row("priohint", Tier::Three, Kind::Whole(Slots::One, at_most(1023)))
            .not_yet("Priority hints are not connected yet."),
    ],
};
