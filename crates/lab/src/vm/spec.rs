//! A virtual machine, as it is written in a study file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the serials of a machine's disks begin with; their number follows, from 1.
pub const DISK_SERIAL: &str = "disk";

/// The port over which the agent in a machine is asked.
pub(crate) const PORT_NAME: &str = "plumb.agent";

/// A virtual machine, as it is written in a study file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VmSpec {
    /// A release such as `6.1`, of which the newest is taken that is installed or unpacked here; `own`, this machine's; `newest`;
    /// the path of an image; or a directory into which a kernel's package was unpacked. When absent, that of the `root`, else
    /// this machine's own, else the newest, which is then reported before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Another system in it: a directory that holds one, as debootstrap and mmdebstrap make it, or an image (qcow2 or raw).
    /// Its tools build, its C library and its settings hold; nothing is written to it. When absent, this machine's tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Sizes of its disks, `64MiB`: each is a file that is made and removed with it, with the serial `disk1`, `disk2` …
    #[serde(default)]
    pub disks: Vec<String>,
    /// Memory, `512MiB` when absent. The image with Plumb and its tools lives in it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Processors; one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// What runs it.
    #[serde(default)]
    pub accel: Accel,
    /// Seconds until it must have booted; 300 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_timeout: Option<u64>,
}

/// What runs a virtual machine's processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Accel {
    /// KVM where there is one, else software.
    #[default]
    Auto,
    /// The processor's own means.
    Kvm,
    /// Software: absolute speeds mean nothing.
    Tcg,
}
