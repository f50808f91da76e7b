//! Queries the running system.

use super::{devstat, geom};
use crate::error::ProbeError;
use crate::platform;
use plumb_result::observe::{CpuTimes, DeviceCounters, FileSystem, TargetFacts};
use plumb_result::{Seen, path_text};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::path::{Path, PathBuf};

/// Compares the offsets of the fields with those of the C library.
const _: () = {
    use devstat::at;
    assert!(size_of::<libc::devstat>() == devstat::RECORD_BYTES);
    assert!(offset_of!(libc::devstat, allocated) == at::ALLOCATED);
    assert!(offset_of!(libc::devstat, start_count) == at::START_COUNT);
    assert!(offset_of!(libc::devstat, end_count) == at::END_COUNT);
    assert!(offset_of!(libc::devstat, device_name) == at::DEVICE_NAME);
    assert!(offset_of!(libc::devstat, unit_number) == at::UNIT_NUMBER);
    assert!(offset_of!(libc::devstat, bytes) == at::BYTES);
    assert!(offset_of!(libc::devstat, operations) == at::OPERATIONS);
    assert!(offset_of!(libc::devstat, duration) == at::DURATION);
    assert!(offset_of!(libc::devstat, busy_time) == at::BUSY_TIME);
};

/// Returns the counters of all devices, by name.
pub(crate) fn device_counters() -> Result<BTreeMap<String, DeviceCounters>, ProbeError> {
    devstat::check_version(&platform::sysctl(c"kern.devstat.version")?)?;
    let all = devstat::parse(&platform::sysctl(c"kern.devstat.all")?)?;
    Ok(BTreeMap::from_iter(all.into_iter().map(|one| (one.name, one.counters))))
}

/// Returns the times of all processors. Source: sys/sys/resource.h, `CPUSTATES`: user, nice, system, interrupt, idle.
pub(crate) fn cpu_times() -> Result<CpuTimes, ProbeError> {
    let bytes = platform::sysctl(c"kern.cp_time")?;
    let ticks: Vec<i64> =
        bytes.chunks_exact(8).filter_map(|one| one.first_chunk().copied()).map(i64::from_ne_bytes).collect();
    let [.., idle] = ticks[..] else { return Err(ProbeError::lacks("kern.cp_time", "ticks")) };
    // `struct clockinfo`: hz, tick, spare, stathz, profhz. Source: sys/sys/time.h.
    let clock = platform::sysctl(c"kern.clockrate")?;
    let per_second = clock.get(12..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    if per_second <= 0 {
        return Err(ProbeError::form("kern.clockrate", &per_second.to_string(), "a rate"));
    }
    let seconds = |ticks: i64| ticks as f64 / f64::from(per_second);
    Ok(CpuTimes { total_s: seconds(ticks.iter().sum()), idle_s: seconds(idle), steal_s: 0.0 })
}

/// Returns the storage under a path.
pub(crate) fn target_facts(path: &Path) -> TargetFacts {
    let mut facts = TargetFacts { path: path_text(path), ..TargetFacts::default() };
    match mounted(path) {
        Ok(filesystem) => {
            if let Some(node) = filesystem.source.strip_prefix("/dev/") {
                match platform::sysctl(c"kern.geom.conftxt") {
                    Ok(text) => {
                        let stack = geom::below(&String::from_utf8_lossy(&text), node);
                        (facts.stack, facts.leaves) = (stack.layers, stack.disks);
                    }
                    Err(error) => facts.unseen.push(error.to_string()),
                }
                if facts.leaves.is_empty() {
                    facts.unseen.push(format!("GEOM knows no disk under {}", filesystem.source));
                }
            } else if !filesystem.in_memory && !filesystem.remote {
                facts.unseen.push(format!("the devices of {} ({}) are not read", filesystem.source, filesystem.kind));
            }
            facts.filesystem = Seen::Yes(filesystem);
        }
        Err(error) => {
            facts.unseen.push(error.to_string());
            facts.filesystem = Err(error).into();
        }
    }
    facts
}

/// Returns the file system of a path, or of the nearest existing directory above it.
fn mounted(path: &Path) -> Result<FileSystem, ProbeError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_else(|| PathBuf::from("/"));
    let stat = rustix::fs::statfs(&found).map_err(ProbeError::call("statfs"))?;
    let sizes = platform::sizes(&found)?;
    let kind = text(&stat.f_fstypename);
    Ok(FileSystem {
        mount_point: text(&stat.f_mntonname),
        source: text(&stat.f_mntfromname),
        options: options(stat.f_flags),
        uuid: Seen::no("the UUID of a mounted file system is not read on FreeBSD"),
        features: BTreeMap::from([("block_size".to_owned(), stat.f_bsize.to_string())]),
        size_bytes: sizes.size_bytes,
        free_bytes: sizes.free_bytes,
        in_memory: kind == "tmpfs",
        remote: ["nfs", "smbfs", "p9fs"].contains(&kind.as_str()),
        kind,
    })
}

/// Returns the mount options that matter to measurements, in mount(8)'s words.
fn options(flags: u64) -> Vec<String> {
    let known = [
        (libc::MNT_ASYNC, "async"),
        (libc::MNT_NOATIME, "noatime"),
        (libc::MNT_RDONLY, "ro"),
        (libc::MNT_SOFTDEP, "soft-updates"),
        (libc::MNT_SYNCHRONOUS, "sync"),
    ];
    known.into_iter().filter(|(flag, _)| flags & *flag as u64 != 0).map(|(_, name)| name.to_owned()).collect()
}

/// Converts a zero-terminated array that the system filled.
fn text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().map(|&byte| byte.cast_unsigned()).collect();
    CStr::from_bytes_until_nul(&bytes).map_or(String::new(), |text| text.to_string_lossy().into_owned())
}
