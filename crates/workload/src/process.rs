//! Memory, priorities and processes of workers.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the memory of the ops comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BufferRules {
    /// What kind of memory.
    pub memory: BufferMemory,
    /// Buffers begin at multiples of this; of a page where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Bytes of a huge page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_page: Option<Bytes>,
    /// Memory to lock while the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<Bytes>,
}

/// A kind of memory. Source: mmap(2), shmget(2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum BufferMemory {
    /// A private mapping.
    #[default]
    Private,
    /// Shared memory of System V.
    SystemV,
    /// The same in huge pages.
    SystemVHuge,
    /// A mapping of this file.
    File(PathBuf),
    /// A private mapping in huge pages, or of this file in hugetlbfs.
    Huge(Option<PathBuf>),
    /// A shared mapping, or of this file.
    Shared(Option<PathBuf>),
}

/// Whom a job runs as, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProcessRules {
    /// The name of its process or thread, of which the kernel keeps 15 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Niceness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// User.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    /// Priority of all its I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<IoPriority>,
    /// Priorities of some of its ops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command_priorities: Vec<CommandPriority>,
    /// All of these CPUs are the worker's; the group's `cpus` pin it to one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of_cpus: Vec<u32>,
    /// From which node of memory buffers come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_nodes: Option<NodeMemory>,
    /// The control group that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<ControlGroup>,
    /// A command line of the shell to run before the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_before: Option<String>,
    /// A command line of the shell to run after the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_after: Option<String>,
    /// Their output goes to `NAME.prerun.txt` and `NAME.postrun.txt`; the worker's own name where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
}

/// A control group. Source: cgroups(7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ControlGroup {
    /// Its name below the root of the hierarchy that controls I/O; it is made where it is missing.
    pub name: String,
    /// Its share of I/O in proportion to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// It stays behind the job; otherwise the last one to leave removes it.
    #[serde(default)]
    pub stays: bool,
}

/// Priority of I/O. Source: ioprio_set(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IoPriority {
    /// 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 (first) to 7 (last) within the class.
    pub level: u8,
    /// A hint for the device.
    #[serde(default)]
    pub hint: u16,
}

/// The priority that a share of the ops gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CommandPriority {
    /// Of which ops.
    pub of: OpPriority,
    /// Only of those of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Per cent of them.
    pub percent: u8,
    /// Which priority.
    pub priority: IoPriority,
}

/// Ops that can have a priority of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpPriority {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// From which nodes memory comes. Source: set_mempolicy(2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NodeMemory {
    /// The system's default.
    Default,
    /// This node, else others.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// These nodes in turn.
    Interleave(Vec<u32>),
    /// The node that it runs on.
    Local,
}

impl BufferRules {
    /// Whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == BufferRules::default()
    }
}

impl ProcessRules {
    /// Whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == ProcessRules::default()
    }
}
