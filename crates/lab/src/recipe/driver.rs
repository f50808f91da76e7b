//! Drivers and modules that this kernel has, or has not.

use crate::command::{Command, NoWitness};
use crate::error::Cause;
use crate::system;
use std::path::Path;

/// Whether the kernel has a block driver (`/proc/devices`), or a module that can be loaded for it.
pub(super) fn need_driver(driver: &str, what: &str, module: &str) -> Result<(), Cause> {
    let has = || {
        let text = std::fs::read_to_string("/proc/devices").unwrap_or_default();
        text.lines().any(|line| line.split_whitespace().nth(1) == Some(driver))
    };
    if has() {
        return Ok(());
    }
    load_module(module);
    if has() { Ok(()) } else { Err(lacks(what, module)) }
}

/// Asks for a module; where there is none to be had, what needs it says so itself.
pub(super) fn load_module(module: &str) {
    let _ = Command::new("modprobe", ["--quiet", module]).run(&mut NoWitness, None);
}

/// This kernel cannot do it.
pub(super) fn lacks(what: &str, module: &str) -> Cause {
    let release = system::text(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    Cause::Unavailable(format!(
        "this kernel ({release}) has no {what}: neither built in nor as the module {module}; use another kernel, as a virtual \
         machine's"
    ))
}
