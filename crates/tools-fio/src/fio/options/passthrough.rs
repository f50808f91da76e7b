//! Options of engines that Plumb does not run.

use super::kind::{ANY, Kind, Slots};
use super::spec::{Category, Shelf, UsageTier, row};

const NOT_RUN: &str = "Plumb does not have its engine; `--translate` keeps the option unchanged.";

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

/// Options of engines that Plumb does not run.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Passthrough,
    options: &[
        row("interface", UsageTier::Three, Kind::Text)
            .only(&["net", "netsplice"])
            .not_yet("choosing a multicast interface is not implemented."),
        row("ttl", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("1")
            .only(&["net", "netsplice"])
            .not_yet("choosing a multicast interface is not implemented."),
        row("skip_bad", UsageTier::Three, Kind::Switch)
            .default("0")
            .only(&["mtd"])
            .not_yet("it belongs to the mtd engine."),
        row("readfua", UsageTier::Three, Kind::Switch)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("writefua", UsageTier::Three, Kind::Switch)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row(
            "sg_write_mode",
            UsageTier::Three,
            Kind::Choice(&[
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
            ]),
        )
        .default("write")
        .only(&["sg"])
        .not_yet("it needs SCSI or NVMe passthrough."),
        row("stream_id", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["sg"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("write_mode", UsageTier::Three, Kind::Text)
            .default("write")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("verify_mode", UsageTier::Three, Kind::Choice(&["read", "compare"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("cmd_type", UsageTier::Three, Kind::Choice(&["nvme", "bsg"]))
            .default("nvme")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("cdb_len", UsageTier::Three, Kind::Choice(&["0", "10", "16", "32"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("verify_bytchk", UsageTier::Three, Kind::Choice(&["0", "1", "3"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("read_mode", UsageTier::Three, Kind::Choice(&["read", "prefetch"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("md_per_io_size", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("pi_act", UsageTier::Three, Kind::Switch)
            .default("1")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("pi_chk", UsageTier::Three, Kind::Text)
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("apptag", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0x1234")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("apptag_mask", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0xffff")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("deac", UsageTier::Three, Kind::Switch)
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("it needs SCSI or NVMe passthrough."),
        row("https", UsageTier::Three, Kind::Choice(&["off", "on", "insecure"]))
            .default("off")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_host", UsageTier::Three, Kind::Text)
            .default("localhost")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_user", UsageTier::Three, Kind::Text).only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_pass", UsageTier::Three, Kind::Text).only(&["http"]).not_yet("it belongs to the http engine."),
        row("http_s3_key", UsageTier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_keyid", UsageTier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_security_token", UsageTier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_swift_auth_token", UsageTier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_region", UsageTier::Three, Kind::Text)
            .default("us-east-1")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_sse_customer_key", UsageTier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_sse_customer_algorithm", UsageTier::Three, Kind::Text)
            .default("AES256")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_s3_storage_class", UsageTier::Three, Kind::Text)
            .default("STANDARD")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_mode", UsageTier::Three, Kind::Choice(&["webdav", "s3", "swift"]))
            .default("webdav")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_verbose", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("http_object_mode", UsageTier::Three, Kind::Choice(&["block", "range"]))
            .default("block")
            .only(&["http"])
            .not_yet("it belongs to the http engine."),
        row("rbdname", UsageTier::Three, Kind::Text).only(&["rbd"]).doc("The image.").never(NOT_RUN),
        row("clustername", UsageTier::Three, Kind::Text).only(&["rbd", "rados"]).doc("The cluster.").never(NOT_RUN),
        row("pool", UsageTier::Three, Kind::Text).only(&["rbd", "rados", "dfs"]).doc("The pool.").never(NOT_RUN),
        row("clientname", UsageTier::Three, Kind::Text)
            .only(&["rbd", "rados"])
            .doc("User name, without the type.")
            .never(NOT_RUN),
        row("conf", UsageTier::Three, Kind::Text).only(&["rados"]).doc("Cluster configuration file.").never(NOT_RUN),
        row("busy_poll", UsageTier::Three, Kind::Switch)
            .only(&["rbd", "rados"])
            .doc("Poll for completions instead of waiting.")
            .never(NOT_RUN),
        row("touch_objects", UsageTier::Three, Kind::Switch)
            .only(&["rados"])
            .doc("Create the objects beforehand.")
            .never(NOT_RUN),
        row("rbd_encryption_format", UsageTier::Three, Kind::Text)
            .only(&["rbd"])
            .doc("Encryption format of the image.")
            .never(NOT_RUN),
        row("rbd_encryption_passphrase", UsageTier::Three, Kind::Text)
            .only(&["rbd"])
            .doc("File with the passphrase of the image.")
            .never(NOT_RUN),
        row("volume", UsageTier::Three, Kind::Text).only(GLUSTER).doc("The volume.").never(NOT_RUN),
        row("brick", UsageTier::Three, Kind::Text).only(GLUSTER).doc("A server (brick) of the volume.").never(NOT_RUN),
        row("single-instance", UsageTier::Three, Kind::Switch)
            .only(GLUSTER)
            .doc("One connection for all threads.")
            .never(NOT_RUN),
        row("namenode", UsageTier::Three, Kind::Text).only(&["libhdfs"]).doc("The name node.").never(NOT_RUN),
        row("hdfsdirectory", UsageTier::Three, Kind::Text)
            .only(&["libhdfs"])
            .doc("The directory for the files.")
            .never(NOT_RUN),
        row("chunk_size", UsageTier::Three, Kind::Wide(Slots::One, ANY))
            .or("chunck_size")
            .only(&["libhdfs", "dfs"])
            .doc("Chunk size.")
            .never(NOT_RUN),
        row("single_instance", UsageTier::Three, Kind::Switch)
            .only(&["libhdfs"])
            .doc("One connection for all threads.")
            .never(NOT_RUN),
        row("hdfs_use_direct", UsageTier::Three, Kind::Switch)
            .only(&["libhdfs"])
            .doc("Read into registered memory.")
            .never(NOT_RUN),
        row("initiator", UsageTier::Three, Kind::Text)
            .only(&["libiscsi"])
            .doc("The name of the initiator.")
            .never(NOT_RUN),
        row("cont", UsageTier::Three, Kind::Text).only(&["dfs"]).doc("The container.").never(NOT_RUN),
        row("object_class", UsageTier::Three, Kind::Text).only(&["dfs"]).doc("Object class.").never(NOT_RUN),
        row("svcl", UsageTier::Three, Kind::Text)
            .only(&["dfs"])
            .doc("Replica ranks of the pool service.")
            .never(NOT_RUN),
        row("nfs_url", UsageTier::Three, Kind::Text).only(&["nfs"]).doc("NFS URL of the directory.").never(NOT_RUN),
        row("uri", UsageTier::Three, Kind::Text).only(&["nbd"]).doc("URI of the device.").never(NOT_RUN),
        row("bindname", UsageTier::Three, Kind::Text).only(&["rdma"]).doc("Local address to bind to.").never(NOT_RUN),
        row("verb", UsageTier::Three, Kind::Choice(&["write", "read", "send", "recv"]))
            .only(&["rdma"])
            .doc("RDMA verb that moves the data.")
            .never(NOT_RUN),
        row("gpu_dev_ids", UsageTier::Three, Kind::Text)
            .only(&["libcufile", "libhipfile"])
            .doc("GPU device IDs, used in turn.")
            .never(NOT_RUN),
        row("cuda_io", UsageTier::Three, Kind::Choice(&["cufile", "posix"]))
            .only(&["libcufile"])
            .doc("Transfer data to the GPU directly or through host memory.")
            .never(NOT_RUN),
        row("rocm_io", UsageTier::Three, Kind::Choice(&["hipfile", "posix"]))
            .only(&["libhipfile"])
            .doc("Transfer data to the GPU directly or through host memory.")
            .never(NOT_RUN),
        row("libblkio_driver", UsageTier::Three, Kind::Text).only(&["libblkio"]).doc("The driver.").never(NOT_RUN),
        row("libblkio_path", UsageTier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("Path for the driver.")
            .never(NOT_RUN),
        row("libblkio_pre_connect_props", UsageTier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("Properties to set before connecting.")
            .never(NOT_RUN),
        row("libblkio_num_entries", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["libblkio"])
            .doc("Number of entries in the driver's ring.")
            .never(NOT_RUN),
        row("libblkio_queue_size", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["libblkio"])
            .doc("Number of entries per device queue.")
            .never(NOT_RUN),
        row("libblkio_pre_start_props", UsageTier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("Properties to set before starting.")
            .never(NOT_RUN),
        row("libblkio_vectored", UsageTier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Use vectored ops.")
            .never(NOT_RUN),
        row("libblkio_write_zeroes_on_trim", UsageTier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Write zeros instead of trimming.")
            .never(NOT_RUN),
        row("libblkio_wait_mode", UsageTier::Three, Kind::Choice(&["block", "eventfd", "loop"]))
            .only(&["libblkio"])
            .doc("How to wait for completions.")
            .never(NOT_RUN),
        row("libblkio_force_enable_completion_eventfd", UsageTier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Enable the completion eventfd even where it is not used.")
            .never(NOT_RUN),
        row("xnvme_be", UsageTier::Three, Kind::Text).only(&["xnvme"]).doc("The backend.").never(NOT_RUN),
        row("xnvme_mem", UsageTier::Three, Kind::Text).only(&["xnvme"]).doc("Memory backend.").never(NOT_RUN),
        row("xnvme_async", UsageTier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("Asynchronous command interface.")
            .never(NOT_RUN),
        row("xnvme_sync", UsageTier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("Synchronous command interface.")
            .never(NOT_RUN),
        row("xnvme_admin", UsageTier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("Admin command interface.")
            .never(NOT_RUN),
        row("xnvme_dev_nsid", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["xnvme"])
            .doc("The namespace.")
            .never(NOT_RUN),
        row("xnvme_dev_subnqn", UsageTier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("NQN of the subsystem.")
            .never(NOT_RUN),
        row("xnvme_iovec", UsageTier::Three, Kind::Flag).only(&["xnvme"]).doc("Use vectored commands.").never(NOT_RUN),
        row("no_completion_thread", UsageTier::Three, Kind::Flag)
            .only(&["windowsaio"])
            .doc("Reap completions in the worker itself.")
            .never(NOT_RUN),
    ],
};
