//! A virtual machine, as written in a study file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Prefix of the serials of a machine's disks. Their number follows, from 1.
pub const DISK_SERIAL: &str = "disk";

/// Name of the port to the agent in a machine.
pub(crate) const PORT_NAME: &str = "plumb.agent";

/// A virtual machine, as written in a study file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VmSpec {
    /// The kernel: a release such as `6.1`, of which the newest installed or unpacked one is used; `own`, this
    /// machine's; `newest`; the path of an image; or a directory with an unpacked kernel package. By default that of
    /// the `root`, else this machine's own, else the newest, which is then reported before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Another system for the machine: a directory as created by debootstrap or mmdebstrap, or an image
    /// (qcow2 or raw). Its tools, C library and settings are used, and nothing is written to it. By default
    /// this machine's tools are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Sizes of its disks, such as `64MiB`. Each is a temporary file with the serial `disk1`, `disk2` …
    #[serde(default)]
    pub disks: Vec<String>,
    /// Memory size; `768MiB` by default. The image with Plumb and its tools is in memory too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Number of processors; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Accelerator of its processor.
    #[serde(default)]
    pub accel: Accel,
    /// Time limit for the boot, in seconds; 300 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_timeout: Option<u64>,
}

/// Accelerator of a virtual machine's processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Accel {
    /// KVM if available, else software emulation.
    #[default]
    Auto,
    /// The processor's virtualization extensions.
    Kvm,
    /// Software emulation: absolute speeds mean nothing.
    Tcg,
}
