//! What only engines know that Plumb does not run.

use super::kind::{ANY, Kind, Slots, at_most};
use super::{Category, Shelf, Tier, row};

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
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("pi_act", Tier::Three, Kind::Switch)
            .default("1")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("pi_chk", Tier::Three, Kind::Text)
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("apptag", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0x1234")
            .only(&["io_uring", "io_uring_cmd"])
            .not_yet("SCSI and NVMe passthrough are not connected yet."),
        row("apptag_mask", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0xffff")
            .only(&["io_uring", "io_uring_cmd"])
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
    ],
};
