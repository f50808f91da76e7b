//! What is known of the tools that more than one part of the lab runs: who builds, who takes down, who lays out a machine.

pub(crate) mod ip_link;
pub(crate) mod lvm;
pub(crate) mod mkfs;
pub(crate) mod nfs;
pub(crate) mod version;
