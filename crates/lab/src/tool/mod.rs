//! Knowledge about tools that several parts of the lab run: building, taking down, and preparing virtual machines.

pub(crate) mod ip_link;
pub(crate) mod lvm;
pub(crate) mod mkfs;
pub(crate) mod nfs;
pub(crate) mod version;
