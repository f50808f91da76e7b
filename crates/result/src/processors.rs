//! Processor time by program while a phase ran, and pauses of Plumb's own process.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// The processors over one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessorsSeen {
    /// Processor time, of Plumb and of other programs.
    pub used: Seen<ProcessorUse>,
    /// Time in which some task of the machine waited for a processor, µs; `None` without PSI.
    pub pressure_us: Option<u64>,
    /// The same of this process's control group.
    pub group_pressure_us: Option<u64>,
    /// Times in which this process did not run and did not wait for a processor either.
    pub pauses: Seen<Vec<Pause>>,
}

/// Processor time over one phase, on the processors that this process may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Length of the observation, ns.
    pub length_ns: u64,
    /// Processors that this process may use.
    pub processors: u32,
    /// Time that they spent in programs and in the kernel, interrupts left out, ns.
    pub busy_ns: u64,
    /// Time that the hypervisor took from them, ns.
    pub stolen_ns: u64,
    /// Time of Plumb's own processes, ns.
    pub own_ns: u64,
    /// Other programs, the largest first; those of one tick or less are left out.
    pub others: Vec<ProcessCpu>,
    /// Whether the kernel's threads, and so all programs of the machine, are in sight: not in a container.
    pub sees_all: bool,
}

/// Processor time of one program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessCpu {
    /// The kernel's number of its process.
    pub pid: u32,
    /// Its command, of at most 15 characters.
    pub command: String,
    /// Its processor time, ns.
    pub cpu_ns: u64,
    /// Processor time of children that ended meanwhile, ns: the kernel adds it to the parent that waited for them.
    pub children_ns: u64,
    /// Processors that its threads ran on last.
    pub processors: Vec<u32>,
}

impl ProcessCpu {
    /// Its own time and that of its ended children, ns.
    pub fn total_ns(&self) -> u64 {
        self.cpu_ns.saturating_add(self.children_ns)
    }
}

/// A time in which the process stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// When it ended, from the start of the phase's clock, ns.
    pub until_ns: u64,
    /// Its length, ns.
    pub length_ns: u64,
    /// Its cause, as far as there is evidence of one.
    pub cause: PauseCause,
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseCause {
    /// A signal stopped it (`SIGSTOP`, Ctrl-Z), and another one continued it.
    Stopped,
    /// The machine was suspended: `CLOCK_BOOTTIME` went on and `CLOCK_MONOTONIC` did not.
    Suspended,
    /// Neither: a frozen control group, or a virtual machine that its host did not run.
    Stalled,
}

/// Waits of a worker for a processor. Source: Documentation/scheduler/sched-stats.rst,
/// `/proc/<pid>/schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunQueue {
    /// Time on the run queue of a processor, runnable and not running, ns.
    pub waited_ns: u64,
    /// Times that it was put on a processor.
    pub turns: u64,
}
