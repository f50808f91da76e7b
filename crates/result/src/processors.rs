//! Processor time by program while a phase ran, and pauses of Plumb's own process.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// Processor use observed over one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessorsSeen {
    /// Processor time of Plumb and of other programs.
    pub used: Seen<ProcessorUse>,
    /// Time during which at least one task of the machine waited for a processor, µs; `None` without PSI.
    pub pressure_us: Option<u64>,
    /// The same for this process' control group.
    pub group_pressure_us: Option<u64>,
    /// Intervals in which this process neither ran nor waited for a processor.
    pub pauses: Seen<Vec<Pause>>,
}

/// Processor time over one phase, on the processors that this process may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Length of the observation, ns.
    pub length_ns: u64,
    /// Number of processors that this process may use.
    pub processors: u32,
    /// Time spent in programs and in the kernel, without interrupts, ns.
    pub busy_ns: u64,
    /// Time that the hypervisor took from these processors, ns.
    pub stolen_ns: u64,
    /// Processor time of Plumb's own processes, ns.
    pub own_ns: u64,
    /// Other programs, largest first, without those of one tick or less.
    pub others: Vec<ProcessCpu>,
    /// Whether kernel threads are visible, and so all programs of the machine; `false` in a container.
    pub sees_all: bool,
}

/// Processor time of one program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessCpu {
    /// Process id in the kernel.
    pub pid: u32,
    /// Command name, at most 15 characters.
    pub command: String,
    /// Processor time of the process itself, ns.
    pub cpu_ns: u64,
    /// Processor time of children that ended during the phase, ns. The kernel adds it to the parent that waited for them.
    pub children_ns: u64,
    /// Processors that its threads last ran on.
    pub processors: Vec<u32>,
}

impl ProcessCpu {
    /// Returns the processor time of the process and its ended children, ns.
    pub fn total_ns(&self) -> u64 {
        self.cpu_ns.saturating_add(self.children_ns)
    }
}

/// An interval in which the process did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// End of the pause, from the start of the phase's clock, ns.
    pub until_ns: u64,
    /// Length of the pause, ns.
    pub length_ns: u64,
    /// Cause of the pause, as far as the evidence shows.
    pub cause: PauseCause,
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseCause {
    /// A signal stopped the process (`SIGSTOP`, Ctrl-Z), and another one continued it.
    Stopped,
    /// The machine was suspended: `CLOCK_BOOTTIME` advanced and `CLOCK_MONOTONIC` did not.
    Suspended,
    /// Neither: a frozen control group, or a virtual machine that its host did not schedule.
    Stalled,
}

/// Waits of a worker for a processor. Source: Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunQueue {
    /// Time spent runnable on a run queue without running, ns.
    pub waited_ns: u64,
    /// Number of times that the worker was put on a processor.
    pub turns: u64,
}
