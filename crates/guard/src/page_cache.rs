//! Page cache of the whole machine.

use crate::outputs::write_setting;
use std::io;

/// Drops clean pages of the whole machine from the page cache. This is the only kernel setting that Plumb changes,
/// and only with the user's permission. Source: Documentation/admin-guide/sysctl/vm.rst, `drop_caches`.
///
/// # Errors
/// The error of the system; only root may do this.
pub fn drop_page_cache() -> io::Result<()> {
    write_setting("/proc/sys/vm/drop_caches", "1\n")
}
