//! FreeBSD's sources: device counters from `kern.devstat.all`, the providers under a mount from `kern.geom.conftxt`,
//! the mount from statfs(2). The parsers of both texts are tested on every platform; nothing here has run on FreeBSD.

mod devstat;
mod geom;
#[cfg(target_os = "freebsd")]
mod system;

#[cfg(target_os = "freebsd")]
pub(crate) use system::{cpu_times, device_counters, target_facts};
