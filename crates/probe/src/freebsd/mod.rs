//! FreeBSD's own answers: counters of devices by `kern.devstat.all`, the providers under a mount by `kern.geom.conftxt`, the mount by
//! statfs(2). The readers of both texts are tested on every platform; nothing here has run on FreeBSD.

mod devstat;
mod geom;
#[cfg(target_os = "freebsd")]
mod system;

#[cfg(target_os = "freebsd")]
pub(crate) use system::{cpu_times, device_counters, target_facts};
