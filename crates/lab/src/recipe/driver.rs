//! Availability of kernel drivers and modules.

use crate::command::{Command, NoWitness};
use crate::error::Cause;
use crate::system;
use std::path::Path;

/// Checks that the kernel has a block driver (`/proc/devices`), or a module to load for it.
pub(super) fn need_driver(driver: &str, what: &str, module: &str) -> Result<(), Cause> {
    if has_driver(driver) {
        return Ok(());
    }
    load_module(module);
    if has_driver(driver) { Ok(()) } else { Err(lacks(what, module)) }
}

/// Does the same check without loading anything.
pub(crate) fn foresee_driver(driver: &str, what: &str, module: &str) -> Result<(), Cause> {
    if has_driver(driver) || has_module(module) { Ok(()) } else { Err(lacks(what, module)) }
}

fn has_driver(driver: &str) -> bool {
    let text = std::fs::read_to_string("/proc/devices").unwrap_or_default();
    text.lines().any(|line| line.split_whitespace().nth(1) == Some(driver))
}

/// Returns `true` if a module, or an alias such as `fs-xfs`, can be loaded or is
/// built in. Source: modprobe(8), `--dry-run`.
pub(crate) fn has_module(module: &str) -> bool {
    Command::new("modprobe", ["--dry-run", "--quiet", module]).run(&mut NoWitness, None).is_ok()
}

/// Tries to load a module. Ignores failures: the code that needs the module reports its absence.
pub(super) fn load_module(module: &str) {
    let _ = Command::new("modprobe", ["--quiet", module]).run(&mut NoWitness, None);
}

/// Returns the error for a kernel without this driver.
pub(crate) fn lacks(what: &str, module: &str) -> Cause {
    let release = system::text(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    Cause::Unavailable(format!(
        "this kernel ({release}) has no {what}: neither built in nor as the module {module}; use another kernel, as a virtual \
         machine's"
    ))
}
