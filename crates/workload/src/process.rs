//! Memory, priorities and processes of workers.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Memory that the ops use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BufferRules {
    /// Kind of memory to allocate.
    pub memory: BufferMemory,
    /// Alignment of the buffers; a page when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Size of a huge page in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_page: Option<Bytes>,
    /// Bytes of memory to lock while the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<Bytes>,
}

/// Kind of memory for buffers. Source: mmap(2), shmget(2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum BufferMemory {
    /// A private anonymous mapping.
    #[default]
    Private,
    /// System V shared memory, shmget(2).
    SystemV,
    /// System V shared memory in huge pages.
    SystemVHuge,
    /// A mapping of the given file.
    File(PathBuf),
    /// A private mapping in huge pages, or of the given file on hugetlbfs.
    Huge(Option<PathBuf>),
    /// A shared anonymous mapping, or one of the given file.
    Shared(Option<PathBuf>),
}

/// User, priority and placement of a job's processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProcessRules {
    /// Name of the process or thread. The kernel keeps 15 bytes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Nice value, setpriority(2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// User ID to switch to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Group ID to switch to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
    /// Priority of all I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<IoPriority>,
    /// Priorities of some of the ops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command_priorities: Vec<CommandPriority>,
    /// CPUs of which the worker may use any. The group's `cpus` pin a worker to one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of_cpus: Vec<u32>,
    /// NUMA nodes that buffers are allocated on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_nodes: Option<NodeMemory>,
    /// Control group that the worker joins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<ControlGroup>,
    /// Shell command to run before the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_before: Option<String>,
    /// Shell command to run after the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_after: Option<String>,
    /// Base name for the commands' output, which goes to `NAME.prerun.txt` and `NAME.postrun.txt`;
    /// defaults to the worker's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
}

/// A control group. Source: cgroups(7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ControlGroup {
    /// Name below the root of the hierarchy that controls I/O. Created if missing.
    pub name: String,
    /// I/O weight relative to other groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Keep the group after the job. Otherwise the last worker to leave removes it.
    #[serde(default)]
    pub stays: bool,
}

/// Priority of I/O. Source: ioprio_set(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IoPriority {
    /// Scheduling class: 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Level within the class, from 0 (highest) to 7 (lowest).
    pub level: u8,
    /// Hint for the device, such as a duration limit.
    #[serde(default)]
    pub hint: u16,
}

/// Priority for a share of the ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CommandPriority {
    /// Kind of op that the rule applies to.
    pub of: OpPriority,
    /// Apply only to ops of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Percentage of these ops that get the priority.
    pub percent: u8,
    /// Priority that they get.
    pub priority: IoPriority,
}

/// Ops that can have a priority of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpPriority {
    /// Ops that read from the target.
    Read,
    /// Ops that write to the target.
    Write,
}

/// NUMA nodes that memory is allocated on. Source: set_mempolicy(2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NodeMemory {
    /// Use the system's default policy.
    Default,
    /// Prefer this node, and fall back to others.
    Prefer(u32),
    /// Use only these nodes (`MPOL_BIND`).
    Bind(Vec<u32>),
    /// Alternate between these nodes (`MPOL_INTERLEAVE`).
    Interleave(Vec<u32>),
    /// Use the node that the worker runs on.
    Local,
}

impl BufferRules {
    pub fn is_default(&self) -> bool {
        *self == BufferRules::default()
    }
}

impl ProcessRules {
    pub fn is_default(&self) -> bool {
        *self == ProcessRules::default()
    }
}
