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

/// Properties of an engine that lowering needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits {
    /// Keeps one op in flight at any depth.
    pub one_at_a_time: bool,
    /// Has no files on a disk, or creates them itself. Nothing is laid out, and no length is known yet.
    pub has_no_files: bool,
    /// Does no I/O: `cpuio` and `exec`.
    pub does_no_io: bool,
    pub writes_atomically: bool,
    /// Can trim several ranges in one command.
    pub trims_ranges: bool,
    /// Each op is a call on a whole file, such as `stat`.
    pub calls_files: bool,
}

/// Returns the traits of a fio engine. Those of engines that need libraries come from their documentation.
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

/// Returns the name of the job's engine as in the table.
pub(super) fn name(job: &FioJob) -> &str {
    let engine = job.queue.ioengine.as_str();
    match engine.split_once(':') {
        Some(("external", _)) => "external",
        _ => engines::find(engine).map_or(engine, |spec| spec.name),
    }
}

/// Returns the reason why the job cannot run, or `None`.
pub(super) fn refusal(job: &FioJob) -> Option<String> {
    let why = match engines::find(name(job)).map(|spec| spec.support) {
        Some(Support::NotYet(why) | Support::Never(why)) => why,
        _ if job.zones.mode == ZoneMode::Zoned => "zoned block devices are not implemented.",
        _ => return None,
    };
    Some(why.trim_end_matches('.').to_owned())
}

/// Returns the backend of a job. An engine that does no I/O needs none.
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
        // A test checks this list against the working engines of the table.
        _ => foreign(job),
    }
}

/// Returns the donor's path, inside the job's directory if it has one.
fn donor(job: &FioJob) -> String {
    let name = job.engine.defrag.donor.as_deref().unwrap_or_default();
    match job.files.names.directories.first() {
        Some(directory) => format!("{directory}/{name}"),
        None => name.to_owned(),
    }
}

/// Checks a job of an engine with its own rules, as fio does.
pub(super) fn engine_fault(job: &FioJob) -> Option<JobFault> {
    match name(job) {
        "net" => socket_fault(job),
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
    // `filename` names a Unix socket. It named the host too before `hostname` was introduced.
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
fn socket_fault(job: &FioJob) -> Option<JobFault> {
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

/// Returns a backend for an engine that Plumb does not run, with the engine's options as given.
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
    for given in job.given_options() {
        let option = given.option;
        let of_engine = !option.engines.is_empty() && option.known_to(engine);
        let of_zones = zoned && OF_ZONES.iter().any(|name| name.as_str() == option.name);
        if of_engine || of_zones || (MEM.is(option) && given.text.as_deref() == Some("cudamalloc")) {
            options.insert(option.name.to_owned(), given.text.clone().unwrap_or_default());
        }
    }
    if engine == "external" {
        options.insert(IOENGINE.name().to_string(), job.queue.ioengine.clone());
    }
    Backend::Foreign { engine: engine.to_owned(), options }
}

/// Whether Plumb does not run the job's engine.
pub(super) fn is_refused(job: &FioJob) -> bool {
    let support = engines::find(name(job)).map(|spec| spec.support);
    matches!(support, Some(Support::NotYet(_) | Support::Never(_)))
}
