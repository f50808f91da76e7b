//! Options of engines that Plumb does not run.

use super::row::{row, unbound};
use super::spec::OptionSpec;
use super::spec::UsageTier::Three;
use crate::fio::value::kind::ANY;
use crate::fio::value::syntax::{Count, ENGINE_TEXT, FLAG, OneOf, SWITCH, Wide};

const NOT_RUN: &str = "Plumb does not have its engine; `--translate` keeps the option unchanged.";

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

/// Returns the rows, for any type of job.
pub(super) const fn rows<J>() -> &'static [OptionSpec<J>] {
    unbound![
        row("interface", Three, ENGINE_TEXT)
            .only(&["net", "netsplice"])
            .not_yet("choosing a multicast interface is not implemented."),
        row("ttl", Three, Count(ANY))
            .default("1")
            .only(&["net", "netsplice"])
            .not_yet("choosing a multicast interface is not implemented."),
        row("skip_bad", Three, SWITCH).default("0").only(&["mtd"]).not_yet("it belongs to the mtd engine."),
        row("readfua", Three, SWITCH)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("writefua", Three, SWITCH)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row(
            "sg_write_mode",
            Three,
            OneOf(&[
                "write",
                "write_and_verify",
                "verify",
                "write_same",
                "same",
                "write_same_ndob",
                "verify_bytchk_00",
                "verify_bytchk_01",
                "verify_bytchk_11",
                "write_stream",
            ])
        )
        .default("write")
        .only(&["sg"])
        .not_yet("it needs SCSI or NVMe passthrough."),
        row("stream_id", Three, Count(ANY)).default("0").only(&["sg"]).not_yet("it needs SCSI or NVMe passthrough."),
        row("write_mode", Three, ENGINE_TEXT)
            .default("write")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("verify_mode", Three, OneOf(&["read", "compare"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("cmd_type", Three, OneOf(&["nvme", "bsg"]))
            .default("nvme")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("cdb_len", Three, OneOf(&["0", "10", "16", "32"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("verify_bytchk", Three, OneOf(&["0", "1", "3"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("read_mode", Three, OneOf(&["read", "prefetch"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("md_per_io_size", Three, Count(ANY))
            .default("0")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("pi_act", Three, SWITCH)
            .default("1")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("pi_chk", Three, ENGINE_TEXT)
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("apptag", Three, Count(ANY))
            .default("0x1234")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("apptag_mask", Three, Count(ANY))
            .default("0xffff")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("deac", Three, SWITCH)
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("https", Three, OneOf(&["off", "on", "insecure"]))
            .default("off")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_host", Three, ENGINE_TEXT)
            .default("localhost")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_user", Three, ENGINE_TEXT).only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_pass", Three, ENGINE_TEXT).only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_s3_key", Three, ENGINE_TEXT).default("").only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_s3_keyid", Three, ENGINE_TEXT).default("").only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_s3_security_token", Three, ENGINE_TEXT)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_swift_auth_token", Three, ENGINE_TEXT)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_region", Three, ENGINE_TEXT)
            .default("us-east-1")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_sse_customer_key", Three, ENGINE_TEXT)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_sse_customer_algorithm", Three, ENGINE_TEXT)
            .default("AES256")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_storage_class", Three, ENGINE_TEXT)
            .default("STANDARD")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_mode", Three, OneOf(&["webdav", "s3", "swift"]))
            .default("webdav")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_verbose", Three, Count(ANY)).default("0").only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_object_mode", Three, OneOf(&["block", "range"]))
            .default("block")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("rbdname", Three, ENGINE_TEXT).only(&["rbd"]).doc("The image.").never(NOT_RUN),
        row("clustername", Three, ENGINE_TEXT).only(&["rbd", "rados"]).doc("The cluster.").never(NOT_RUN),
        row("pool", Three, ENGINE_TEXT).only(&["rbd", "rados", "dfs"]).doc("The pool.").never(NOT_RUN),
        row("clientname", Three, ENGINE_TEXT)
            .only(&["rbd", "rados"])
            .doc("User name, without the type.")
            .never(NOT_RUN),
        row("conf", Three, ENGINE_TEXT).only(&["rados"]).doc("Cluster configuration file.").never(NOT_RUN),
        row("busy_poll", Three, SWITCH)
            .only(&["rbd", "rados"])
            .doc("Poll for completions instead of waiting.")
            .never(NOT_RUN),
        row("touch_objects", Three, SWITCH).only(&["rados"]).doc("Create the objects beforehand.").never(NOT_RUN),
        row("rbd_encryption_format", Three, ENGINE_TEXT)
            .only(&["rbd"])
            .doc("Encryption format of the image.")
            .never(NOT_RUN),
        row("rbd_encryption_passphrase", Three, ENGINE_TEXT)
            .only(&["rbd"])
            .doc("File with the passphrase of the image.")
            .never(NOT_RUN),
        row("volume", Three, ENGINE_TEXT).only(GLUSTER).doc("The volume.").never(NOT_RUN),
        row("brick", Three, ENGINE_TEXT).only(GLUSTER).doc("A server (brick) of the volume.").never(NOT_RUN),
        row("single-instance", Three, SWITCH).only(GLUSTER).doc("One connection for all threads.").never(NOT_RUN),
        row("namenode", Three, ENGINE_TEXT).only(&["libhdfs"]).doc("The name node.").never(NOT_RUN),
        row("hdfsdirectory", Three, ENGINE_TEXT).only(&["libhdfs"]).doc("The directory for the files.").never(NOT_RUN),
        row("chunk_size", Three, Wide(ANY))
            .or("chunck_size")
            .only(&["libhdfs", "dfs"])
            .doc("Chunk size.")
            .never(NOT_RUN),
        row("single_instance", Three, SWITCH).only(&["libhdfs"]).doc("One connection for all threads.").never(NOT_RUN),
        row("hdfs_use_direct", Three, SWITCH).only(&["libhdfs"]).doc("Read into registered memory.").never(NOT_RUN),
        row("initiator", Three, ENGINE_TEXT).only(&["libiscsi"]).doc("The name of the initiator.").never(NOT_RUN),
        row("cont", Three, ENGINE_TEXT).only(&["dfs"]).doc("The container.").never(NOT_RUN),
        row("object_class", Three, ENGINE_TEXT).only(&["dfs"]).doc("Object class.").never(NOT_RUN),
        row("svcl", Three, ENGINE_TEXT).only(&["dfs"]).doc("Replica ranks of the pool service.").never(NOT_RUN),
        row("nfs_url", Three, ENGINE_TEXT).only(&["nfs"]).doc("NFS URL of the directory.").never(NOT_RUN),
        row("uri", Three, ENGINE_TEXT).only(&["nbd"]).doc("URI of the device.").never(NOT_RUN),
        row("bindname", Three, ENGINE_TEXT).only(&["rdma"]).doc("Local address to bind to.").never(NOT_RUN),
        row("verb", Three, OneOf(&["write", "read", "send", "recv"]))
            .only(&["rdma"])
            .doc("RDMA verb that moves the data.")
            .never(NOT_RUN),
        row("gpu_dev_ids", Three, ENGINE_TEXT)
            .only(&["libcufile", "libhipfile"])
            .doc("GPU device IDs, used in turn.")
            .never(NOT_RUN),
        row("cuda_io", Three, OneOf(&["cufile", "posix"]))
            .only(&["libcufile"])
            .doc("Transfer data to the GPU directly or through host memory.")
            .never(NOT_RUN),
        row("rocm_io", Three, OneOf(&["hipfile", "posix"]))
            .only(&["libhipfile"])
            .doc("Transfer data to the GPU directly or through host memory.")
            .never(NOT_RUN),
        row("libblkio_driver", Three, ENGINE_TEXT).only(&["libblkio"]).doc("The driver.").never(NOT_RUN),
        row("libblkio_path", Three, ENGINE_TEXT).only(&["libblkio"]).doc("Path for the driver.").never(NOT_RUN),
        row("libblkio_pre_connect_props", Three, ENGINE_TEXT)
            .only(&["libblkio"])
            .doc("Properties to set before connecting.")
            .never(NOT_RUN),
        row("libblkio_num_entries", Three, Count(ANY))
            .only(&["libblkio"])
            .doc("Number of entries in the driver's ring.")
            .never(NOT_RUN),
        row("libblkio_queue_size", Three, Count(ANY))
            .only(&["libblkio"])
            .doc("Number of entries per device queue.")
            .never(NOT_RUN),
        row("libblkio_pre_start_props", Three, ENGINE_TEXT)
            .only(&["libblkio"])
            .doc("Properties to set before starting.")
            .never(NOT_RUN),
        row("libblkio_vectored", Three, FLAG).only(&["libblkio"]).doc("Use vectored ops.").never(NOT_RUN),
        row("libblkio_write_zeroes_on_trim", Three, FLAG)
            .only(&["libblkio"])
            .doc("Write zeros instead of trimming.")
            .never(NOT_RUN),
        row("libblkio_wait_mode", Three, OneOf(&["block", "eventfd", "loop"]))
            .only(&["libblkio"])
            .doc("How to wait for completions.")
            .never(NOT_RUN),
        row("libblkio_force_enable_completion_eventfd", Three, FLAG)
            .only(&["libblkio"])
            .doc("Enable the completion eventfd even where it is not used.")
            .never(NOT_RUN),
        row("xnvme_be", Three, ENGINE_TEXT).only(&["xnvme"]).doc("The backend.").never(NOT_RUN),
        row("xnvme_mem", Three, ENGINE_TEXT).only(&["xnvme"]).doc("Memory backend.").never(NOT_RUN),
        row("xnvme_async", Three, ENGINE_TEXT).only(&["xnvme"]).doc("Asynchronous command interface.").never(NOT_RUN),
        row("xnvme_sync", Three, ENGINE_TEXT).only(&["xnvme"]).doc("Synchronous command interface.").never(NOT_RUN),
        row("xnvme_admin", Three, ENGINE_TEXT).only(&["xnvme"]).doc("Admin command interface.").never(NOT_RUN),
        row("xnvme_dev_nsid", Three, Count(ANY)).only(&["xnvme"]).doc("The namespace.").never(NOT_RUN),
        row("xnvme_dev_subnqn", Three, ENGINE_TEXT).only(&["xnvme"]).doc("NQN of the subsystem.").never(NOT_RUN),
        row("xnvme_iovec", Three, FLAG).only(&["xnvme"]).doc("Use vectored commands.").never(NOT_RUN),
        row("no_completion_thread", Three, FLAG)
            .only(&["windowsaio"])
            .doc("Reap completions in the worker itself.")
            .never(NOT_RUN),
    ]
}
