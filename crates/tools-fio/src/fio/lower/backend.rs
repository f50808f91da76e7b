//! fio's engines as backends.

use super::error::JobFault;
use crate::fio::engines;
use crate::fio::job::FioJob;
use crate::fio::options::memory::MEM;
use crate::fio::options::queue::IOENGINE;
use crate::fio::options::zones::{self, ZoneMode};
use crate::fio::options::{OptionName, Support};
use crate::fio::value::FileRegion;
use crate::fio::value::direction::{AccessOrder, Ops};
use plumb_workload::backend::RwFlag;
use plumb_workload::{Backend, Bytes, FileCall, SocketKind};
use std::collections::BTreeMap;

/// What matters of an engine before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits {
    /// It has one op in flight, whatever the depth.
    pub one_at_a_time: bool,
    /// Its files are no files of a disk, or it makes them itself: nothing is laid out, and they have no length yet.
    pub has_no_files: bool,
    /// It does no I/O.
    pub does_no_io: bool,
    /// It may write without tearing.
    pub writes_atomically: bool,
    /// It can trim several ranges at once.
    pub trims_ranges: bool,
    /// Each op is a call on a whole file.
    pub calls_files: bool,
}

/// The traits of a fio engine; for engines that need libraries, taken from their documentation.
pub(super) fn traits(engine: &str) -> Traits {
    let one_of = |engines: &[&str]| engines.contains(&engine);
    Traits {
        one_at_a_time: one_of(&[
            "sync",
            "psync",
            "pvsync",
            "pvsync2",
            "mmap",
            "splice",
            "filecreate",
            "filestat",
            "filedelete",
            "dircreate",
            "dirstat",
            "dirdelete",
            "falloc",
            "ftruncate",
            "net",
            "netsplice",
            "cpuio",
            "exec",
            "sg",
            "page_fault",
            "http",
            "mtd",
            "dev-dax",
            "e4defrag",
            "gfapi",
            "libhdfs",
            "libiscsi",
            "libzbc",
            "libpmem",
            "libpmemblk",
            "pmemblk",
            "libcufile",
            "libhipfile",
            "ime_psync",
        ]),
        has_no_files: one_of(&[
            "null",
            "net",
            "netsplice",
            "cpuio",
            "exec",
            "filecreate",
            "dircreate",
            "dirstat",
            "dirdelete",
            "page_fault",
            "http",
            "nbd",
            "dev-dax",
            "rdma",
            "rbd",
            "rados",
            "gfapi",
            "gfapi_async",
            "nfs",
            "libhdfs",
            "libiscsi",
            "libpmem",
            "libblkio",
            "xnvme",
            "dfs",
            "ime_psync",
            "ime_psyncv",
            "ime_aio",
            "cpp_null",
            "librpma_apm_client",
            "librpma_apm_server",
            "librpma_gpspm_client",
            "librpma_gpspm_server",
            "external",
        ]),
        does_no_io: one_of(&["cpuio", "exec"]),
        writes_atomically: one_of(&["pvsync2", "libaio", "io_uring"]),
        trims_ranges: one_of(&["io_uring_cmd"]),
        calls_files: one_of(&["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"]),
    }
}

/// The engine's name in the table.
pub(super) fn name(job: &FioJob) -> &str {
    let said = job.queue.ioengine.as_str();
    match said.split_once(':') {
        Some(("external", _)) => "external",
        _ => engines::find(said).map_or(said, |spec| spec.name),
    }
}

/// Why the job cannot be run, or `None`.
pub(super) fn refusal(job: &FioJob) -> Option<String> {
    let why = match engines::find(name(job)).map(|spec| spec.support) {
        Some(Support::NotYet(why) | Support::Never(why)) => why,
        _ if job.zones.mode == ZoneMode::Zoned => "zoned block devices are not implemented.",
        _ => return None,
    };
    Some(why.trim_end_matches('.').to_owned())
}

/// The backend of a job. An engine that does no I/O has none of its own.
pub(super) fn backend(job: &FioJob, copy: u32) -> Backend {
    if refusal(job).is_some() {
        return foreign(job);
    }
    let options = &job.engine;
    let stat_call = || options.filestat.call;
    let mut flags = Vec::new();
    if options.uncached {
        flags.push(RwFlag::Uncached);
    }
    if options.nowait {
        flags.push(RwFlag::Nowait);
    }
    match name(job) {
        "psync" => Backend::Psync,
        "sync" => Backend::Seek,
        "vsync" => Backend::SeekVectored,
        "pvsync" => Backend::Preadv,
        "pvsync2" => {
            if options.hipri {
                flags.insert(0, RwFlag::Hipri);
            }
            let hipri_percent = u8::try_from(options.hipri_percentage).unwrap_or(100);
            Backend::Preadv2 { flags, hipri_percent: if options.hipri { hipri_percent } else { 100 } }
        }
        "libaio" => Backend::Libaio {
            userspace_reap: options.userspace_reap,
            vectored: options.libaio_vectored,
            nowait: options.nowait,
        },
        "posixaio" => Backend::PosixAio,
        "io_uring" => Backend::IoUring {
            poll_completions: options.hipri,
            poll_submissions: options.sqthread_poll,
            fixed_buffers: options.fixed_buffers,
            fixed_files: options.register_files,
            poll_cpu: options.sqthread_poll_cpu,
            vectored: options.nonvectored == Some(false) && !options.fixed_buffers,
            async_every: options.force_async,
            flags,
        },
        "mmap" => Backend::Mmap,
        "splice" => Backend::Splice,
        "null" => Backend::Null,
        "filecreate" => Backend::Files(FileCall::Create),
        "filestat" => Backend::Files(stat_call()),
        "filedelete" => Backend::Files(FileCall::Unlink),
        "dircreate" => Backend::Files(FileCall::Mkdir),
        "dirstat" => Backend::Files(FileCall::StatDir),
        "dirdelete" => Backend::Files(FileCall::Rmdir),
        "falloc" => Backend::Fallocate,
        "ftruncate" => Backend::Truncate,
        "page_fault" => Backend::PageFault,
        "e4defrag" => Backend::MoveExtents { donor: donor(job), in_place: options.defrag.in_place },
        "net" => socket(job, copy),
        "cpuio" | "exec" => Backend::Auto,
        // A test holds every engine of the table that works against this list.
        _ => foreign(job),
    }
}

