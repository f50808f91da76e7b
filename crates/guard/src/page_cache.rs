//! The page cache of the whole machine.

use crate::outputs::write_setting;
use std::io;

/// Drops clean pages of the whole machine from the page cache: the one knob of the kernel that Plumb turns, and only if
/// the user said that it may. Source: Documentation/admin-guide/sysctl/vm.rst, `drop_caches`.
///
/// # Errors
/// The system's own: only root may.
pub fn drop_page_cache() -> io::Result<()> {
    write_setting("/proc/sys/vm/drop_caches", "1\n")
}
