//! fio's engines, and whether Plumb supports them.

use super::options::Support;

#[derive(Debug, Clone, Copy)]
pub struct EngineSpec {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Whether and how Plumb supports it.
    pub support: Support,
    /// A sentence for the help.
    pub doc: &'static str,
}

const fn works(name: &'static str, doc: &'static str) -> EngineSpec {
    EngineSpec { name, aliases: &[], support: Support::Works, doc }
}

const fn not_yet(name: &'static str, why: &'static str) -> EngineSpec {
    EngineSpec { name, aliases: &[], support: Support::NotYet(why), doc: "" }
}

const fn never(name: &'static str, why: &'static str) -> EngineSpec {
    EngineSpec { name, aliases: &[], support: Support::Never(why), doc: "" }
}

const LIBRARY: &str = "it needs an external library that Plumb does not link.";
const PASSTHROUGH: &str = "NVMe and SCSI passthrough are not implemented.";
const ELSEWHERE: &str = "it is for another operating system.";

pub static ENGINES: &[EngineSpec] = &[
    works("psync", "pread and pwrite."),
    works("sync", "lseek, then read and write."),
    works("vsync", "readv and writev, with adjacent ops merged."),
    works("pvsync", "preadv and pwritev."),
    works("pvsync2", "preadv2 and pwritev2."),
    EngineSpec {
        name: "libaio",
        aliases: &["linuxaio", "aio"],
        support: Support::Works,
        doc: "Linux native asynchronous I/O.",
    },
    works("posixaio", "POSIX aio_read and aio_write."),
    works("io_uring", "Linux io_uring."),
    works("mmap", "mmap, with memcpy to and from the mapping."),
    works("splice", "splice and vmsplice through a pipe."),
    works("null", "No I/O: ops complete immediately."),
    works("filecreate", "Creates files."),
    works("filestat", "Reads the attributes of files."),
    works("filedelete", "Deletes files."),
    works("dircreate", "Creates directories."),
    works("dirstat", "Reads the attributes of directories."),
    works("dirdelete", "Deletes directories."),
    works("falloc", "fallocate: reserves, extends and punches holes."),
    works("ftruncate", "ftruncate: sets the size of files."),
    works("e4defrag", "EXT4_IOC_MOVE_EXT: exchanges blocks with a donor file, as a defragmenter of ext4 does."),
    works("page_fault", "Loads and stores to anonymous memory, whose first touches are page faults; no file is used."),
    works("net", "Sends and receives over the network."),
    works("exec", "Runs a program."),
    works("cpuio", "Keeps CPUs busy."),
    not_yet("netsplice", "splicing to sockets is not implemented."),
    not_yet("sg", PASSTHROUGH),
    not_yet("io_uring_cmd", PASSTHROUGH),
    not_yet("http", "object stores are not implemented."),
    not_yet("nbd", "network block devices are not implemented."),
    not_yet("mtd", "raw flash (MTD) devices are not implemented."),
    not_yet("dev-dax", "DAX devices are not implemented."),
    never("external", "it loads C code built against fio's own structures."),
    never("cpp_null", "it loads C++ code built against fio's own structures."),
    never("binject", "the kernel module it needs was never part of Linux."),
    never("guasi", "the library it needs is no longer maintained."),
    never("rdma", LIBRARY),
    never("rbd", LIBRARY),
    never("rados", LIBRARY),
    never("gfapi", LIBRARY),
    never("gfapi_async", LIBRARY),
    never("nfs", LIBRARY),
    never("libhdfs", LIBRARY),
    never("libiscsi", LIBRARY),
    never("libzbc", LIBRARY),
    never("libpmem", LIBRARY),
    never("libpmemblk", LIBRARY),
    never("pmemblk", LIBRARY),
    never("libblkio", LIBRARY),
    never("libcufile", LIBRARY),
    never("libhipfile", LIBRARY),
    never("librpma_apm_client", LIBRARY),
    never("librpma_apm_server", LIBRARY),
    never("librpma_gpspm_client", LIBRARY),
    never("librpma_gpspm_server", LIBRARY),
    never("xnvme", LIBRARY),
    never("dfs", LIBRARY),
    never("ime_psync", LIBRARY),
    never("ime_psyncv", LIBRARY),
    never("ime_aio", LIBRARY),
    never("windowsaio", ELSEWHERE),
    never("solarisaio", ELSEWHERE),
];

/// Returns the engine with this name.
pub fn find(name: &str) -> Option<&'static EngineSpec> {
    ENGINES.iter().find(|engine| engine.name == name || engine.aliases.contains(&name))
}

/// Returns the engine name most similar to `name`.
pub fn nearest(name: &str) -> Option<&'static str> {
    plumb_workload::suggest::nearest(name, ENGINES.iter().map(|engine| engine.name))
}