/// The donor's path: in the job's directory, where it has one.
fn donor(job: &FioJob) -> String {
    let name = job.engine.defrag.donor.as_deref().unwrap_or_default();
    match job.files.names.directories.first() {
        Some(directory) => format!("{directory}/{name}"),
        None => name.to_owned(),
    }
}

/// Checks a job of an engine that has rules of its own, as fio does.
pub(super) fn wrong_with_engine(job: &FioJob) -> Option<JobFault> {
    match name(job) {
        "net" => wrong_with_socket(job),
        "e4defrag" if job.engine.defrag.donor.as_deref().is_none_or(str::is_empty) => Some(JobFault::Needs {
            option: "ioengine=e4defrag",
            needs: "donorname",
            why: "a donor gives the blocks that a file gets",
        }),
        "page_fault" if job.files.nrfiles > 1 || job.files.names.filenames.len() > 1 => Some(JobFault::Contradiction {
            first: "ioengine=page_fault",
            second: "more than one file",
            why: "memory stands for one file",
        }),
        "page_fault" if job.direction.region.offset != FileRegion::Bytes(0) => Some(JobFault::Contradiction {
            first: "ioengine=page_fault",
            second: "offset",
            why: "memory has the length of the job's size; leave it out",
        }),
        _ => None,
    }
}

fn socket(job: &FioJob, copy: u32) -> Backend {
    let net = &job.engine.net;
    let kind = net.transport;
    let connects = matches!(kind, SocketKind::Tcp | SocketKind::Tcp6 | SocketKind::Vsock);
    // A socket of the file system is named by `filename`, and so, before `hostname` came, was a host.
    let host = net.hostname.clone().or_else(|| job.files.names.filenames.first().cloned());
    Backend::Socket {
        kind,
        host,
        // Each copy has its own port.
        port: net.port.and_then(|port| u16::try_from(port.saturating_add(copy)).ok()),
        listens: if connects { net.listen } else { job.direction.rw.ops == Ops::Read },
        ping_pong: net.pingpong,
        no_delay: net.nodelay,
        window: net.window_bytes.map(|bytes| Bytes(bytes.into())),
        segment: net.mss_bytes.map(|bytes| Bytes(bytes.into())),
    }
}

/// Checks a job of the engine net.
fn wrong_with_socket(job: &FioJob) -> Option<JobFault> {
    let net = &job.engine.net;
    if matches!(job.direction.rw.order, AccessOrder::Random { .. }) {
        let why = "a socket is sequential; use rw=read or rw=write";
        return Some(JobFault::Contradiction { first: "ioengine=net", second: "random offsets", why });
    }
    match (net.transport, net.port) {
        (SocketKind::Unix, Some(_)) => Some(JobFault::Contradiction {
            first: "protocol=unix",
            second: "port",
            why: "a Unix socket is named by `filename` only",
        }),
        (SocketKind::Unix, None) | (_, Some(_)) => None,
        (_, None) => Some(JobFault::Needs { option: "ioengine=net", needs: "port", why: "there is no default" }),
    }
}

/// An engine that Plumb does not run, with its own options as given.
fn foreign(job: &FioJob) -> Backend {
    const OF_ZONES: [OptionName; 9] = [
        zones::ZONEMODE.name(),
        zones::ZONESIZE.name(),
        zones::ZONECAPACITY.name(),
        zones::MAX_OPEN_ZONES.name(),
        zones::JOB_MAX_OPEN_ZONES.name(),
        zones::READ_BEYOND_WP.name(),
        zones::IGNORE_ZONE_LIMITS.name(),
        zones::ZONE_RESET_THRESHOLD.name(),
        zones::ZONE_RESET_FREQUENCY.name(),
    ];
    let engine = name(job);
    let zoned = job.zones.mode == ZoneMode::Zoned;
    let mut options = BTreeMap::new();
    for said in job.all_said() {
        let option = said.option;
        let of_engine = !option.engines.is_empty() && option.known_to(engine);
        let of_zones = zoned && OF_ZONES.iter().any(|name| name.as_str() == option.name);
        if of_engine || of_zones || (MEM.is(option) && said.text.as_deref() == Some("cudamalloc")) {
            options.insert(option.name.to_owned(), said.text.clone().unwrap_or_default());
        }
    }
    if engine == "external" {
        options.insert(IOENGINE.name().to_string(), job.queue.ioengine.clone());
    }
    Backend::Foreign { engine: engine.to_owned(), options }
}

/// The engine itself does not run here.
pub(super) fn is_refused(job: &FioJob) -> bool {
    let support = engines::find(name(job)).map(|spec| spec.support);
    matches!(support, Some(Support::NotYet(_) | Support::Never(_)))
}
