//! Virtual machines under QEMU: a kernel, an initramfs that Plumb builds itself, disks that are files.

mod cpio;
mod elf;
mod error;
mod image;
mod kernel;
pub(crate) mod machine;
mod modules;
mod qemu;
mod root;
mod spec;
mod unbooted;

pub(crate) use elf::loaded_part;
#[cfg(target_os = "linux")]
pub(crate) use image::{LAST_FILE, MODULES_FILE};
pub(crate) use kernel::is_of;
pub use machine::Vm;
pub(crate) use root::ROOT_SERIAL;
#[cfg(target_os = "linux")]
pub(crate) use root::ROOT_VARIABLE;
pub(crate) use spec::PORT_NAME;
pub use spec::{Accel, DISK_SERIAL, VmSpec};
pub use unbooted::{VmCheck, outlook};
