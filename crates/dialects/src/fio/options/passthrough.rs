//! What only engines know that Plumb does not run.

use super::kind::{ANY, Kind, Slots, at_most};
use super::spec::{Category, Shelf, Tier, row};

const NOT_RUN: &str = "its engine is not run here; `--translate` keeps it as it is said.";

const GLUSTER: &[&str] = &["gfapi", "gfapi_async"];

/// What only engines know that Plumb does not run.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Passthrough,
    options: &[
        row("thp", Tier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["mmap"])
            .not_yet("Transparent huge pages are not asked for yet."),
        row("interface", Tier::Three, Kind::Text)
            .only(&["net", "netsplice"])
            .not_yet("Choosing the interface of a multicast is not connected yet."),
        row("ttl", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("1")
            .only(&["net", "netsplice"])
            .not_yet("Choosing the interface of a multicast is not connected yet."),
        row("donorname", Tier::Three, Kind::Text)
            .only(&["e4defrag"])
            .never("the kernel call it needs exists for ext4 alone, and it moves data instead of measuring it."),
        row("inplace", Tier::Three, Kind::Whole(Slots::One, at_most(1)))
            .only(&["e4defrag"])
            .never("the kernel call it needs exists for ext4 alone, and it moves data instead of measuring it."),
        row("skip_bad", Tier::Three, Kind::Switch)
            .default("0")
            .only(&["mtd"])
            .not_yet("The mtd engine is not connected yet."),
        row("readfua", Tier::Three, Kind::Switch)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("writefua", Tier::Three, Kind::Switch)
            .default("0")
            .only(&["sg", "io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row(
            "sg_write_mode",
            Tier::Three,
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
        .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("stream_id", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["sg"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("write_mode", Tier::Three, Kind::Text)
            .default("write")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("verify_mode", Tier::Three, Kind::Choice(&["read", "compare"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("cmd_type", Tier::Three, Kind::Choice(&["nvme", "bsg"]))
            .default("nvme")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("cdb_len", Tier::Three, Kind::Choice(&["0", "10", "16", "32"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("verify_bytchk", Tier::Three, Kind::Choice(&["0", "1", "3"]))
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("read_mode", Tier::Three, Kind::Choice(&["read", "prefetch"]))
            .default("read")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("md_per_io_size", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("pi_act", Tier::Three, Kind::Switch)
            .default("1")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("pi_chk", Tier::Three, Kind::Text)
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("apptag", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0x1234")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("apptag_mask", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0xffff")
            .only(&["io_uring", "io_uring_cmd", "xnvme"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("deac", Tier::Three, Kind::Switch)
            .default("0")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("https", Tier::Three, Kind::Choice(&["off", "on", "insecure"]))
            .default("off")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_host", Tier::Three, Kind::Text)
            .default("localhost")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_user", Tier::Three, Kind::Text).only(&["http"]).not_yet("The http engine is not connected yet."),
        row("http_pass", Tier::Three, Kind::Text).only(&["http"]).not_yet("The http engine is not connected yet."),
        row("http_s3_key", Tier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_keyid", Tier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_security_token", Tier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_swift_auth_token", Tier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_region", Tier::Three, Kind::Text)
            .default("us-east-1")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_sse_customer_key", Tier::Three, Kind::Text)
            .default("")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_sse_customer_algorithm", Tier::Three, Kind::Text)
            .default("AES256")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_s3_storage_class", Tier::Three, Kind::Text)
            .default("STANDARD")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_mode", Tier::Three, Kind::Choice(&["webdav", "s3", "swift"]))
            .default("webdav")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_verbose", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("http_object_mode", Tier::Three, Kind::Choice(&["block", "range"]))
            .default("block")
            .only(&["http"])
            .not_yet("The http engine is not connected yet."),
        row("rbdname", Tier::Three, Kind::Text).only(&["rbd"]).doc("The image.").never(NOT_RUN),
        row("clustername", Tier::Three, Kind::Text).only(&["rbd", "rados"]).doc("The cluster.").never(NOT_RUN),
        row("pool", Tier::Three, Kind::Text).only(&["rbd", "rados", "dfs"]).doc("The pool.").never(NOT_RUN),
        row("clientname", Tier::Three, Kind::Text)
            .only(&["rbd", "rados"])
            .doc("The user, without the type.")
            .never(NOT_RUN),
        row("conf", Tier::Three, Kind::Text).only(&["rados"]).doc("The configuration of the cluster.").never(NOT_RUN),
        row("busy_poll", Tier::Three, Kind::Switch)
            .only(&["rbd", "rados"])
            .doc("Look for completions again and again instead of waiting.")
            .never(NOT_RUN),
        row("touch_objects", Tier::Three, Kind::Switch)
            .only(&["rados"])
            .doc("Make the objects beforehand.")
            .never(NOT_RUN),
        row("rbd_encryption_format", Tier::Three, Kind::Text)
            .only(&["rbd"])
            .doc("How the image is encrypted.")
            .never(NOT_RUN),
        row("rbd_encryption_passphrase", Tier::Three, Kind::Text)
            .only(&["rbd"])
            .doc("The file with the passphrase of the image.")
            .never(NOT_RUN),
        row("volume", Tier::Three, Kind::Text).only(GLUSTER).doc("The volume.").never(NOT_RUN),
        row("brick", Tier::Three, Kind::Text).only(GLUSTER).doc("A server of the volume.").never(NOT_RUN),
        row("single-instance", Tier::Three, Kind::Switch)
            .only(GLUSTER)
            .doc("One connection for all threads.")
            .never(NOT_RUN),
        row("namenode", Tier::Three, Kind::Text).only(&["libhdfs"]).doc("The server of names.").never(NOT_RUN),
        row("hdfsdirectory", Tier::Three, Kind::Text)
            .only(&["libhdfs"])
            .doc("The directory for the files.")
            .never(NOT_RUN),
        row("chunk_size", Tier::Three, Kind::Wide(Slots::One, ANY))
            .or("chunck_size")
            .only(&["libhdfs", "dfs"])
            .doc("Bytes of a piece of a file.")
            .never(NOT_RUN),
        row("single_instance", Tier::Three, Kind::Switch)
            .only(&["libhdfs"])
            .doc("One connection for all threads.")
            .never(NOT_RUN),
        row("hdfs_use_direct", Tier::Three, Kind::Switch)
            .only(&["libhdfs"])
            .doc("Read into memory that is registered.")
            .never(NOT_RUN),
        row("initiator", Tier::Three, Kind::Text).only(&["libiscsi"]).doc("The name of the initiator.").never(NOT_RUN),
        row("cont", Tier::Three, Kind::Text).only(&["dfs"]).doc("The container.").never(NOT_RUN),
        row("object_class", Tier::Three, Kind::Text).only(&["dfs"]).doc("The class of the objects.").never(NOT_RUN),
        row("svcl", Tier::Three, Kind::Text).only(&["dfs"]).doc("The replicas of the service.").never(NOT_RUN),
        row("nfs_url", Tier::Three, Kind::Text).only(&["nfs"]).doc("The address of the directory.").never(NOT_RUN),
        row("uri", Tier::Three, Kind::Text).only(&["nbd"]).doc("The address of the device.").never(NOT_RUN),
        row("bindname", Tier::Three, Kind::Text).only(&["rdma"]).doc("The address of its own to use.").never(NOT_RUN),
        row("verb", Tier::Three, Kind::Choice(&["write", "read", "send", "recv"]))
            .only(&["rdma"])
            .doc("Which command moves the data.")
            .never(NOT_RUN),
        row("gpu_dev_ids", Tier::Three, Kind::Text)
            .only(&["libcufile", "libhipfile"])
            .doc("The graphics cards, in turn.")
            .never(NOT_RUN),
        row("cuda_io", Tier::Three, Kind::Choice(&["cufile", "posix"]))
            .only(&["libcufile"])
            .doc("Move data to the card at once, or by way of memory.")
            .never(NOT_RUN),
        row("rocm_io", Tier::Three, Kind::Choice(&["hipfile", "posix"]))
            .only(&["libhipfile"])
            .doc("Move data to the card at once, or by way of memory.")
            .never(NOT_RUN),
        row("libblkio_driver", Tier::Three, Kind::Text).only(&["libblkio"]).doc("The driver.").never(NOT_RUN),
        row("libblkio_path", Tier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("The path that the driver opens.")
            .never(NOT_RUN),
        row("libblkio_pre_connect_props", Tier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("Properties to set before connecting.")
            .never(NOT_RUN),
        row("libblkio_num_entries", Tier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["libblkio"])
            .doc("Entries of the driver's ring.")
            .never(NOT_RUN),
        row("libblkio_queue_size", Tier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["libblkio"])
            .doc("Entries of a queue of the device.")
            .never(NOT_RUN),
        row("libblkio_pre_start_props", Tier::Three, Kind::Text)
            .only(&["libblkio"])
            .doc("Properties to set before starting.")
            .never(NOT_RUN),
        row("libblkio_vectored", Tier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Hand over vectored ops.")
            .never(NOT_RUN),
        row("libblkio_write_zeroes_on_trim", Tier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Write zeros in place of trims.")
            .never(NOT_RUN),
        row("libblkio_wait_mode", Tier::Three, Kind::Choice(&["block", "eventfd", "loop"]))
            .only(&["libblkio"])
            .doc("How completions are waited for.")
            .never(NOT_RUN),
        row("libblkio_force_enable_completion_eventfd", Tier::Three, Kind::Flag)
            .only(&["libblkio"])
            .doc("Have completions announced even where nobody waits for them so.")
            .never(NOT_RUN),
        row("xnvme_be", Tier::Three, Kind::Text).only(&["xnvme"]).doc("The backend.").never(NOT_RUN),
        row("xnvme_mem", Tier::Three, Kind::Text).only(&["xnvme"]).doc("Where buffers come from.").never(NOT_RUN),
        row("xnvme_async", Tier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("How commands are handed over.")
            .never(NOT_RUN),
        row("xnvme_sync", Tier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("How single commands are handed over.")
            .never(NOT_RUN),
        row("xnvme_admin", Tier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("How commands of administration go.")
            .never(NOT_RUN),
        row("xnvme_dev_nsid", Tier::Three, Kind::Whole(Slots::One, ANY))
            .only(&["xnvme"])
            .doc("The namespace.")
            .never(NOT_RUN),
        row("xnvme_dev_subnqn", Tier::Three, Kind::Text)
            .only(&["xnvme"])
            .doc("The name of the subsystem.")
            .never(NOT_RUN),
        row("xnvme_iovec", Tier::Three, Kind::Flag).only(&["xnvme"]).doc("Hand over vectored commands.").never(NOT_RUN),
        row("no_completion_thread", Tier::Three, Kind::Flag)
            .only(&["windowsaio"])
            .doc("Take completions in the worker itself.")
            .never(NOT_RUN),
    ],
};
